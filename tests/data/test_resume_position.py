"""A resumed run goes on with the very next batch, wherever the checkpoint was written."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor

from lit_transformer.data.batch import Batch
from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.data.tokenizer import TokenizerSettings
from tests.end_to_end.forking import CAN_FORK, end_well, two_processes

PAIRS = 150
# epoch, optimizer step, batch of the epoch, sentences
Seen = tuple[int, int, int, tuple[int, ...]]


class Recorder(pl.LightningModule):
    """Notes what it is given, and trains one weight on it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.seen: list[Seen] = []
        self.validations: list[tuple[int, int, int]] = []
        self.validated = 0

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        self.seen.append((self.current_epoch, self.global_step, batch_idx, tuple(batch.index.tolist())))
        return (self.weight * batch.source.float().mean()).sum()

    def on_validation_epoch_start(self) -> None:
        self.validated = 0

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.validated += len(batch)

    def on_validation_epoch_end(self) -> None:
        total = self.trainer.strategy.reduce(torch.tensor(self.validated), reduce_op="sum")
        self.validations.append((self.current_epoch, self.global_step, int(total)))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)


class Checkpoint(ModelCheckpoint):
    """Several may stand side by side."""

    @property
    def state_key(self) -> str:
        return f"Checkpoint {Path(str(self.dirpath)).name}"


def write_corpus(folder: Path) -> dict[str, Any]:
    """Write two aligned splits of random words and return the settings of the data that read them."""
    random = np.random.default_rng(0)
    for split, pairs in (("train", PAIRS), ("validation", 9)):
        for language in ("en", "de"):
            lines = [" ".join(random.choice(list("abcdefgh"), random.integers(2, 15))) for _ in range(pairs)]
            (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "dataset": None,
        "dir": str(folder),
        "train": "train.{lang}",
        "validation": "validation.{lang}",
        "tokenizer": TokenizerSettings(vocab_size=20, byte_fallback=False),
        "max_tokens": 250,
        "eval_max_tokens": 40,
        "cache_dir": str(folder / "cache"),
    }


def fit(folder: Path, data: dict[str, Any], ckpt_path: Path | None = None, **options: Any) -> Recorder:
    """Train, writing a checkpoint at each step, validation and end of an epoch unless resuming."""
    callbacks: list[pl.Callback] = [
        Checkpoint(folder / "step", "{step}", save_top_k=-1, every_n_train_steps=1),
        Checkpoint(folder / "validation", "{step}", save_top_k=-1, every_n_epochs=1, save_on_train_epoch_end=False),
        Checkpoint(folder / "epoch", "{step}", save_top_k=-1, save_on_train_epoch_end=True),
    ]
    module = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = pl.Trainer(
            **{"devices": 1, "max_epochs": 3, **options},
            accelerator="cpu",
            logger=False,
            callbacks=None if ckpt_path else callbacks,
            enable_checkpointing=ckpt_path is None,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            default_root_dir=folder,
        )
        trainer.fit(module, TranslationDataModule(**data), ckpt_path=ckpt_path)
    return module


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.getbasetemp() / "datasets")


