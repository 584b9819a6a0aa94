"""How fast training goes."""

from __future__ import annotations

import time
from typing import Any

import pytorch_lightning as pl
from typing_extensions import override

from lit_transformer.data.batch import Batch
from lit_transformer.trainer import logging_interval


class Throughput(pl.Callback):
    """Logs ``train/target_tokens_per_second`` over all processes, and ``train/padding``, the share of padding.

    Time spent in validation does not count. A token is a target piece or the end of a sentence.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._tokens = 0
        self._cells = 0
        self._seconds = 0.0

    @override
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # Not at the start of an epoch: a run that is resumed within one has none.
        self._reset()
        self._resumed = time.perf_counter()
        self._logged_step = trainer.global_step

    @override
    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if hasattr(self, "_resumed"):
            self._seconds += time.perf_counter() - self._resumed

    @override
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._resumed = time.perf_counter()

    @override
    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self._tokens += batch.target_tokens
        self._cells += batch.target[:, 1:].numel()
        # While gradients are accumulated, several batches belong to one step.
        if trainer.global_step % logging_interval(trainer) != 0 or trainer.global_step == self._logged_step:
            return
        now = time.perf_counter()
        seconds = self._seconds + now - self._resumed
        rate = self._tokens * trainer.world_size / max(seconds, 1e-9)
        pl_module.log("train/target_tokens_per_second", rate, prog_bar=True)
        pl_module.log("train/padding", 1.0 - self._tokens / max(self._cells, 1))
        self._reset()
        self._resumed = now
        self._logged_step = trainer.global_step
