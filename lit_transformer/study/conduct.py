"""Runs a study from its settings to its tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import yaml

from lit_transformer.console.terminal import say
from lit_transformer.files import write_text
from lit_transformer.runs.config import read_settings
from lit_transformer.study.checks import check_bases, check_count, named_structure
from lit_transformer.study.facts import FileReader, Reader
from lit_transformer.study.processes import Execute, execute, locked
from lit_transformer.study.progress import StageProgress
from lit_transformer.study.rendering import comparisons_text, csv_text, markdown, terminal
from lit_transformer.study.results import comparisons, rows_of
from lit_transformer.study.runner import StudyRunner
from lit_transformer.study.stages import Stages
from lit_transformer.study.study_settings import StudySettings
from lit_transformer.tracking.study import log_study
from lit_transformer.tracking.wandb_settings import WandbSettings


def run_study(
    settings: StudySettings,
    base_config: Path | None,
    execute: Execute = execute,
    reader: Reader | None = None,
    clock: Callable[[], float] = time.monotonic,
    wandb: WandbSettings = WandbSettings(mode="disabled"),  # noqa: B008 - it is frozen
) -> bool:
    """Run a study; write ``study.csv``, ``comparisons.csv`` and ``study.md``, and print the results.

    Args:
        settings: What it is asked to do.
        base_config: The file of the base models' configuration.
        execute: Runs a command.
        reader: Reads the files of runs.
        clock: Tells the time in seconds.
        wandb: Weights & Biases, for a run with the table of the study.

    Returns:
        Whether a stage was not done.

    Raises:
        UserError: The settings don't fit the base models, a run is in the way, or another study is at work there.
    """
    reader = FileReader() if reader is None else reader
    given = {} if base_config is None else read_settings(base_config, f"--base_config {str(base_config)!r}")
    named = named_structure(given, settings.options)
    bases = [reader.base(Path(run)) for run in settings.base_runs or []]
    if bases:
        check_bases(settings, bases, named)
    else:
        check_count(settings, named)
    with locked(settings.path):
        text = yaml.safe_dump(asdict(settings), sort_keys=False, allow_unicode=True)
        write_text(settings.path / "config.yaml", text)
        with StageProgress(clock) as progress:
            stages = Stages(settings.path, execute, clock, progress)
            outcome = StudyRunner(settings, stages, reader, given).run(bases)
        rows = rows_of(outcome, reader)
        compared = comparisons(rows)
        write_text(settings.path / "study.csv", csv_text(rows))
        write_text(settings.path / "comparisons.csv", comparisons_text(compared))
        write_text(settings.path / "study.md", markdown(settings, outcome, rows, compared))
    say(terminal(rows, compared, outcome))
    for name in ("study.csv", "comparisons.csv", "study.md"):
        say(settings.path / name)
    log_study(wandb, settings.path, asdict(settings), [Path(run) for run in settings.base_runs or []])
    return bool(outcome.failed)
