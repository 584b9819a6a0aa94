"""Where metrics go: ``metrics.csv`` in the run's folder, and Weights & Biases, offline unless told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger, WandbLogger
from typing_extensions import override

from lit_transformer.errors import UserError
from lit_transformer.runs.checkpoints import run_folder_of
from lit_transformer.runs.metrics_log import MetricsLog
from lit_transformer.tracking.names import group_of, parent_of, run_name
from lit_transformer.tracking.wandb_settings import WandbSettings


class RunLogger(WandbLogger):
    """The WandbLogger of one command, whose run gets the whole configuration once, by `callbacks.WandbTracking`."""

    @property
    @override
    def experiment(self) -> Any:
        """The W&B run, which begins when it is first asked for.

        Raises:
            UserError: W&B does not begin one.
        """
        import wandb

        try:
            return super().experiment
        except wandb.errors.Error as error:
            raise UserError(
                f"Weights & Biases did not begin a run: {error}. Go offline with --wandb.mode offline (wandb sync "
                "uploads later), or do without it: --wandb.mode disabled."
            ) from error

    @override
    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: they are sections of the configuration."""


def run_loggers(
    settings: WandbSettings, run_folder: Path, command: str, given: str | Path | None = None
) -> list[Logger]:
    """Return the loggers of one command.

    Args:
        settings: Weights & Biases.
        run_folder: Where the command writes; its parent's name is that of the experiment.
        command: The command, which becomes the job type; ``fine-tune`` for a fit that starts from another run.
        given: The checkpoint that it was given, if any.

    Raises:
        UserError: Weights & Biases is to be used online and there is no key.
    """
    loggers: list[Logger] = [MetricsLog(run_folder)]
    if not settings.ready(run_folder):
        return loggers
    run_folder.mkdir(parents=True, exist_ok=True)
    source = None if given is None else run_folder_of(given)
    # What analyze writes may go elsewhere; it still belongs to the run of its checkpoint.
    own = run_folder if command == "fit" or source is None else source
    started = source is not None and source != run_folder.absolute()
    tuned = command == "fit" and (started or parent_of(run_folder) is not None)
    logger = RunLogger(
        name=run_name(own, command),
        save_dir=run_folder,
        project=settings.effective_project,
        entity=settings.told("entity"),
        group=settings.told("group") or group_of(source if source is not None else run_folder),
        job_type="fine-tune" if tuned else command,
        tags=settings.tags,
    )
    # Lightning passes it on even when nobody asked for it, and wandb then warns in every run.
    logger._wandb_init.pop("anonymous", None)
    return [*loggers, logger]
