"""The commands that make again what a report shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from lit_transformer.report.html.section import Section
from lit_transformer.report.runs import Run
from lit_transformer.report.studies import Study


def again_section(studies: Sequence[Study], report: Sequence[str]) -> Section:
    """Return what makes a report of several runs, or of studies, again.

    Args:
        studies: The studies that it shows.
        report: Its own command.
    """
    return Section("again", "Commands", commands=lines([*study_commands(studies), report]))


def run_commands(run: Run) -> list[list[str]]:
    """Return what makes a run and its analysis again."""
    commands = []
    if (run.folder / "config.yaml").is_file():
        commands.append(["fit", "--config", str(run.folder / "config.yaml")])
    if run.analysis is not None:
        # Callbacks with components of their own stand in the configuration of the whole analysis.
        places = (run.analysis, run.analysis.parent) if run.analysis.name == "selected" else (run.analysis,)
        found = [place / "config.yaml" for place in places if (place / "config.yaml").is_file()]
        commands += [["analyze", "--config", str(path)] for path in found[:1]]
    return commands


def study_commands(studies: Sequence[Study]) -> list[list[str]]:
    """Return what makes studies again, of those that have written their settings."""
    configs = [study.folder / "config.yaml" for study in studies]
    return [["study", "--config", str(path)] for path in configs if path.is_file()]


def report_command(folders: Sequence[Path], output: Path | None) -> list[str]:
    """Return the command of a report.

    Args:
        folders: What it was given.
        output: The folder that it was told to write to.
    """
    to = [] if output is None else ["--output", str(output)]
    return ["report", *map(str, folders), *to]


def lines(commands: Sequence[Sequence[str]]) -> list[str]:
    """Return commands as they are typed in a shell."""
    return [shlex.join(["lit-transformer", *each]) for each in commands]
