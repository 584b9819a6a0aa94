"""The command ``lit-transformer study``, which needs no Trainer of its own."""

from __future__ import annotations

import os
from argparse import SUPPRESS
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

from jsonargparse import ArgumentParser

from lit_transformer.console.flags import EVERYWHERE, accept_flags
from lit_transformer.errors import UserError
from lit_transformer.study.options import options_of
from lit_transformer.study.study_settings import StudySettings
from lit_transformer.tracking.wandb_settings import WandbSettings


def parser() -> ArgumentParser:
    """Return the parser of the command's options."""
    made = ArgumentParser(
        prog="lit-transformer study",
        description=(
            "Compare what can be done with a trained model, each arm with its control: prune, rewind, fine-tune. "
            "Stages whose output is there are skipped."
        ),
        epilog=EVERYWHERE,
        exit_on_error=False,
        allow_abbrev=False,
    )
    made.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        default=SUPPRESS,
        help="Folders of trained runs to start from, as --base_runs.",
    )
    help = "Settings of the study; several are read one after another."
    made.add_argument("-c", "--config", action="config", help=help)
    made.add_class_arguments(StudySettings, as_group=False)
    made.add_class_arguments(WandbSettings, "wandb", help="Weights & Biases: a run for the table of the study.")
    accept_flags(made)
    return made


def settings_of(args: Sequence[str]) -> StudySettings:
    """Return the settings that a command line gives.

    Args:
        args: The command line, after ``study``.

    Raises:
        UserError: A setting means nothing.
    """
    given = parser().parse_args(list(args))
    settings = {field.name: given[field.name] for field in fields(StudySettings)}
    if given.get("runs"):
        if any(option.name == "base_runs" for option in options_of(args)):
            raise UserError("the runs to start from are given twice; name them before the options, or by --base_runs.")
        settings["base_runs"] = given["runs"]
    return StudySettings(**settings)


def wandb_of(args: Sequence[str]) -> WandbSettings:
    """Return how the study uses Weights & Biases.

    Args:
        args: The command line, after ``study``.
    """
    return WandbSettings(**parser().parse_args(list(args))["wandb"])


def main(args: Sequence[str], find_config: Callable[[str], Path]) -> None:
    """Run a study, and write and print what came of it; exit status 1 where a stage was not done.

    Args:
        args: The command line, after ``study``.
        find_config: Returns the file of a configuration's name.

    Raises:
        UserError: A setting means nothing, or a run is in the way.
    """
    settings, wandb = settings_of(args), wandb_of(args)
    # Its commands do as it does, unless their own configuration says otherwise.
    os.environ.update(wandb.variables())
    base_config = None if settings.base_config is None else find_config(settings.base_config)
    # Not before: the help and most mistakes need no torch.
    from lit_transformer.study.conduct import run_study

    if run_study(settings, base_config, wandb=wandb):
        raise SystemExit(1)
