"""What the successions have in common: new parts of a model, and the old ones that stand in for them in training."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from typing_extensions import override

from callbacks.component_change import ComponentChange
from callbacks.hooks import typed_hook
from lit_transformer.model import Transformer
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer


class Succession(ComponentChange):
    """Gives the model its new structure at once, and lets the old parts stand in for it in training steps.

    Predecessors are no part of the model and do not learn: validation and checkpoints know the new structure alone. A
    checkpoint to be resumed keeps them in the state of this callback.

    Args:
        selection: Which components.
        scores: See `ComponentChange`.
    """

    @property
    @abstractmethod
    def predecessors(self) -> Mapping[str, nn.Module]:
        """What may stand in, by a name; empty before the change and after training."""

    @abstractmethod
    def attach_again(self, network: Transformer, states: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Let predecessors stand in that are made of their states.

        Args:
            network: A model of the new structure.
            states: The state of each predecessor, by its name.

        Raises:
            UserError: They do not fit the model.
        """

    @abstractmethod
    def detach(self, network: Transformer) -> None:
        """Let none stand in any more, and forget them."""

    @override
    def state_dict(self) -> dict[str, Any]:
        # The state of the model has no place for them.
        kept = {name: predecessor.state_dict() for name, predecessor in self.predecessors.items()}
        return {**super().state_dict(), "predecessors": kept}

    @override
    @typed_hook
    def on_load_checkpoint(self, trainer: Trainer, pl_module: LitTransformer, checkpoint: dict[str, Any]) -> None:
        # The optimizer of a resumed run is made after this and before any other hook.
        state = checkpoint.get("callbacks", {}).get(self.state_key)
        if trainer.state.fn == "fit" and state is not None and state["predecessors"]:
            self.attach_again(pl_module.network, state["predecessors"])

    @override
    @typed_hook
    def on_fit_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        super().on_fit_start(trainer, pl_module)
        like = next(pl_module.network.parameters())
        for predecessor in self.predecessors.values():
            predecessor.to(like)

    @override
    @typed_hook
    def on_fit_end(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        self.detach(pl_module.network)
