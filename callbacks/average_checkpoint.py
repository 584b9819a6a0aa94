"""The average of a run's last checkpoints, which most published translation scores rest on."""

from __future__ import annotations

import logging
from pathlib import Path

import pytorch_lightning as pl

from lit_transformer.checkpoints import FOLDER, average_checkpoints

log = logging.getLogger(__name__)


class AverageCheckpoint(pl.Callback):
    """Writes ``average.ckpt`` at the end of fit: the mean of the weights of the last validations' checkpoints.

    Vaswani et al. 2017 (6.1) average the last 5. Needs `RecentCheckpoints`.

    Args:
        count: How many checkpoints to average; below 2 there is no average.
    """

    def __init__(self, count: int = 5) -> None:
        self.count = count

    def on_fit_finished(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Average the checkpoints up to the step that training reached."""
        if self.count < 2 or not trainer.is_global_zero:
            return
        folder = Path(trainer.default_root_dir) / FOLDER
        steps = {int(path.stem.partition("=")[2]): path for path in folder.glob("step=*.ckpt")}
        reached = sorted(step for step in steps if step <= trainer.global_step)[-self.count :]
        if not reached:
            log.warning("No average: there was no validation, so that no checkpoint was kept.")
            return
        checkpoint = average_checkpoints([steps[step] for step in reached])
        trainer.strategy.checkpoint_io.save_checkpoint(checkpoint, folder / "average.ckpt")
        log.info("average.ckpt is the mean of the checkpoints at steps %s.", ", ".join(map(str, reached)))
