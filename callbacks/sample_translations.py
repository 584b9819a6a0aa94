"""A look at what the model says."""

from __future__ import annotations

import logging

import pytorch_lightning as pl
from typing_extensions import override

from lit_transformer.tracking.run import log_samples
from lit_transformer.training.module import LitTransformer

log = logging.getLogger(__name__)


class SampleTranslations(pl.Callback):
    """Shows a few translations after each validation within fit: the same sentences each time; a table in W&B.

    Args:
        count: How many; 0 for none.
    """

    def __init__(self, count: int = 3) -> None:
        self.count = count

    @override
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.sanity_checking or not trainer.is_global_zero or not isinstance(pl_module, LitTransformer):
            return
        translations = pl_module.translations
        count = min(self.count, len(translations))
        chosen = [translations[(2 * sample + 1) * len(translations) // (2 * count)] for sample in range(count)]
        for sample, translation in enumerate(chosen):
            log.info(
                "%s\n  source      %s\n  hypothesis  %s\n  reference   %s",
                f"sample {sample + 1} of {count}, step {trainer.global_step}",
                translation.source,
                translation.hypothesis,
                translation.reference,
            )
        columns = ("source", "hypothesis", "reference")
        samples = [{name: getattr(translation, name) for name in columns} for translation in chosen]
        if samples:
            log_samples(trainer.loggers, trainer.global_step, samples)
