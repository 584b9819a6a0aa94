"""BERT-of-Theseus for decoder layers: one layer takes over from several, more and more often (Xu et al. 2020)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from callbacks.hooks import typed_hook
from callbacks.replacement_schedule import ReplacementSchedule
from callbacks.succession import Succession
from lit_transformer.errors import UserError
from lit_transformer.importance.selection import Selection
from lit_transformer.model import Transformer
from lit_transformer.model.succession import SuccessorLayer, attach, cut_decoder, predecessors_of
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.recipe import step_seed
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


class LayerTheseus(Succession):
    """Replaces groups of decoder layers of a trained model by one layer each while it is trained on (method.md 4).

    The successors are the decoder's first layers. In every training step each of them is used with a probability that
    grows, or else its group of predecessors, which stay as they were; validation and checkpoints know the shallower
    decoder alone. Writes ``layer_theseus.json`` into the run's folder.

    Args:
        group: So many layers become one; it must divide the number of decoder layers.
        learn: successors (all else stays as it is) or all.
        schedule: linear (from ``probability`` up to 1 at step ``until``) or constant (``probability`` up to step
            ``until``, then 1).
        probability: Probability of successors at the start; 1 for successors alone from the start, the control.
        until: Optimizer step from which on there are only successors.

    Raises:
        UserError: A setting is out of its range.
    """

    name = "layer_theseus"

    def __init__(
        self,
        group: int = 2,
        learn: Literal["successors", "all"] = "successors",
        schedule: Literal["linear", "constant"] = "linear",
        probability: float = 0.3,
        until: int = 1000,
    ) -> None:
        super().__init__(Selection(["d:*"]))
        if group < 2:
            raise UserError(f"LayerTheseus: group is {group!r}; give a group from 2 up.")
        self.replacement = ReplacementSchedule("LayerTheseus", schedule, probability, until)
        self.group, self.learn = group, learn
        self._layers: list[SuccessorLayer] = []

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"group": self.group, "learn": self.learn}

    @property
    @override
    def trained_only(self) -> str | None:
        return "it replaces layers of a trained model"

    @override
    def change(self, trainer: Trainer, pl_module: LitTransformer) -> dict[str, Any]:
        network = pl_module.network
        before = sum(parameter.numel() for parameter in network.parameters())
        predecessors = cut_decoder(network, self.group)
        pl_module.hparams["decoder_layers"] = network.config.decoder_layers
        self._attach(network, predecessors)
        after = sum(parameter.numel() for parameter in network.parameters())
        log.info("%d decoder layers in the place of %d.", len(self._layers), len(predecessors))
        return {"parameters_before": before, "parameters_after": after}

    def _attach(self, network: Transformer, predecessors: list[Any]) -> None:
        if self.learn == "successors":
            network.requires_grad_(False)
        self._layers = attach(network, predecessors)
        for layer in self._layers:
            layer.requires_grad_(True)

    @property
    @override
    def predecessors(self) -> Mapping[str, nn.Module]:
        found = [predecessor for layer in self._layers for predecessor in layer.predecessors]
        return {str(place): predecessor for place, predecessor in enumerate(found, start=1)}

    @override
    def attach_again(self, network: Transformer, states: Mapping[str, Mapping[str, Tensor]]) -> None:
        self._attach(network, predecessors_of(network, list(states.values())))

    @override
    def detach(self, network: Transformer) -> None:
        for layer in self._layers:
            layer.stands_in = False
            object.__setattr__(layer, "predecessors", ())

    @override
    @typed_hook
    def on_train_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        super().on_train_start(trainer, pl_module)
        self.replacement.warn_of_an_early_end(trainer.estimated_stepping_batches)

    @override
    @typed_hook
    def on_train_batch_start(self, trainer: Trainer, pl_module: LitTransformer, batch: Any, batch_idx: int) -> None:
        probability = self.replacement.at(trainer.global_step)
        # The same on every process, and after a resume; no process's dropout has this seed.
        seed = step_seed(pl_module.hparams["seed"], trainer.global_step, batch_idx, -1)
        drawn = torch.rand(len(self._layers), generator=torch.Generator().manual_seed(seed))
        for layer, number in zip(self._layers, drawn.tolist(), strict=True):
            layer.stands_in = number >= probability
        pl_module.log("layer_theseus/probability", probability)

    @override
    def verify(self, pl_module: LitTransformer) -> None:
        if not self._layers:
            raise UserError("the resumed run has no predecessors; resume a checkpoint that LayerTheseus wrote.")
        log.info("Resuming with %d decoder layers in the place of %d.", len(self._layers), len(self.predecessors))
