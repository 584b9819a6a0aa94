"""Checkpoints at given steps, to rewind to or to look at how training went."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from typing_extensions import override

from lit_transformer.runs.checkpoints import FOLDER

log = logging.getLogger(__name__)


class KeptCheckpoints(pl.Callback):
    """Writes ``step-<n>.ckpt`` after the n-th optimizer step, weights only, and keeps it.

    Args:
        steps: The steps.
    """

    def __init__(self, steps: Sequence[int]) -> None:
        self.steps = sorted(set(steps))
        self._saved = 0

    @override
    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        step = trainer.global_step
        # With gradient accumulation several batches end at the same step. All processes decide alike.
        if step in self.steps and step != self._saved and not getattr(trainer, "fast_dev_run", False):
            self._saved = step
            trainer.save_checkpoint(Path(trainer.default_root_dir) / FOLDER / f"step-{step}.ckpt", weights_only=True)
