"""Learning-rate rewinding: a trained model is trained on with the end of its schedule once more (Renda et al. 2020)."""

from __future__ import annotations

import logging
import math

import pytorch_lightning as pl
from typing_extensions import override

from callbacks.hooks import typed_hook
from lit_transformer.errors import UserError
from lit_transformer.runs.checkpoints import read_checkpoint
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.recipe import replay_start
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)

REPLAYED = ("learning_rate", "warmup_steps", "schedule")


class LearningRateRewinding(pl.Callback):
    """Replays the last steps of the schedule of the run that this one starts from, as many as this one makes.

    Peak learning rate, warm-up and shape are that run's too, whatever the configuration says. The optimizer is fresh.

    Raises:
        UserError: There is no trained model to start from, or no end of this run.
    """

    def check(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Refuse a run that goes on from nothing, before the text is read.

        Args:
            trainer: The Trainer.
            pl_module: The model.

        Raises:
            UserError: It is such a run.
        """
        if trainer.started_from is None and trainer.resumed_from is None:
            raise UserError(
                "LearningRateRewinding replays the end of a trained model's schedule; give --start_from RUN."
            )

    @override
    @typed_hook
    def setup(self, trainer: Trainer, pl_module: LitTransformer, stage: str) -> None:
        # The optimizer and its schedule are made after this.
        if stage != "fit":
            return
        if trainer.resumed_from is not None:
            before = read_checkpoint(trainer.resumed_from)["hyper_parameters"]
            pl_module.hparams.update({name: before[name] for name in (*REPLAYED, "schedule_start")})
            return
        assert trainer.started_from is not None
        checkpoint = read_checkpoint(trainer.started_from)
        before, steps = checkpoint["hyper_parameters"], int(checkpoint["global_step"])
        again = trainer.estimated_stepping_batches
        if not math.isfinite(again):
            raise UserError("LearningRateRewinding needs the end of this run; give --trainer.max_epochs or max_steps.")
        steps += before.get("schedule_start", 0)
        start = replay_start(steps, int(again))
        pl_module.hparams.update({name: before[name] for name in REPLAYED}, schedule_start=start)
        if again > steps:
            log.warning(
                "This run makes %d steps, and the first one made %d: it replays them and goes on.", again, steps
            )
        log.info(
            "Steps %d to %d of the first run's schedule again (peak learning rate %g, %d steps of warm-up).",
            start + 1,
            start + again,
            before["learning_rate"],
            before["warmup_steps"],
        )
