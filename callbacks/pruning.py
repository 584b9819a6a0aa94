"""Component pruning: a model without its unimportant components, trained on (Wang & Tu 2020, method.md 1.8)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import override

from callbacks.component_succession import ComponentSuccession, copies
from callbacks.hooks import typed_hook
from lit_transformer.components import component_ids
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer, fresh_seed, seeded_transformer
from lit_transformer.model.surgery import component_parameters
from lit_transformer.training.initial_weights import initial_weights_digest, initial_weights_of
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class ComponentPruning(ComponentSuccession):
    """Removes components before training, for good: fewer parameters, less to compute, a smaller file.

    Until the first step the model computes exactly what it does with the components ablated. A component keeps its id
    when others go. Writes ``pruning.json`` into the run's folder.

    Args:
        init: trained (keep the weights of what is left), initial (train it anew from its initial weights) or random
            (from fresh ones).
        every_n_steps: Let them go one after another, one every so many optimizer steps, the first at once; until its
            turn comes a component works in training steps as it was trained, and does not learn. Validation and
            checkpoints know the model without all of them.
    """

    name = "pruning"

    init: Literal["trained", "initial", "random"] = "trained"
    every_n_steps: int | None = None

    @override
    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if self.every_n_steps is not None and (self.every_n_steps < 1 or self.init != "trained"):
            raise UserError(
                f"ComponentPruning: every_n_steps is {self.every_n_steps!r} and init {self.init!r}; give steps from 1 "
                "up, with trained weights."
            )

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"init": self.init, "every_n_steps": self.every_n_steps}

    @property
    @override
    def trained_only(self) -> str | None:
        if self.every_n_steps:
            return "every_n_steps needs a trained model"
        if self.init == "trained":
            return "init trained keeps the weights of a trained model (init random trains a pruned one from scratch)"
        return "init initial needs a trained model" if self.init == "initial" else None

    @override
    def change(self, trainer: Trainer, pl_module: LitTransformer) -> dict[str, Any]:
        if trainer.started_from is None:
            return self._change_structure(pl_module)
        network, chosen = pl_module.network, self.chosen
        before = _size(network)
        removed = {name: sum(p.numel() for p in component_parameters(network, name).values()) for name in chosen}
        predecessors = copies(network, chosen) if self.every_n_steps else {}
        network.prune(chosen)
        pl_module.hparams["pruned"] = list(network.config.pruned)
        self._start_anew(trainer, pl_module)
        self.attach(network, predecessors)
        after = _size(network)
        log.info("Pruned: %s.", ", ".join(f"{name} ({count:,})" for name, count in removed.items()))
        log.info("Parameters: %s before, %s after (%.1f %%).", f"{before:,}", f"{after:,}", 100 * after / before)
        return {"parameters_before": before, "parameters_after": after}

    def _change_structure(self, pl_module: LitTransformer) -> dict[str, Any]:
        """Change the structure of a model that is trained from scratch, and may not be made yet."""
        hparams, chosen = pl_module.hparams, self.chosen
        every = component_ids(hparams["encoder_layers"], hparams["decoder_layers"])
        if hasattr(pl_module, "network"):
            pl_module.network.prune(chosen)
        gone = {*hparams["pruned"], *chosen}
        hparams["pruned"] = [name for name in every if name in gone]
        pl_module.check_structure()
        log.info("Without %s.", ", ".join(chosen))
        return {"from_scratch": True}

    def _start_anew(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        assert trainer.started_from is not None
        network = pl_module.network
        if self.init == "initial":
            initial = initial_weights_of(trainer.started_from)
            network.load_state_dict({name: initial[name] for name in network.state_dict()})
        elif self.init == "random":
            # A model that began with fresh weights itself is given others.
            before = initial_weights_digest(trainer.started_from) or trainer.started_weights
            pl_module.weights_seed = fresh_seed(self.name, pl_module.hparams["seed"], before=before)
            network.load_state_dict(seeded_transformer(network.config, pl_module.weights_seed).state_dict())
            trainer.carries_initial_weights = False

    @override
    def stands_in(self, component: str, step: int, batch_idx: int, seed: int) -> bool:
        # The first one is gone from the start.
        return self.every_n_steps is not None and step < self.chosen.index(component) * self.every_n_steps

    @override
    @typed_hook
    def on_train_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        super().on_train_start(trainer, pl_module)
        steps = (len(self.chosen) - 1) * (self.every_n_steps or 0)
        if steps >= trainer.estimated_stepping_batches:
            log.warning("The last component goes after step %d, which this run does not reach.", steps)

    @override
    def verify(self, pl_module: LitTransformer) -> None:
        there = [name for name in self.chosen if name in pl_module.network.components()]
        if there:
            raise UserError(
                f"ComponentPruning: the resumed run should lack {', '.join(there)}, but its checkpoint does not say "
                "so; resume a checkpoint that this run wrote."
            )
        log.info("Resuming without %s.", ", ".join(self.chosen))


def _size(network: Transformer) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
