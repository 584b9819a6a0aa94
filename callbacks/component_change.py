"""What pruning and rewinding have in common: which components, and the record of what was done."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from typing_extensions import override

from callbacks.hooks import typed_hook
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.importance.selection import Selection, in_current_terms
from lit_transformer.runs.checkpoints import run_folder_of
from lit_transformer.runs.scores import read_scores
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer
from lit_transformer.training.trainer_checks import CHANGE

log = logging.getLogger(__name__)

RECORD_FORMAT = 1


class ComponentChange(pl.Callback, ABC):
    """Changes components of a trained model before it is trained on.

    A resumed run is changed already, so that its callback only verifies.

    Args:
        selection: Which components.
        scores: Folder of an analysis, or its ``scores.json``; that of the checkpoint that the run starts from, if not
            given.
    """

    name = ""
    """What is done, in a word; the record of it is ``<name>.json``."""

    def __init__(self, selection: Selection, scores: str | None = None) -> None:
        self.selection, self.scores = selection, scores
        self.chosen: list[str] = []
        self._record: dict[str, Any] = {}

    @property
    def settings(self) -> dict[str, Any]:
        """What a resumed run cannot change, beside the selection, by the names of the arguments."""
        return {}

    @property
    def trained_only(self) -> str | None:
        """Why it can't be made in a run from scratch, where it can't."""
        return "it needs a trained model"

    def check(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Refuse what can't be done, and choose the components, before the text is read.

        Args:
            trainer: The Trainer.
            pl_module: The model; with the weights that it starts from, if any.

        Raises:
            UserError: There is another change in the run, no trained model, or no such choice.
        """
        others = [type(c).__name__ for c in trainer.callbacks if isinstance(c, ComponentChange) and c is not self]
        if others:
            raise UserError(
                f"--trainer.callbacks has {type(self).__name__} and {', '.join(others)}, but a run makes one change of "
                "components; leave one out, and make it in a run of its own with --start_from this one."
            )
        if trainer.resumed_from is not None or self._record:
            return
        try:
            if trainer.started_from is None and self.trained_only:
                raise UserError(f"{self.trained_only}; give --start_from RUN.")
            self.choose(trainer, pl_module)
        except UserError as error:
            raise UserError(f"{type(self).__name__}: {error}") from error

    @abstractmethod
    def change(self, trainer: Trainer, pl_module: LitTransformer) -> dict[str, Any]:
        """Change the components chosen, and return what is told of it beside them."""

    @abstractmethod
    def verify(self, pl_module: LitTransformer) -> None:
        """Make sure that a resumed run is as this callback left it.

        Raises:
            UserError: It is not.
        """

    @override
    @typed_hook
    def setup(self, trainer: Trainer, pl_module: LitTransformer, stage: str) -> None:
        if stage != "fit" or self._record:
            return
        if trainer.resumed_from is not None:
            # The checkpoint is restored after this, the state of this callback with it.
            return
        try:
            about = self.change(trainer, pl_module)
        except UserError as error:
            raise UserError(f"{type(self).__name__}: {error}") from error
        self._record = {
            "format": RECORD_FORMAT,
            "components": self.chosen,
            "selection": asdict(self.selection),
            **self.settings,
            "start_from": None if trainer.started_from is None else str(trainer.started_from.absolute()),
            **about,
        }

    @override
    def state_dict(self) -> dict[str, Any]:
        return {"chosen": self.chosen, CHANGE: self._record}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.chosen, self._record = list(state_dict["chosen"]), dict(state_dict[CHANGE])
        if "selection" in self._record:
            self._record["selection"] = {"among": None, **in_current_terms(self._record["selection"])}

    @override
    @typed_hook
    def on_fit_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        if trainer.resumed_from is None:
            return
        if not self._record:
            raise UserError(
                f"{type(self).__name__}: {str(trainer.resumed_from)!r} is of a run without it; to begin a new run from "
                "its weights give --start_from instead of --ckpt_path."
            )
        given = {"selection": asdict(self.selection), **self.settings}
        for name, value in given.items():
            if self._record.get(name) != value:
                raise UserError(
                    f"{type(self).__name__}: the resumed run was begun with {name} {self._record.get(name)}, not "
                    f"{value}; what was changed stays as it is: leave these options out."
                )
        self.verify(pl_module)

    @override
    @typed_hook
    def on_train_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        if trainer.resumed_from is not None or trainer.fast_dev_run:
            return
        # A greedy search within fit has a name of its own here too.
        name = pl_module.validation_bleu.replace("val/", "") + "_before"
        if trainer.limit_val_batches and trainer.started_from is not None:
            bleu, decoding = pl_module.validation_score()
            self._record |= {
                name: bleu,
                "signature": pl_module.bleu.signature,
                "decoding": asdict(decoding),
                "scoring_set": trainer.datamodule.describe("validation"),
            }
            for logger in trainer.loggers:
                logger.log_metrics({f"{self.name}/{name}": bleu}, step=0)
            log.info("Before training on: %.2f BLEU on validation.", bleu)
        if trainer.is_global_zero:
            path = trainer.run_folder / f"{self.name}.json"
            write_text(path, json.dumps(self._record, indent=2, ensure_ascii=False) + "\n")

    def choose(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Choose the components that were asked for, among those that the model has.

        Args:
            trainer: The Trainer.
            pl_module: The model, which may be built later.

        Raises:
            UserError: A selector matches nothing, or the scores are missing, another checkpoint's, or lack something.
        """
        self.chosen = self.selection.of(pl_module.structure.components, self._scores(trainer))

    def _scores(self, trainer: Trainer) -> dict[str, Any] | None:
        if not self.selection.needs_scores:
            return None
        if trainer.started_from is None:
            raise UserError("there are scores of a trained model only; give --start_from RUN, or name the components.")
        parent = trainer.started_from
        given = Path(self.scores) if self.scores else run_folder_of(parent) / "analysis" / parent.stem
        scores = read_scores(given)
        if scores.get("weights") != trainer.started_weights:
            raise UserError(
                f"the scores in {str(given)!r} are those of {scores.get('checkpoint')}, whose weights are not those of "
                f"{str(parent)!r}; analyze that checkpoint, or start from the one that was analysed."
            )
        if scores.get("contribution", {}).get("reliable") is False:
            log.warning("The scores in %s are marked as not reliable: the model had too little BLEU.", given)
        return scores
