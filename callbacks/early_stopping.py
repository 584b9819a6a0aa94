"""An end of training when validation no longer gets better, also across a resumed run."""

from __future__ import annotations

import logging
from typing import Any, Literal

import pytorch_lightning as pl
from typing_extensions import override

log = logging.getLogger(__name__)


class EarlyStopping(pl.callbacks.EarlyStopping):
    """Lightning's, which looks after each validation, says why it ends training, and goes on with the typed patience.

    Lightning's own looks at the end of an epoch, where a run that is resumed from there has no metric yet, and takes
    the checkpoint's patience over the one it was given (pytorch-lightning 2.6.6).

    Args:
        monitor: Metric to watch.
        patience: Stop after this many validations without a better value.
        mode: min or max, whichever is better.
    """

    def __init__(self, monitor: str, patience: int, mode: Literal["min", "max"] = "min") -> None:
        super().__init__(monitor, patience=patience, mode=mode, check_on_train_epoch_end=False)

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({**state_dict, "patience": self.patience})

    @override
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # A run that had stopped here is not trained for one more epoch to find that out.
        if self.wait_count >= self.patience:
            self._stop(trainer)

    @override
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        before = trainer.should_stop
        super().on_validation_end(trainer, pl_module)
        if trainer.should_stop and not before:
            self._stop(trainer)

    def _stop(self, trainer: pl.Trainer) -> None:
        trainer.should_stop = True
        if trainer.is_global_zero:
            log.info(
                "Training ends early: %s was not better than %.4f at the last %d validations.",
                self.monitor,
                float(self.best_score),
                self.wait_count,
            )
