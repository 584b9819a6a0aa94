"""BERT-of-Theseus for components: successors take over at random, more and more often (Xu et al. 2020, method.md 4)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

import torch
from typing_extensions import override

from callbacks.component_succession import ComponentSuccession, copies
from callbacks.hooks import typed_hook
from callbacks.replacement_schedule import ReplacementSchedule
from lit_transformer.components import kind_of
from lit_transformer.errors import UserError
from lit_transformer.model import FeedForward
from lit_transformer.model.surgery import component_parameters
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.recipe import step_seed
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class Theseus(ComponentSuccession):
    """Replaces components of a trained model by their successors while it is trained on.

    In every training step each chosen component is computed by its successor with a probability that grows, or else by
    the predecessor, which stays as it was; validation and checkpoints know successors alone, so that every checkpoint
    is a model of the new structure. Writes ``theseus.json`` into the run's folder.

    Args:
        successor: none (nothing) or narrow (a feed-forward network of the units with the largest weights).
        size: Width of narrow successors.
        learn: successors (all else stays as it is) or all; with successor none it has to be all.
        schedule: linear (from ``probability`` up to 1 at step ``until``) or constant (``probability`` up to step
            ``until``, then 1).
        probability: Probability of successors at the start; 1 for successors alone from the start, the control.
        until: Optimizer step from which on there are only successors.
    """

    name = "theseus"

    successor: Literal["none", "narrow"] = "none"
    size: int | None = None
    learn: Literal["successors", "all"] | None = None
    schedule: Literal["linear", "constant"] = "linear"
    probability: float = 0.3
    until: int = 1000

    @override
    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if (self.successor == "narrow") != (self.size is not None):
            raise UserError(
                f"Theseus: successor is {self.successor!r} and size {self.size!r}; narrow successors have a size."
            )
        if self.successor == "none" and self.learn == "successors":
            raise UserError("Theseus: with successor none nothing would learn; give learn all, or leave it out.")
        self.replacement = ReplacementSchedule("Theseus", self.schedule, self.probability, self.until)
        self.learn = self.learn or ("all" if self.successor == "none" else "successors")

    @property
    @override
    def only_successors_learn(self) -> bool:
        return self.learn == "successors"

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"successor": self.successor, "size": self.size, "learn": self.learn}

    @property
    @override
    def trained_only(self) -> str | None:
        return "it replaces components of a trained model"

    @override
    def choose(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        super().choose(trainer, pl_module)
        other = [name for name in self.chosen if not kind_of(name).endswith("ff")]
        if self.successor == "narrow" and other:
            raise UserError(
                f"narrow successors are feed-forward networks, but {', '.join(other)} are none; choose among e:ff and "
                "d:ff."
            )

    @override
    def change(self, trainer: Trainer, pl_module: LitTransformer) -> dict[str, Any]:
        network, chosen = pl_module.network, self.chosen
        predecessors = copies(network, chosen)
        before = sum(parameter.numel() for parameter in network.parameters())
        if self.successor == "none":
            network.prune(chosen)
        else:
            self._narrow(pl_module)
        pl_module.hparams["pruned"] = list(network.config.pruned)
        pl_module.hparams["feed_forward_sizes"] = dict(network.config.feed_forward_sizes)
        self.attach(network, predecessors)
        after = sum(parameter.numel() for parameter in network.parameters())
        log.info("Replaced by %s: %s.", "nothing" if self.successor == "none" else "narrower ones", ", ".join(chosen))
        return {"parameters_before": before, "parameters_after": after}

    def _narrow(self, pl_module: LitTransformer) -> None:
        network = pl_module.network
        for name in self.chosen:
            function = network.components()[name].function
            assert isinstance(function, FeedForward)
            assert self.size is not None
            network.narrow(name, function.narrowed(self.size))
            pl_module.born |= set(component_parameters(network, name))

    @override
    def stands_in(self, component: str, step: int, batch_idx: int, seed: int) -> bool:
        # One number for each component, whatever the others; not those of dropout on any process.
        generator = torch.Generator().manual_seed(step_seed(seed, step, batch_idx, -1 - self.chosen.index(component)))
        return float(torch.rand((), generator=generator)) >= self.replacement.at(step)

    @override
    @typed_hook
    def on_train_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        super().on_train_start(trainer, pl_module)
        self.replacement.warn_of_an_early_end(trainer.estimated_stepping_batches)

    @override
    @typed_hook
    def on_train_batch_start(self, trainer: Trainer, pl_module: LitTransformer, batch: Any, batch_idx: int) -> None:
        super().on_train_batch_start(trainer, pl_module, batch, batch_idx)
        pl_module.log("theseus/probability", self.replacement.at(trainer.global_step))

    @override
    def verify(self, pl_module: LitTransformer) -> None:
        if not self._predecessors:
            raise UserError("Theseus: the checkpoint holds no predecessors; resume one that a run of Theseus wrote.")
        log.info("Resuming with successors of %s.", ", ".join(self.chosen))
