"""BERT-of-Theseus for decoder layers: one layer takes over from several, more and more often (Xu et al. 2020)."""

from __future__ import annotations

import logging
from typing import Any, Literal

import pytorch_lightning as pl
import torch
from typing_extensions import override

from callbacks.component_change import ComponentChange
from lit_transformer.errors import UserError
from lit_transformer.importance.selection import Selection
from lit_transformer.model import Transformer
from lit_transformer.model.succession import SuccessorLayer, attach, cut_decoder, predecessors_of
from lit_transformer.module import LitTransformer
from lit_transformer.recipe import step_seed
from lit_transformer.trainer import Trainer

log = logging.getLogger(__name__)


class LayerTheseus(ComponentChange):
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
        super().__init__(Selection(("d:*",)))
        if group < 2 or not 0.0 < probability <= 1.0 or until < 1:
            raise UserError(
                f"LayerTheseus: group is {group!r}, probability {probability!r} and until {until!r}; give a group from "
                "2 up, a probability above 0 and up to 1, and a step from 1 up."
            )
        self.group, self.learn, self.schedule = group, learn, schedule
        self.probability, self.until = probability, until
        self._layers: list[SuccessorLayer] = []

    def probability_at(self, step: int) -> float:
        """Return with which probability a successor is used at an optimizer step, counted from 0."""
        if step >= self.until:
            return 1.0
        return self.probability + (1.0 - self.probability) * step / self.until * (self.schedule == "linear")

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"group": self.group, "learn": self.learn}

    def check(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Refuse other changes in the same run, whose components would be those of other layers.

        Raises:
            UserError: There is one.
        """
        others = [type(c).__name__ for c in trainer.callbacks if isinstance(c, ComponentChange) and c is not self]
        if others:
            raise UserError(f"LayerTheseus changes a run by itself; make another one for {', '.join(others)}.")

    @override
    def change(self, trainer: Trainer, pl_module: LitTransformer) -> dict[str, Any]:
        if trainer.started_from is None:
            raise UserError("it replaces layers of a trained model; give --start_from RUN.")
        network = pl_module.network
        self.choose(trainer, list(network.components()))
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
    def _predecessors(self) -> list[torch.nn.Module]:
        return [predecessor for layer in self._layers for predecessor in layer.predecessors]

    @override
    def state_dict(self) -> dict[str, Any]:
        # The state of the model has no place for them.
        return {**super().state_dict(), "predecessors": [layer.state_dict() for layer in self._predecessors]}

    @override
    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        # The optimizer of a resumed run is made after this and before any other hook.
        assert isinstance(pl_module, LitTransformer)
        state = checkpoint.get("callbacks", {}).get(self.state_key)
        if trainer.state.fn == "fit" and state is not None:
            self._attach(pl_module.network, predecessors_of(pl_module.network, state["predecessors"]))

    @override
    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_fit_start(trainer, pl_module)
        assert isinstance(pl_module, LitTransformer)
        like = next(pl_module.network.parameters())
        for predecessor in self._predecessors:
            predecessor.to(like)

    @override
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        steps = trainer.estimated_stepping_batches
        if steps <= self.until and self.probability < 1.0:
            log.warning(
                "LayerTheseus's until is %d, but training ends at step %d, so that the successors are never trained "
                "together; train longer, or give a lower until.",
                self.until,
                steps,
            )

    @override
    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, LitTransformer)
        probability = self.probability_at(trainer.global_step)
        # The same on every process, and after a resume; no process's dropout has this seed.
        seed = step_seed(pl_module.hparams["seed"], trainer.global_step, batch_idx, -1)
        drawn = torch.rand(len(self._layers), generator=torch.Generator().manual_seed(seed))
        for layer, number in zip(self._layers, drawn.tolist(), strict=True):
            layer.stands_in = number >= probability
        pl_module.log("layer_theseus/probability", probability)

    @override
    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for layer in self._layers:
            layer.stands_in = False
            object.__setattr__(layer, "predecessors", ())

    @override
    def verify(self, pl_module: LitTransformer) -> None:
        if not self._layers:
            raise UserError("the resumed run has no predecessors; resume a checkpoint that LayerTheseus wrote.")
        log.info("Resuming with %d decoder layers in the place of %d.", len(self._layers), len(self._predecessors))
