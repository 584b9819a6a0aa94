"""The weights that training starts from, which criticality and rewinding need."""

from __future__ import annotations

import logging
from pathlib import Path

import pytorch_lightning as pl
from typing_extensions import override

from callbacks.hooks import typed_hook
from lit_transformer.training.initial_weights import (
    FILE,
    NoInitialWeightsError,
    carried_weights,
    first_weights,
    initial_weights_of,
    save_initial_weights,
)
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


class InitialWeights(pl.Callback):
    """Writes ``initial_weights.safetensors`` into the run's folder before the first optimizer step (method.md 0.5).

    The model keeps the record of it, digest included, which goes into every checkpoint. A resumed run never writes
    over the file. A run that starts from the weights of another one (``--start_from``) carries that one's over.
    """

    @override
    @typed_hook
    def on_fit_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        # Not in `setup`, where a resumed run has fresh weights: here it has those of the checkpoint, and its record.
        if trainer.fast_dev_run or not trainer.is_global_zero:
            return
        path = trainer.run_folder / FILE
        if trainer.ckpt_path is not None:
            _keep(path, Path(trainer.ckpt_path), pl_module)
        elif pl_module.initial_weights is None:
            if trainer.started_from is not None and trainer.carries_initial_weights:
                _carry_over(path, trainer.started_from, pl_module)
                return
            weights, record = first_weights(pl_module.network, pl_module.weights_seed)
            save_initial_weights(path, weights, record)
            pl_module.initial_weights = record


def _keep(path: Path, checkpoint: Path, pl_module: LitTransformer) -> None:
    """Make sure that the initial weights of a resumed run are there."""
    try:
        weights = initial_weights_of(checkpoint)
    except NoInitialWeightsError as error:
        log.warning("Resuming without the weights that training started from: %s", error)
        return
    if not path.exists() and pl_module.initial_weights is not None:
        save_initial_weights(path, weights, pl_module.initial_weights)
        log.info("%s was missing and is written again.", path)


def _carry_over(path: Path, parent: Path, pl_module: LitTransformer) -> None:
    try:
        weights, record = carried_weights(pl_module.network, parent, pl_module.born)
    except NoInitialWeightsError as error:
        log.warning("This run won't know the weights that training began with: %s", error)
        return
    save_initial_weights(path, weights, record)
    pl_module.initial_weights = record
