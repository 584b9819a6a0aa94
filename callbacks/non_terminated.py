"""Whether translations still end."""

from __future__ import annotations

import logging
from typing import Any

import pytorch_lightning as pl
from typing_extensions import override

from lit_transformer.importance.endless import is_much_more
from lit_transformer.runs.checkpoints import run_folder_of
from lit_transformer.runs.metrics import last_value
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)

METRIC = "val/non_terminated"


class NonTerminated(pl.Callback):
    """Warns, in a line, when a model no longer ends its translations, as one that was pruned or rewound may.

    It watches ``val/non_terminated``: the share, from 0 to 1, of the validation's translations that met the length
    limit before their end. What it is compared with is the lowest share so far, in a run from another one's weights
    that of the other's last validation too; see `lit_transformer.importance.endless` for how much is too much.
    """

    def __init__(self) -> None:
        self._lowest: float | None = None
        self._warned = False

    @override
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        parent = trainer.started_from if isinstance(trainer, Trainer) else None
        if parent is not None and self._lowest is None:
            self._lowest = last_value(run_folder_of(parent), METRIC)

    @override
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.sanity_checking or trainer.state.fn != "fit" or METRIC not in trainer.callback_metrics:
            return
        share = float(trainer.callback_metrics[METRIC])
        before = share if self._lowest is None else self._lowest
        much = is_much_more(share, before)
        if much and not self._warned:
            log.warning(
                "%.1f %% of the translations met the length limit before their end, against %.1f %% before.",
                100 * share,
                100 * before,
            )
        self._warned, self._lowest = much, min(share, before)

    @override
    def state_dict(self) -> dict[str, Any]:
        return {"lowest": self._lowest, "warned": self._warned}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._lowest, self._warned = state_dict["lowest"], state_dict["warned"]
