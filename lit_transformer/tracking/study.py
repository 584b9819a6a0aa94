"""The W&B run of a study, which trains nothing itself: its table and its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_transformer.tracking import names
from lit_transformer.tracking.run import harmless, log_files, new_table
from lit_transformer.tracking.wandb_settings import WandbSettings
from lit_transformer.tracking.wandb_tables import table_of_csv

FILES = ("study.csv", "comparisons.csv", "study.md")


def group_of_study(name: str, base_runs: Sequence[Path]) -> str:
    """Return the group of a study: that of the runs it starts from if they have one in common, else its name."""
    groups = {names.group_of(run) for run in base_runs}
    return groups.pop() if len(groups) == 1 else name


def log_study(settings: WandbSettings, folder: Path, config: Mapping[str, Any], base_runs: Sequence[Path] = ()) -> None:
    """Log the table of a finished study as a run of its own.

    Args:
        settings: Weights & Biases.
        folder: The folder of the study, with its tables.
        config: The settings of the study, as plain types.
        base_runs: Folders of the runs that it started from, where it did not train them.
    """
    if not settings.ready(folder):
        return
    import wandb

    with harmless("the study"):
        run = wandb.init(
            project=settings.effective_project,
            entity=settings.told("entity"),
            group=settings.told("group") or group_of_study(folder.name, base_runs),
            job_type="study",
            name=f"{folder.name}-study",
            tags=settings.tags,
            dir=str(folder),
            config={**config, "base_runs": [names.run_name(base, "fit") for base in base_runs]},
        )
        try:
            files = [path for path in (folder / name for name in FILES) if path.is_file()]
            text = (folder / FILES[0]).read_text(encoding="utf-8")
            run.log({names.STUDY: new_table(*table_of_csv(text))})
            digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
            log_files(run, names.safe(f"{folder.name}-study"), "study", files, digest, {})
        finally:
            run.finish()
