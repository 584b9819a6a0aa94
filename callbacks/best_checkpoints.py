"""Which checkpoints a run keeps, in its folder's ``checkpoints``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint
from typing_extensions import override

from lit_transformer.runs.checkpoints import FOLDER
from lit_transformer.training.module import LitTransformer

log = logging.getLogger(__name__)


class RunCheckpoint(ModelCheckpoint):
    """A ModelCheckpoint that writes into the run's folder, which is known only when the Trainer is there.

    Args:
        filename: Name without suffix.
        monitor: Metric to choose by; the last one is kept where there is none.
        mode: Whether the lowest (min) or the highest (max) value is the best.
        save_top_k: How many to keep.
        every_n_steps: Save every so many optimizer steps; after each validation where it is not given.
        save_weights_only: Leave optimizer and schedule out.
    """

    def __init__(
        self,
        filename: str,
        monitor: str | None = None,
        mode: str = "min",
        save_top_k: int = 1,
        every_n_steps: int | None = None,
        save_weights_only: bool = False,
    ) -> None:
        super().__init__(
            filename=filename,
            monitor=monitor,
            mode=mode,
            save_top_k=save_top_k,
            every_n_train_steps=every_n_steps,
            save_weights_only=save_weights_only,
            # After each validation: --trainer.max_steps can end an epoch without one, and its metrics are then old.
            save_on_train_epoch_end=False,
            auto_insert_metric_name=False,
            enable_version_counter=False,
        )

    @override
    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if stage == "fit":
            self.dirpath = str(trainer.strategy.broadcast(f"{trainer.default_root_dir}/{FOLDER}"))
        super().setup(trainer, pl_module, stage)

    def save(self, trainer: pl.Trainer) -> None:
        """Save now, unless that was done at this step already."""
        if not self._should_skip_saving_checkpoint(trainer):
            self._save_topk_checkpoint(trainer, self._monitor_candidates(trainer))

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # Where the run's folder was moved, pytorch-lightning 2.6.6 would forget which checkpoint is the best so far.
        names = ("best_model_path", "kth_best_model_path", "last_model_path")
        moved = {name: self._moved(state_dict[name]) for name in names}
        kept = {self._moved(path): score for path, score in state_dict["best_k_models"].items()}
        super().load_state_dict({**state_dict, **moved, "best_k_models": kept, "dirpath": self.dirpath})

    def _moved(self, path: str) -> str:
        return f"{self.dirpath}/{Path(path).name}" if path else path


class BestLossCheckpoint(RunCheckpoint):
    """Keeps ``best-loss.ckpt``, the lowest ``val/loss``; what is analysed and tested by default (method.md 0.11)."""

    def __init__(self) -> None:
        super().__init__("best-loss", monitor="val/loss", mode="min")


class BestBLEUCheckpoint(RunCheckpoint):
    """Keeps ``best-bleu.ckpt``, the highest BLEU of the validations within fit, whatever their search."""

    def __init__(self) -> None:
        super().__init__("best-bleu", monitor="val/bleu", mode="max")

    @override
    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if isinstance(pl_module, LitTransformer):
            self.monitor = pl_module.validation_bleu
        super().setup(trainer, pl_module, stage)


class LastCheckpoint(RunCheckpoint):
    """Keeps ``last.ckpt``, from which a run can be resumed: after each validation, each epoch and the last step.

    Args:
        every_n_steps: Save every so many optimizer steps instead.
    """

    def __init__(self, every_n_steps: int | None = None) -> None:
        super().__init__("last", every_n_steps=every_n_steps)

    @override
    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        # A run resumed from a checkpoint made just before a validation, or at the end of an epoch, would leave that
        # out (pytorch-lightning 2.6.6); there, the checkpoint after the validation or the epoch serves. And gradients
        # that are still being accumulated are in no checkpoint.
        batches = trainer.fit_loop.total_batch_idx if trainer.check_val_every_n_epoch is None else batch_idx
        validates = (batches + 1) % (trainer.val_check_batch or 1) == 0
        if validates or trainer.is_last_batch or (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        if trainer.global_step == trainer.max_steps:
            # After the end of an epoch that was cut short, its remaining batches would be taken for done.
            self.save(trainer)
        else:
            super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    @override
    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.is_last_batch:
            self.save(trainer)

    @override
    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        super().on_exception(trainer, pl_module, exception)
        if isinstance(exception, KeyboardInterrupt) and trainer.is_global_zero and self.best_model_path:
            log.info("Go on with: lit-transformer fit --ckpt_path %s", trainer.default_root_dir)


class RecentCheckpoints(RunCheckpoint):
    """Keeps the weights of the last few validations, for `AverageCheckpoint`; of epochs where there are none.

    Args:
        count: How many.
    """

    PATTERN = "step={step}"

    def __init__(self, count: int) -> None:
        super().__init__(self.PATTERN, monitor="step", mode="max", save_top_k=count, save_weights_only=True)

    @override
    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if not trainer.enable_validation and trainer.is_last_batch:
            self.save(trainer)
