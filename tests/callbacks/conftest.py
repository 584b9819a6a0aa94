"""A small model, its data, and a Trainer with callbacks of the test's choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl

from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.data.tokenizer import TokenizerSettings
from lit_transformer.decoding import DecodingSettings
from lit_transformer.runs.metrics_log import MetricsLog
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer
from tests.end_to_end.running import write_text


class Setup:
    """What a small run needs.

    Args:
        folder: The folder of the run.
        text: The folder of the text.
    """

    def __init__(self, folder: Path, text: Path) -> None:
        self.folder = folder
        self.text = text

    def data(self, **options: Any) -> TranslationDataModule:
        """Make the data module."""
        splits = {split: f"{split}.{{lang}}" for split in ("train", "validation", "test")}
        tokenizer = TokenizerSettings(vocab_size=100, byte_fallback=False)
        given = {"dataset": None, "dir": str(self.text), "tokenizer": tokenizer, "max_tokens": 500, **splits}
        return TranslationDataModule(**{**given, **options})

    def module(self, **options: Any) -> LitTransformer:
        """Make the module."""
        sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "feed_forward": 32, "heads": 2}
        decoding = DecodingSettings(beam=1, max_extra_pieces=3)
        given = {**sizes, "norm": "pre", "learning_rate": 1e-2, "warmup_steps": 5, "decoding": decoding}
        return LitTransformer(**{**given, **options})

    def trainer(self, callbacks: Sequence[pl.Callback], **options: Any) -> Trainer:
        """Make a Trainer that writes its metrics into the folder."""
        given: dict[str, Any] = {
            "accelerator": "cpu",
            "devices": 1,
            "max_steps": 8,
            "val_check_interval": 2,
            "check_val_every_n_epoch": None,
            "num_sanity_val_steps": 0,
            "log_every_n_steps": 1,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "enable_checkpointing": any(isinstance(c, pl.callbacks.ModelCheckpoint) for c in callbacks),
            "logger": MetricsLog(self.folder),
            "default_root_dir": str(self.folder),
        }
        return Trainer(callbacks=list(callbacks), **{**given, **options})


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the text."""
    return write_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="session")
def setups(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Callable[[], Setup]:
    """A function that makes a setup with a run folder of its own."""
    return lambda: Setup(tmp_path_factory.mktemp("run") / "demo" / "version_0", text)


@pytest.fixture
def setup(setups: Callable[[], Setup]) -> Setup:
    """A setup of this test's own."""
    return setups()
