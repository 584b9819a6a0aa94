"""The trained model that an analysis is timed on, and analyses of it that write only into a temporary folder."""

from __future__ import annotations

import logging
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from lit_transformer.data.datamodule import TranslationDataModule, tokenizer_of_state
from lit_transformer.decoding import DecodingSettings
from lit_transformer.model import seeded_transformer
from lit_transformer.runs.checkpoints import find_checkpoint, read_checkpoint
from lit_transformer.training.analysis import Analysis, AnalysisSettings
from lit_transformer.training.initial_weights import NoInitialWeightsError
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


class SeededAnalysis(Analysis):
    """An analysis that draws missing initial weights again from the seed."""

    @cached_property
    def initial_weights(self) -> Mapping[str, Tensor]:
        """The weights that the model was trained from; of an old checkpoint, those that its seed gives."""
        try:
            return super().initial_weights
        except NoInitialWeightsError:
            log.warning("The checkpoint keeps no initial weights; they are drawn again from its seed.")
            return seeded_transformer(self.module.network.config, self.module.hparams["seed"]).state_dict()


@dataclass
class Subject:
    """A trained model with its corpus.

    Args:
        checkpoint: A checkpoint, or the folder of a run.
        folder: Where its text lies now; None where it always was.
        limit: Analyse only a sample of so many sentences.
        accelerator: Lightning's name of the device: cpu or gpu.
    """

    checkpoint: Path
    folder: str | None = None
    limit: int | None = None
    accelerator: str = "cpu"
    _temporary: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)
    _made: int = 0

    def __post_init__(self) -> None:
        """Load the model and open its validation split."""
        self.checkpoint = find_checkpoint(self.checkpoint)
        content = read_checkpoint(self.checkpoint)
        self.module = LitTransformer.load_from_checkpoint(self.checkpoint, map_location="cpu", weights_only=True)
        self.module.eval()
        settings = {**content["datamodule_hyper_parameters"], **({} if self.folder is None else {"dir": self.folder})}
        self.data = TranslationDataModule(**settings)
        self.data.use_tokenizer(tokenizer_of_state(content["TranslationDataModule"]))
        self.data.open_split("validation")
        quiet: dict[str, bool] = {"logger": False, "enable_checkpointing": False, "barebones": False}
        trainer = Trainer(accelerator=self.accelerator, devices=1, **quiet)
        trainer.datamodule = self.data
        self.module.trainer = trainer
        self.module.to(trainer.strategy.root_device)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.module.device

    def decode_with(self, beam: int) -> None:
        """Choose the width of the beam, 1 for greedy search; all else stays as the model was trained to be decoded."""
        given = self.module.hparams["decoding"]
        self.module.decoding = DecodingSettings(**{**given, "beam": beam, "precision": "float32"})

    def analysis(self, side_by_side: int | None = 1) -> SeededAnalysis:
        """Return a new analysis, without any evaluations.

        Args:
            side_by_side: Maximum number of variants in a batch; None for as many as an analysis would take.
        """
        self._made += 1
        output = f"{self._temporary.name}/{self._made}"
        settings = AnalysisSettings(limit=self.limit, side_by_side=side_by_side)
        return SeededAnalysis(self.module, self.data, self.checkpoint, output, settings)


def demo_run(runs: Path, epochs: int) -> Path:
    """Return the folder of a run of the demo: the newest one there is, or one that is trained briefly.

    Args:
        runs: The folder of all runs.
        epochs: For how long to train.
    """
    found = sorted((runs / "demo").glob("*/checkpoints"), key=lambda path: path.stat().st_mtime)
    if found:
        return found[-1].parent
    command = [sys.executable, "-m", "lit_transformer", "fit", "--config", "demo.yaml", f"--runs_dir={runs}"]
    options = [f"--trainer.max_epochs={epochs}", "--trainer.enable_progress_bar=false", "--samples.count=0"]
    subprocess.run([*command, *options], check=True)
    return demo_run(runs, epochs)


def description(subject: Subject) -> str:
    """Return in a line what is analysed."""
    config, sentences = subject.module.network.config, len(subject.data.encoded["validation"])
    chosen = "" if subject.limit is None or subject.limit >= sentences else f" (a sample of {subject.limit})"
    return (
        f"{subject.data.set_name('validation')}, {sentences} sentences{chosen}; {config.norm}-norm, "
        f"{config.encoder_layers}+{config.decoder_layers} layers, {config.d_model} wide, feed-forward "
        f"{config.feed_forward}, {config.heads} heads, {config.target_vocab_size} pieces; torch {torch.__version__}, "
        f"{torch.get_num_threads()} threads, float32"
    )


def device_name(device: torch.device) -> str:
    """Return what the makers call a device, of a GPU with the processor that it is used from."""
    processor = platform.processor() or "CPU"
    return f"{torch.cuda.get_device_name(device)} with {processor}" if device.type == "cuda" else processor
