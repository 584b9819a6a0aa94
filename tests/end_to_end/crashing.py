"""A process that ends within training, without the process."""

from __future__ import annotations

from typing import Any
from unittest import mock

from lit_transformer.data.batch import Batch
from lit_transformer.training.module import LitTransformer


class CrashError(Exception):
    """Stands for whatever ends a process."""


def crash_at_batch(epoch: int, batch: int) -> Any:
    """Let training fail before this batch."""
    original = LitTransformer.on_train_batch_start

    def hook(self: LitTransformer, data: Batch, batch_idx: int) -> None:
        if (self.current_epoch, batch_idx) == (epoch, batch):
            raise CrashError
        original(self, data, batch_idx)

    return mock.patch.object(LitTransformer, "on_train_batch_start", hook)