@pytest.mark.parametrize(
    ("workers", "options"),
    [
        (0, {"val_check_interval": 4}),
        (2, {"val_check_interval": 4}),
        (2, {"max_epochs": -1, "max_steps": 25}),
        (0, {"max_epochs": -1, "max_steps": 25, "limit_val_batches": 0}),
        (0, {"accumulate_grad_batches": 2, "val_check_interval": 4}),
        (2, {"limit_train_batches": 5}),
    ],
    ids=["validation inside", "two workers", "steps", "no validation", "accumulated", "part of an epoch"],
)
def test_resumed_run_sees_what_the_uninterrupted_one_saw(
    tmp_path: Path, data: dict[str, Any], workers: int, options: dict[str, Any]
) -> None:
    data = {**data, "workers": workers}
    whole = fit(tmp_path, data, **options)
    epoch = len({batch for _, _, batch, _ in whole.seen})
    accumulated = options.get("accumulate_grad_batches", 1)
    # Inside the first epoch, at its end, inside a later one; at a validation or not.
    batches = sorted({accumulated, 4, epoch, epoch + 4, 2 * epoch - accumulated, 2 * epoch})
    resumed_from = 0
    for kind in ("step", "validation", "epoch"):
        for done in batches:
            checkpoint = tmp_path / kind / f"step={done // accumulated}.ckpt"
            if done % accumulated or not checkpoint.is_file():
                continue
            resumed = fit(tmp_path, data, checkpoint, **options)
            assert resumed.seen == whole.seen[done:], f"{kind} {done}"
            assert torch.equal(resumed.weight, whole.weight), f"{kind} {done}"
            # Lightning leaves out the validation that was due right after a checkpoint of kind "step".
            due = [v for v in whole.validations if v[1] * accumulated > done]
            assert [v for v in resumed.validations if v[1] * accumulated > done] == due, f"{kind} {done}"
            resumed_from += 1
    assert resumed_from >= 6


def test_each_epoch_holds_every_sentence_once_in_new_batches(tmp_path: Path, data: dict[str, Any]) -> None:
    seen = fit(tmp_path, {**data, "workers": 2}).seen
    compositions = []
    for epoch in range(3):
        batches = [rows for number, _, _, rows in seen if number == epoch]
        assert sorted(row for rows in batches for row in rows) == list(range(PAIRS))
        compositions.append({frozenset(rows) for rows in batches})
    assert compositions[0] != compositions[1] != compositions[2]


def test_other_settings_within_an_epoch_are_told(
    tmp_path: Path, data: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    fit(tmp_path, data, max_epochs=1)
    fit(tmp_path, {**data, "max_tokens": 200}, tmp_path / "step" / "step=3.ckpt", max_epochs=1)
    assert "max_tokens 250 -> 200" in caplog.text


def test_checkpoint_inside_an_optimizer_step_is_told(
    tmp_path: Path, data: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {"max_epochs": 1, "accumulate_grad_batches": 2, "val_check_interval": 3}
    fit(tmp_path, data, **options)
    assert "optimizer step" not in caplog.text
    fit(tmp_path, data, tmp_path / "validation" / "step=1.ckpt", **options)
    assert "after 1 of 2 batches of an optimizer step" in caplog.text
    assert "--trainer.val_check_interval" in caplog.text


def run_two_processes(folder: Path, name: str, ckpt_path: Path | None = None) -> list[dict[str, Any]]:
    """Train on two processes, and return what each noted."""
    data = {**write_corpus(folder), "workers": 1}
    options: dict[str, Any] = {"devices": 2, "strategy": "ddp", "max_epochs": 2, "accumulate_grad_batches": 2}

    def work() -> None:
        module = fit(folder, data, ckpt_path, **options)
        notes = {"seen": module.seen, "validations": module.validations, "weight": module.weight.item()}
        (folder / f"{name}-{module.global_rank}.json").write_text(json.dumps(notes))
        torch.distributed.destroy_process_group()

    end_well(two_processes([], folder, work=work))
    return [json.loads((folder / f"{name}-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
def test_two_processes(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    whole = run_two_processes(tmp_path, "whole")
    for epoch in range(2):
        rows = [row for rank in whole for number, _, _, rows in rank["seen"] if number == epoch for row in rows]
        assert sorted(rows) == list(range(PAIRS))
    # 9 sentences in batches of unequal number: none lost, none twice, and nobody waits.
    assert {validated for rank in whole for _, _, validated in rank["validations"]} == {9}
    assert whole[0]["weight"] == whole[1]["weight"]

    # In the second epoch, in the middle.
    epoch = len(whole[0]["seen"]) // 2
    done = epoch + 4
    resumed = run_two_processes(tmp_path, "resumed", tmp_path / "step" / f"step={done // 2}.ckpt")
    for rank in range(2):
        assert resumed[rank]["seen"] == whole[rank]["seen"][done:]
        assert resumed[rank]["weight"] == whole[rank]["weight"]
