"""The options of callbacks that change some components of a model: which ones."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields

from typing_extensions import override

from callbacks.component_change import ComponentChange
from lit_transformer.errors import UserError
from lit_transformer.importance.selection import Selection, SelectionOptions
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class ComponentChoice(ComponentChange, SelectionOptions):
    """Changes components that the options name or choose.

    A subclass is a dataclass too: its fields are further options, which it checks in ``__post_init__``.

    Args:
        scores: Folder of the analysis; by default that of the checkpoint that the run starts from.

    Raises:
        UserError: The options contradict each other, or one has a value that is not allowed.
    """

    scores: str | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        given = {option.name: getattr(self, option.name) for option in fields(SelectionOptions)}
        try:
            selection = Selection(**given)
        except UserError as error:
            raise UserError(f"{type(self).__name__}: {error}") from error
        super().__init__(selection, self.scores)

    @override
    def choose(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        super().choose(trainer, pl_module)
        if overridden := self.selection.overridden:
            log.warning(
                "%s changes exactly the components named and ignores %s; to let by choose among them, give among "
                "instead of components.",
                type(self).__name__,
                " and ".join(overridden),
            )
