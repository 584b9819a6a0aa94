"""The command ``lit-transformer study``, which needs no Trainer of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

from jsonargparse import ArgumentParser

from lit_transformer.study.settings import StudySettings


def parser() -> ArgumentParser:
    """Return the parser of the command's options."""
    made = ArgumentParser(
        prog="lit-transformer study",
        description=(
            "Compare what can be done with a trained model, each arm with its control: prune, rewind, fine-tune. "
            "Stages whose output is there are skipped."
        ),
        exit_on_error=False,
        allow_abbrev=False,
    )
    made.add_argument("--config", action="config", help="Settings of the study; several are read one after another.")
    made.add_class_arguments(StudySettings, as_group=False)
    return made


def settings_of(args: Sequence[str]) -> StudySettings:
    """Return the settings that a command line gives.

    Args:
        args: The command line, after ``study``.

    Raises:
        UserError: A setting means nothing.
    """
    given = parser().parse_args(list(args))
    return StudySettings(**{field.name: given[field.name] for field in fields(StudySettings)})


def main(args: Sequence[str], find_config: Callable[[str], Path]) -> None:
    """Run a study, and write and print what came of it; exit status 1 where a stage was not done.

    Args:
        args: The command line, after ``study``.
        find_config: Returns the file of a configuration's name.

    Raises:
        UserError: A setting means nothing, or a run is in the way.
    """
    settings = settings_of(args)
    base_config = None if settings.base_config is None else find_config(settings.base_config)
    # Not before: the help and most mistakes need no torch.
    from lit_transformer.study.conduct import run_study

    if run_study(settings, base_config):
        raise SystemExit(1)
