"""How fast training goes."""

from __future__ import annotations

import time
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from typing_extensions import override

from lit_transformer.data.batch import Batch
from lit_transformer.training.trainer import logging_interval


class Throughput(pl.Callback):
    """Logs how fast training goes and how much of it is padding, over all processes, when the Trainer logs.

    ``train/target_tokens_per_second``: tokens per second; a token is a target piece or the end of a sentence. Time
    spent in validation does not count. ``train/padding``: share of padding in the batches, source and target side
    together, from 0 to 1. Both are of the steps since they were logged last.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._tokens = 0
        self._cells = 0
        self._source_tokens: Tensor | int = 0
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
        self._cells += batch.source.numel() + batch.target[:, 1:].numel()
        # It stays where the batch is: reading it would wait for the device.
        self._source_tokens = self._source_tokens + batch.source.ne(batch.special_ids.pad).sum()
        # While gradients are accumulated, several batches belong to one step.
        if trainer.global_step % logging_interval(trainer) != 0 or trainer.global_step == self._logged_step:
            return
        now = time.perf_counter()
        seconds = self._seconds + now - self._resumed
        mine = [self._tokens / max(seconds, 1e-9), self._tokens + float(self._source_tokens), self._cells]
        # float64 counts tokens exactly, where there is one.
        sums = torch.tensor(mine, dtype=torch.float32 if pl_module.device.type == "mps" else torch.float64)
        rate, tokens, cells = trainer.strategy.reduce(sums.to(pl_module.device), reduce_op="sum")
        pl_module.log("train/target_tokens_per_second", rate.float(), prog_bar=True)
        pl_module.log("train/padding", (1.0 - tokens / cells).float())
        self._reset()
        self._resumed = now
        self._logged_step = trainer.global_step
