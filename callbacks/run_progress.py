"""How far a run is."""

from __future__ import annotations

import math
import time
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ProgressBar, Timer
from rich.progress import Progress, TaskID
from torch import Tensor
from typing_extensions import override

from lit_transformer.console.progress import TimeLeft, TrainingTime, bar_columns, time_left
from lit_transformer.console.terminal import REFRESHES_PER_SECOND, is_live, is_quiet, live_progress, tell


class RunProgress(ProgressBar):
    """Shows on standard error how far training or scoring is.

    In a terminal, bars with epoch, step, loss, the last BLEU and the time left: that of the whole training, validations
    to come included. Everywhere, a line after each validation within fit, or after each epoch without one: the mean
    training loss since the line before, loss and BLEU of the validation, and the time left. Early stopping may end
    training before that.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown = not is_quiet()
        self._bar: Progress | None = None
        self._train: TaskID | None = None
        self._scored: TaskID | None = None
        self._time: TrainingTime | None = None
        self._bleu = ""
        self._told: int | None = None
        self._seen = 0.0
        self._loss: Tensor | float = 0.0
        self._losses = 0

    @override
    def disable(self) -> None:
        self._shown = False

    @override
    def enable(self) -> None:
        self._shown = not is_quiet()

    @override
    def print(self, *args: Any, **kwargs: Any) -> None:
        tell(" ".join(map(str, args)))

    @override
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        steps = trainer.estimated_stepping_batches
        steps = math.inf if steps < 0 else steps
        self._time = TrainingTime(steps, steps_between_validations(trainer), trainer.global_step, time.monotonic)
        self._reset_loss()
        if self._shown and is_live():
            self._bar = live_progress(*bar_columns(lambda: self._left(trainer)))
            self._train = self._bar.add_task("", total=None if math.isinf(steps) else steps)
            self._bar.start()
            self._refresh(trainer)

    @override
    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if not self._shown or self._time is None:
            return
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if isinstance(loss, Tensor):
            # A sum where the loss is: reading it would wait for the device.
            self._loss = self._loss + loss.detach()
            self._losses += 1
        self._time.advance(trainer.global_step)
        now = time.monotonic()
        if self._bar is not None and now - self._seen >= 1 / REFRESHES_PER_SECOND:
            self._seen = now
            self._refresh(trainer)

    @override
    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.sanity_checking:
            # A check of a few batches before training, which has no bar yet.
            return
        if trainer.state.fn == "fit" and self._time is not None:
            self._time.pause()
        self._refresh(trainer)
        self._start_scoring("validation", trainer.num_val_batches)

    @override
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.state.fn != "fit" or self._time is None:
            return
        self._end_scoring()
        self._time.resume()
        name = str(getattr(pl_module, "validation_bleu", "val/bleu"))
        if name in trainer.callback_metrics:
            self._bleu = f"BLEU {float(trainer.callback_metrics[name]):.2f}"
        loss = trainer.callback_metrics.get("val/loss")
        self._tell(trainer, "" if loss is None else f" (val {float(loss):.2f})")

    @override
    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # One that was validated has had its line.
        if self._told != trainer.current_epoch:
            self._tell(trainer)

    @override
    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start_scoring("test", trainer.num_test_batches)

    @override
    def on_predict_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start_scoring("translation", trainer.num_predict_batches)

    @override
    def on_validation_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        self._advance_scoring()

    @override
    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        self._advance_scoring()

    @override
    def on_predict_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        self._advance_scoring()

    @override
    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        self._stop()

    @override
    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        self._stop()

    def _start_scoring(self, name: str, batches: Any) -> None:
        """Show a bar over batches, below that of a training or alone."""
        total = sum(batches) if isinstance(batches, list) else batches
        if not self._shown or not is_live() or not total:
            return
        if self._bar is None:
            self._pieces = TimeLeft(int(total), time.monotonic)
            self._bar = live_progress(*bar_columns(lambda: time_left(self._pieces.seconds())))
            self._bar.start()
        self._scored = self._bar.add_task(name, total=total)

    def _advance_scoring(self) -> None:
        if self._bar is not None and self._scored is not None:
            self._bar.advance(self._scored)
            if self._train is None:
                self._pieces.done()

    def _end_scoring(self) -> None:
        if self._bar is not None and self._scored is not None:
            self._bar.remove_task(self._scored)
            self._scored = None

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._train = self._scored = self._time = None

    def _reset_loss(self) -> None:
        self._loss, self._losses = 0.0, 0

    def _refresh(self, trainer: pl.Trainer) -> None:
        if self._bar is None or self._train is None:
            return
        loss = f"loss {float(self._loss) / self._losses:.2f}" if self._losses else ""
        parts = [f"epoch {trainer.current_epoch + 1}", loss, self._bleu]
        described = "  ".join(part for part in parts if part)
        self._bar.update(self._train, completed=trainer.global_step, description=described)

    def _left(self, trainer: pl.Trainer) -> str:
        if self._time is None:
            return ""
        seconds = self._time.seconds()
        limits = [c.time_remaining() for c in trainer.callbacks if isinstance(c, Timer)]  # type: ignore[attr-defined]
        known = [limit for limit in (seconds, *limits) if limit is not None]
        shortest = min(known, default=None)
        return time_left(shortest, "at least" if shortest == seconds and self._time.is_lower_bound else "")

    def _tell(self, trainer: pl.Trainer, val_loss: str = "") -> None:
        """Show the line of a validation or epoch, and begin with the next one's loss."""
        if not self._shown:
            return
        self._told = trainer.current_epoch
        self._refresh(trainer)
        steps = trainer.estimated_stepping_batches
        total = "" if math.isinf(steps) or steps < 0 else f"/{int(steps)}"
        loss = f"loss {float(self._loss) / self._losses:.2f}" if self._losses else "loss -"
        parts = [
            f"epoch {trainer.current_epoch + 1}",
            f"step {trainer.global_step}{total}",
            f"{loss}{val_loss}",
            *([self._bleu] if val_loss and self._bleu else []),
            self._left(trainer),
        ]
        tell("  ".join(parts))
        self._reset_loss()


def steps_between_validations(trainer: pl.Trainer) -> float:
    """Return the mean number of optimizer steps between two validations of a training; infinite without any."""
    batches, epochs = trainer.val_check_batch, trainer.check_val_every_n_epoch
    if not trainer.enable_validation or not batches or math.isinf(batches):
        return math.inf
    if epochs is None:
        return batches / trainer.accumulate_grad_batches
    epoch = trainer.num_training_batches
    return epoch / max(epoch // batches, 1) * epochs / trainer.accumulate_grad_batches
