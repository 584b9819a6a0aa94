"""Components that go step by step while a model is trained: predecessors that stand in for what comes after them."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from typing_extensions import override

from callbacks.component_choice import ComponentChoice
from callbacks.hooks import typed_hook
from callbacks.succession import Succession
from lit_transformer.errors import UserError
from lit_transformer.model import SubLayer, Transformer
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer


@dataclass(eq=False, repr=False)
class ComponentSuccession(ComponentChoice, Succession):
    """A succession in which every component has one predecessor of its own."""

    @override
    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        self._predecessors: dict[str, SubLayer] = {}

    @abstractmethod
    def stands_in(self, component: str, step: int, batch_idx: int, seed: int) -> bool:
        """Return whether a component's predecessor is used in a training step; the same on every process.

        Args:
            component: Its id.
            step: Optimizer steps made before.
            batch_idx: Place of the batch in its epoch.
            seed: Seed of the run.
        """

    @property
    def only_successors_learn(self) -> bool:
        """Whether everything else stays as it is."""
        return False

    def attach(self, network: Transformer, predecessors: Mapping[str, SubLayer]) -> None:
        """Let predecessors stand in, by the component that comes after each."""
        self._predecessors = dict(predecessors)
        if self.only_successors_learn:
            network.requires_grad_(False)
        for name, predecessor in predecessors.items():
            predecessor.requires_grad_(False)
            predecessor.train()
            sublayer = network.sublayer(name)
            sublayer.succeed(predecessor)
            if self.only_successors_learn and sublayer.function is not None:
                sublayer.function.requires_grad_(True)

    @property
    @override
    def predecessors(self) -> Mapping[str, SubLayer]:
        return self._predecessors

    @override
    def attach_again(self, network: Transformer, states: Mapping[str, Mapping[str, Tensor]]) -> None:
        self.attach(network, restored(network, states))

    @override
    def detach(self, network: Transformer) -> None:
        for name in self._predecessors:
            network.sublayer(name).succeed(None)
        self._predecessors = {}

    @override
    @typed_hook
    def on_train_batch_start(self, trainer: Trainer, pl_module: LitTransformer, batch: Any, batch_idx: int) -> None:
        seed = pl_module.hparams["seed"]
        for name in self._predecessors:
            pl_module.network.sublayer(name).stands_in = self.stands_in(name, trainer.global_step, batch_idx, seed)


def copies(network: Transformer, components: Sequence[str]) -> dict[str, SubLayer]:
    """Return copies of components as they are now, by id."""
    return {name: copy.deepcopy(network.components()[name]) for name in components}


def restored(network: Transformer, states: Mapping[str, Mapping[str, Tensor]]) -> dict[str, SubLayer]:
    """Return predecessors made of their states.

    Args:
        network: A model of the new structure.
        states: The state of each predecessor, by id.

    Raises:
        UserError: A state fits no component.
    """
    config = network.config
    widths = {n: state.get("function.inner.weight") for n, state in states.items()}
    sizes = {**config.feed_forward_sizes, **{n: weight.size(0) for n, weight in widths.items() if weight is not None}}
    pruned = tuple(name for name in config.pruned if name not in states)
    whole = Transformer(replace(config, pruned=pruned, feed_forward_sizes=sizes)).components()
    try:
        for name, state in states.items():
            whole[name].load_state_dict(dict(state))
    except (KeyError, RuntimeError) as error:
        raise UserError(f"the checkpoint's predecessors do not fit the model: {error}") from error
    return {name: whole[name] for name in states}
