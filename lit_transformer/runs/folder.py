"""The folder of a run: ``runs/<name>/version_<n>``."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from pytorch_lightning.utilities.rank_zero import rank_zero_only

from lit_transformer.console.terminal import is_first_process
from lit_transformer.errors import UserError

_VARIABLE = "LIT_TRANSFORMER_RUN_FOLDER"


def new_run_folder(runs_dir: str | Path, name: str) -> Path:
    """Make the folder of a new run, the next version of its name.

    Only the first process makes one; those that it starts find it in the environment. Processes that a cluster
    started get it from the first one when the Trainer sets up.

    Args:
        runs_dir: Folder of all runs.
        name: Name of the experiment.

    Raises:
        UserError: The name can't be a folder, or the folder can't be made.
    """
    if not re.fullmatch(r"\w[\w.+-]*", name):
        raise UserError(
            f"--name {name!r} is no name of a folder; use letters, digits, '.', '_', '+' and '-', a letter first."
        )
    # Lightning itself does not know the node yet.
    first = getattr(rank_zero_only, "rank", 0) == 0 and is_first_process()
    if not first and (told := os.environ.get(_VARIABLE)):
        return Path(told)
    experiment = Path(runs_dir) / name
    if not first:
        return experiment
    try:
        experiment.mkdir(parents=True, exist_ok=True)
        taken = [int(path.name.partition("_")[2]) for path in experiment.glob("version_*") if path.name[8:].isdigit()]
        version = max(taken, default=-1) + 1
        while True:
            try:
                # Two runs that start at once must not share a folder: making it is the claim.
                (experiment / f"version_{version}").mkdir()
                break
            except FileExistsError:
                version += 1
    except OSError as error:
        raise UserError(
            f"cannot make a run's folder in {str(experiment)!r}: {error.strerror}; give --runs_dir."
        ) from error
    folder = (experiment / f"version_{version}").absolute()
    os.environ[_VARIABLE] = str(folder)
    return folder


def remove_if_empty(folder: Path) -> None:
    """Remove the folder of a run that failed before it wrote anything, and that of the experiment if it had no other.

    Args:
        folder: What `new_run_folder` returned.
    """
    with contextlib.suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()
