"""Where metrics go: ``metrics.csv`` in the run's folder, and Weights & Biases, offline unless told otherwise."""

from __future__ import annotations

import netrc
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytorch_lightning.loggers import Logger

from lit_transformer.errors import UserError
from lit_transformer.metrics_log import MetricsLog

MODES = ("online", "offline", "disabled")


@dataclass(frozen=True)
class WandbSettings:
    """Weights & Biases.

    Args:
        mode: online, offline (files in the run's folder; wandb sync uploads them) or disabled; WANDB_MODE when not
            given, else offline.
        project: Project.
        entity: User or team; yours when not given.
        group: Experiment that several commands belong to; the run's name when not given.
        tags: Tags of the run.
    """

    mode: Literal["online", "offline", "disabled"] | None = None
    project: str = "lit-transformer"
    entity: str | None = None
    group: str | None = None
    tags: list[str] | None = None

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


def run_loggers(settings: WandbSettings, run_folder: Path, command: str) -> list[Logger]:
    """Return the loggers of one command.

    Args:
        settings: Weights & Biases.
        run_folder: The folder of the run; its parent's name is that of the experiment.
        command: The command, which becomes the job type.

    Raises:
        UserError: Weights & Biases is to be used online and there is no key.
    """
    loggers: list[Logger] = [MetricsLog(run_folder)]
    mode = settings.effective_mode
    if mode == "disabled":
        return loggers
    if mode == "online" and not has_wandb_key():
        raise UserError(
            "Weights & Biases has no API key here; log in with `wandb login` or set WANDB_API_KEY, or go offline with "
            "--wandb.mode offline (or WANDB_MODE=offline), or do without it: --wandb.mode disabled."
        )
    # The wandb package asks the environment, not the logger, in processes that it starts.
    os.environ["WANDB_MODE"] = mode
    os.environ.setdefault("WANDB_SILENT", "true")
    from pytorch_lightning.loggers import WandbLogger

    run_folder.mkdir(parents=True, exist_ok=True)
    experiment = run_folder.parent.name
    logger = WandbLogger(
        name=f"{experiment}-{run_folder.name}-{command}",
        save_dir=run_folder,
        project=settings.project,
        entity=settings.entity,
        group=settings.group or experiment,
        job_type=command,
        tags=settings.tags,
    )
    # Lightning passes it on even when nobody asked for it, and wandb then warns in every run.
    logger._wandb_init.pop("anonymous", None)
    return [*loggers, logger]


def has_wandb_key() -> bool:
    """Whether a key of Weights & Biases is in the environment or in the user's netrc file."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai").rpartition("//")[2].split("/")[0]
    for name in (os.environ.get("NETRC"), "~/.netrc", "~/_netrc"):
        path = Path(name).expanduser() if name else None
        if path is not None and path.is_file():
            try:
                return netrc.netrc(path).authenticators(host) is not None
            except (netrc.NetrcParseError, OSError):
                return False
    return False
