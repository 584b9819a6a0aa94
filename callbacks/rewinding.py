"""Component rewinding: unimportant components go back to their initial weights (Wang & Tu 2020, method.md 1.8)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from callbacks.component_choice import ComponentChoice
from callbacks.hooks import typed_hook
from lit_transformer.errors import UserError
from lit_transformer.model import fresh_seed
from lit_transformer.model.seeded import redrawn
from lit_transformer.model.surgery import component_parameters
from lit_transformer.runs.checkpoints import FOLDER, read_checkpoint, run_folder_of
from lit_transformer.training.initial_weights import initial_weights_digest, initial_weights_of
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class ComponentRewinding(ComponentChoice):
    """Sets components back to the weights that training began with, before the whole model is trained on.

    The others stay as they are; optimizer and schedule begin anew. Writes ``rewinding.json`` into the run's folder.

    Args:
        to: initial (the saved initial weights), random (fresh ones, as a control) or step:N (those of the run's
            checkpoint step-N.ckpt; fit keeps it with --checkpoint.keep_steps).
        include_norm: Rewind the component's LayerNorm too.
        only_rewound: Only the rewound components learn, and everything else stays as it is.
    """

    name = "rewinding"

    to: str = "initial"
    include_norm: bool = False
    only_rewound: bool = False

    @override
    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        step = re.fullmatch("step:0*([1-9][0-9]*)", self.to)
        if self.to not in ("initial", "random") and step is None:
            raise UserError(
                f"ComponentRewinding's to is {self.to!r}; give initial, random, or step:N such as step:500, N from 1 "
                "up."
            )
        self.to = self.to if step is None else f"step:{step[1]}"

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"to": self.to, "include_norm": self.include_norm, "only_rewound": self.only_rewound}

    @override
    def change(self, trainer: Trainer, pl_module: LitTransformer) -> dict[str, Any]:
        assert trainer.started_from is not None
        network, chosen = pl_module.network, self.chosen
        kept = {} if self.to == "random" else self._kept_weights(trainer.started_from)
        for place, component in enumerate(chosen):
            weights = kept or self._fresh_weights(trainer, pl_module, component, place)
            parameters = component_parameters(network, component, self.include_norm)
            with torch.no_grad():
                for name, parameter in parameters.items():
                    parameter.copy_(weights[name])
            if self.to == "random":
                pl_module.born |= set(parameters)
        if self.only_rewound:
            self._freeze(pl_module)
        log.info("Rewound to %s: %s.", self.to, ", ".join(chosen))
        return {}

    def _fresh_weights(
        self, trainer: Trainer, pl_module: LitTransformer, component: str, place: int
    ) -> Mapping[str, Tensor]:
        assert trainer.started_from is not None
        # What was drawn anew before is drawn otherwise this time.
        before = initial_weights_digest(trainer.started_from) or trainer.started_weights
        seed = fresh_seed(self.name, pl_module.hparams["seed"], place, before)
        return redrawn(pl_module.network.config, component, seed)

    def _kept_weights(self, parent: Path) -> Mapping[str, Tensor]:
        if self.to == "initial":
            return initial_weights_of(parent)
        step, there_now = self.to.partition(":")[2], int(read_checkpoint(parent)["global_step"])
        if int(step) > there_now:
            raise UserError(
                f"to is {self.to!r}, but {str(parent)!r} is at step {there_now}: that would be forward, not back; give "
                "an earlier step, or start from a later checkpoint."
            )
        path = run_folder_of(parent) / FOLDER / f"step-{step}.ckpt"
        if not path.is_file():
            there = ", ".join(sorted(found.stem for found in path.parent.glob("step-*.ckpt"))) or "none"
            raise UserError(
                f"there is no {path.name} in {str(path.parent)!r} (there: {there}); train with "
                f"--checkpoint.keep_steps '[{step}]', or rewind to initial."
            )
        state = read_checkpoint(path)["state_dict"]
        return {name.removeprefix("network."): tensor for name, tensor in state.items()}

    def _freeze(self, pl_module: LitTransformer) -> None:
        """Let nothing learn but the rewound components; before the optimizer and DDP look at the model."""
        network = pl_module.network
        network.requires_grad_(False)
        for component in self.chosen:
            for parameter in component_parameters(network, component, self.include_norm).values():
                parameter.requires_grad_(True)

    @override
    @typed_hook
    def on_load_checkpoint(self, trainer: Trainer, pl_module: LitTransformer, checkpoint: dict[str, Any]) -> None:
        # The optimizer of a resumed run is made after this and before any other hook.
        state = checkpoint.get("callbacks", {}).get(self.state_key)
        if self.only_rewound and state is not None and trainer.state.fn == "fit":
            self.chosen = list(state["chosen"])
            self._freeze(pl_module)

    @override
    def verify(self, pl_module: LitTransformer) -> None:
        log.info("Resuming with %s rewound at its start.", ", ".join(self.chosen))
