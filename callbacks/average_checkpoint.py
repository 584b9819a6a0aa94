"""The average of a run's last checkpoints, which most published translation scores rest on."""

from __future__ import annotations

import logging
from pathlib import Path

import pytorch_lightning as pl
from typing_extensions import override

from lit_transformer.runs.checkpoints import FOLDER, average_checkpoints

log = logging.getLogger(__name__)


class AverageCheckpoint(pl.Callback):
    """Writes ``average.ckpt`` at the end of fit: the mean of the weights of the last validations' checkpoints.

    Vaswani et al. 2017 (6.1) average the last 5. Needs `RecentCheckpoints`.

    Args:
        count: How many checkpoints to average; below 2 there is no average.
    """

    def __init__(self, count: int = 5) -> None:
        self.count = count

    @override
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # That of a resumed run is of fewer steps than its other checkpoints will be; if this run is ended before its
        # own end, the run's folder would stand for it all the same.
        if trainer.is_global_zero and not getattr(trainer, "fast_dev_run", False):
            self._path(trainer).unlink(missing_ok=True)

    def on_fit_finished(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Average the checkpoints up to the step that training reached."""
        if self.count < 2 or not trainer.is_global_zero:
            return
        path = self._path(trainer)
        steps = {int(path.stem.partition("=")[2]): path for path in path.parent.glob("step=*.ckpt")}
        reached = sorted(step for step in steps if step <= trainer.global_step)[-self.count :]
        if not reached:
            log.warning("No average: there was no validation, so that no checkpoint was kept.")
            return
        checkpoint = average_checkpoints([steps[step] for step in reached])
        trainer.strategy.checkpoint_io.save_checkpoint(checkpoint, path)
        log.info("average.ckpt is the mean of the checkpoints at steps %s.", ", ".join(map(str, reached)))

    @staticmethod
    def _path(trainer: pl.Trainer) -> Path:
        return Path(trainer.default_root_dir) / FOLDER / "average.ckpt"
