"""How Weights & Biases is used, and whether it can be."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lit_transformer.errors import UserError
from lit_transformer.tracking.key import has_wandb_key

MODES = ("online", "offline", "disabled")
PROJECT = "lit-transformer"
VARIABLES = {
    "mode": "WANDB_MODE",
    "project": "WANDB_PROJECT",
    "entity": "WANDB_ENTITY",
    "group": "WANDB_RUN_GROUP",
    "tags": "WANDB_TAGS",
}


@dataclass(frozen=True)
class WandbSettings:
    """Weights & Biases.

    Args:
        mode: online, offline (files in the run's folder; wandb sync uploads them) or disabled; WANDB_MODE when not
            given, else offline.
        project: Project; WANDB_PROJECT when not given, else lit-transformer.
        entity: User or team; WANDB_ENTITY when not given, else yours.
        group: Experiment that several commands belong to; WANDB_RUN_GROUP when not given, else that of the run that
            this one starts from, or the run's name.
        tags: Tags of the run; WANDB_TAGS when not given.
        log_weights: Log the initial weights and the analysed checkpoint as artifacts, not only tokenizer and scores.
    """

    mode: Literal["online", "offline", "disabled"] | None = None
    project: str | None = None
    entity: str | None = None
    group: str | None = None
    tags: list[str] | None = None
    log_weights: bool = True

    @property
    def effective_mode(self) -> str:
        """The mode that holds.

        Raises:
            UserError: ``WANDB_MODE`` holds something else.
        """
        mode = self.mode or os.environ.get("WANDB_MODE") or "offline"
        mode = {"dryrun": "offline", "run": "online"}.get(mode, mode)
        if mode not in MODES:
            raise UserError(f"WANDB_MODE is {mode!r}; give one of {', '.join(MODES)}.")
        return mode

    def told(self, name: str) -> str | None:
        """Return what was given of a setting, else what its variable in the environment says.

        Args:
            name: ``project``, ``entity`` or ``group``.
        """
        return getattr(self, name) or os.environ.get(VARIABLES[name]) or None

    @property
    def effective_project(self) -> str:
        """The project that holds."""
        return self.told("project") or PROJECT

    def variables(self) -> dict[str, str]:
        """Return the variables of the environment that tell a command all of this that was given.

        Raises:
            UserError: The mode is online and there is no key, or ``WANDB_MODE`` holds something else.
        """
        given = {name: getattr(self, name) for name in ("project", "entity", "group")}
        given |= {"tags": ",".join(self.tags or ()), "mode": self.check()}
        return {VARIABLES[name]: value for name, value in given.items() if value}

    def check(self) -> str:
        """Return the mode that holds, if it can be had.

        Raises:
            UserError: It is online and there is no key, or ``WANDB_MODE`` holds something else.
        """
        mode = self.effective_mode
        if mode == "online" and not has_wandb_key():
            raise UserError(
                "Weights & Biases has no API key here; log in with `wandb login` or set WANDB_API_KEY, or go offline "
                "with --wandb.mode offline (or WANDB_MODE=offline), or do without it: --wandb.mode disabled."
            )
        return mode

    def ready(self, folder: Path) -> bool:
        """Prepare the environment of a run, before anything else is done.

        Args:
            folder: Where the run's files go.

        Returns:
            Whether there is to be a run.

        Raises:
            UserError: It is to be online and there is no key, or ``WANDB_MODE`` holds something else.
        """
        mode = self.check()
        if mode == "disabled":
            return False
        # The wandb package asks the environment, not the logger, in processes that it starts.
        os.environ["WANDB_MODE"] = mode
        os.environ.setdefault("WANDB_SILENT", "true")
        # Tables wait there for their upload; by default in the home folder, which a cluster's node may not have.
        os.environ.setdefault("WANDB_DATA_DIR", str(folder.absolute() / "wandb"))
        return True
