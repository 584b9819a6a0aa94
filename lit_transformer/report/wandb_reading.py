"""What the files of runs and studies tell to the report in Weights & Biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lit_transformer.errors import UserError
from lit_transformer.report.studies import is_study, read_study
from lit_transformer.runs.scores import shown_scores
from lit_transformer.tracking import names

COMMANDS = ("fit", "test", "analyze")
"""Commands whose W&B runs are shown."""


@dataclass(frozen=True)
class ReportedStudy:
    """A study of the runs.

    Args:
        name: Its name.
        text: Its ``study.md``.
    """

    name: str
    text: str


@dataclass(frozen=True)
class ReportedRun:
    """What the report tells of a run, read from its folder.

    Args:
        name: Experiment and version.
        group: Its group in W&B.
        wandb_names: Names of the W&B runs of its commands.
        analyses: The content of its ``scores.json`` files, by the name of the analysed checkpoint.
        problems: Why others can't be shown, a sentence each.
    """

    name: str
    group: str
    wandb_names: list[str]
    analyses: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def reported_run(folder: Path) -> ReportedRun:
    """Read what the report tells of a run.

    Args:
        folder: The folder of the run.

    Raises:
        UserError: It is no folder of a run.
    """
    paths = [path.parent for path in sorted(folder.glob("analysis/*/scores.json"))]
    if not paths and not (folder / "config.yaml").is_file():
        raise UserError(f"{str(folder)!r} is no folder of a run; give one that fit or analyze wrote into.")
    analyses: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for path in paths:
        try:
            analyses[path.name] = shown_scores(path)
        except UserError as error:
            problems.append(str(error))
    owner = _owner(folder, paths)
    return ReportedRun(
        names.run_name(owner, "").rstrip("-"),
        names.group_of(owner),
        [names.run_name(owner, command) for command in COMMANDS],
        analyses,
        problems,
    )


def _owner(folder: Path, analyses: Sequence[Path]) -> Path:
    """Return the folder of the run whose name the W&B runs have: ``analyze --output`` may write anywhere."""
    if (folder / "config.yaml").is_file():
        return folder
    return next((run for path in analyses if (run := names.analysed_run(path)) is not None), folder)


def reported_studies(folders: Sequence[Path]) -> list[ReportedStudy]:
    """Read the studies that are given, and those in ``studies`` beside ``runs`` that belong to runs that are given.

    Args:
        folders: The folders of runs, which a study may have trained or started from, and of studies.
    """
    own = {folder.resolve() for folder in folders}
    candidates = dict.fromkeys(folder for folder in sorted(own) if is_study(folder))
    for folder in sorted(own - candidates.keys()):
        above = folder.parents[min(2, len(folder.parents) - 1)]
        beside = [path for path in (above, *sorted((above / "studies").glob("*"))) if is_study(path)]
        candidates |= dict.fromkeys(path for path in beside if own & _runs_around(path))
    return [ReportedStudy(path.name, _text_of(path)) for path in candidates]


def _text_of(study: Path) -> str:
    path = study / "study.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else f"# Study {study.name}\n\nNot finished."
    untold = [f"{name}: {told}" for name, told in read_study(study).rests_on if told not in text]
    return "\n\n".join([text, *untold])


def _runs_around(study: Path) -> set[Path]:
    runs = {path.resolve() for path in study.glob("runs/*/version_*")}
    return runs | {parent.resolve() for run in runs if (parent := names.parent_of(run)) is not None}
