"""Options of every fit of a study: what they name, and which of them the study sets itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from lit_transformer.errors import UserError

_EPOCHS = "give --finetune_epochs for the arms, and the base model's own in the file of --base_config"
_PARTS = "give --components and --count, or such a model by --base_runs"
INSTEAD = {
    "config": "give single settings, or the base model's in the file of --base_config",
    "ckpt_path": "give --base_runs",
    "start_from": "give --base_runs",
    "name": "give --name",
    "runs_dir": "give --folder",
    "seed_everything": "give --seeds",
    "trainer.accelerator": "give --accelerator",
    "trainer.default_root_dir": "give --folder",
    "trainer.max_epochs": _EPOCHS,
    "trainer.max_steps": _EPOCHS,
    "trainer.max_time": _EPOCHS,
    "early_stopping.patience": _EPOCHS,
    "trainer.val_check_interval": "give --validations_per_epoch",
    "trainer.check_val_every_n_epoch": "give --validations_per_epoch",
    "trainer.callbacks": "say by --arms what is changed, or add a callback to all with --trainer.callbacks+=",
    "model.learning_rate": "give --learning_rates for the arms, and the base model's in the file of --base_config",
    "model.warmup_steps": "give --warmup_steps for the arms, and the base model's in the file of --base_config",
    "model.schedule_start": "have the arm lr_rewound among --arms",
    "model.pruned": _PARTS,
    "model.feed_forward_sizes": _PARTS,
    "checkpoint.average": "give --average",
}
"""What a study sets itself, and so may not stand in its options, with its own setting for each."""

HARMLESS = ("trainer.enable_progress_bar", "samples.count")
"""What a study sets itself, but anybody may set otherwise, because no result depends on it."""

STRUCTURAL = ("model.decoder_layers",)
"""What an arm may set otherwise than the options, whose value the base model, and so every other arm, has already."""

CHANGING = (
    "ComponentPruning",
    "ComponentRewinding",
    "Theseus",
    "LayerTheseus",
    "ShallowDecoder",
    "LearningRateRewinding",
)
"""The callbacks that change components, or the schedule: what arms are about."""

_GROUPS = ("trainer", "model", "checkpoint", "early_stopping")


@dataclass(frozen=True)
class Option:
    """An option of a command line.

    Args:
        name: Its dotted name.
        value: Its value as typed; empty where there is none.
        adds: Whether it adds to a list (``--name+=value``).
        pieces: What was typed.
    """

    name: str
    value: str
    adds: bool
    pieces: tuple[str, ...]


def options_of(typed: Sequence[str]) -> list[Option]:
    """Return the options in a command line.

    Args:
        typed: The command line, ``--model.d_model 64`` in one piece or two.

    Example:
        >>> [(option.name, option.value) for option in options_of(["--a=1", "--b", "2", "--c+=3"])]
        [('a', '1'), ('b', '2'), ('c', '3')]
    """
    found, place = [], 0
    while place < len(typed):
        flag, equals, value = typed[place].partition("=")
        follows = typed[place + 1 : place + 2]
        two = bool(not equals and follows and not follows[0].startswith("--"))
        pieces = tuple(typed[place : place + 1 + two])
        name = "config" if flag == "-c" else flag.removeprefix("--")
        found.append(Option(name.removesuffix("+"), pieces[1] if two else value, name.endswith("+"), pieces))
        place += len(pieces)
    return found


def without(typed: Sequence[str], names: Collection[str]) -> list[str]:
    """Return a command line without some options.

    Args:
        typed: The command line.
        names: Dotted names of those that are left out.
    """
    return [piece for option in options_of(typed) if option.name not in names for piece in option.pieces]


def check_options(typed: Sequence[str]) -> None:
    """Refuse options that would override what a study itself sets for each of its runs.

    Args:
        typed: The options of every fit.

    Raises:
        UserError: There is such an option; the message names the study's own setting to use.
    """
    added = False
    for option in options_of(typed):
        shown = option.pieces[0].partition("=")[0]
        if option.name == "trainer.callbacks" and option.adds:
            _check_added(option)
            added = True
        elif option.name.startswith("trainer.callbacks.") and added:
            # Of the callback that was added last.
            continue
        elif instead := _instead(option.name):
            raise UserError(f"--options has {shown}, which the study sets itself in each run; {instead}.")
        elif option.name in _GROUPS:
            raise UserError(
                f"--options has {shown} as a whole, and the study sets some of it itself in each run; give its "
                f"settings one by one, such as --model.dropout=0.2."
            )


def _instead(name: str) -> str | None:
    """Return what to give in place of a setting of the study, or of a part of one."""
    return next((text for own, text in INSTEAD.items() if name == own or name.startswith(f"{own}.")), None)


def _check_added(option: Option) -> None:
    try:
        value = yaml.safe_load(option.value)
    except yaml.YAMLError:
        # The parser of fit refuses it.
        return
    if changing := [name for name in _class_names(value) if name in CHANGING]:
        raise UserError(
            f"--options adds {changing[0]} to every run, the base models and the controls too; say by --arms what is "
            "changed."
        )


def _class_names(value: Any) -> Iterator[str]:
    """Yield the names of the classes in a list of callbacks, one of them, or the name of one."""
    if isinstance(value, str):
        yield value.rpartition(".")[2]
    elif isinstance(value, dict):
        yield from _class_names(value.get("class_path"))
    elif isinstance(value, list):
        for each in value:
            yield from _class_names(each)
