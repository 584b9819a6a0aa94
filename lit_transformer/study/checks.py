"""What is refused before a study runs anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from lit_transformer.errors import UserError
from lit_transformer.structure import ARCHITECTURE, Structure
from lit_transformer.study.arm_configs import allowed
from lit_transformer.study.arms import Base
from lit_transformer.study.options import INSTEAD, options_of
from lit_transformer.study.study_settings import StudySettings

# But for what the study sets itself.
_NAMES = [name for name in ARCHITECTURE if f"model.{name}" not in INSTEAD]


def named_structure(base_config: Mapping[str, Any], options: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the structure that a configuration and options name.

    Args:
        base_config: The settings of a configuration.
        options: As they are typed, ``--model.d_model 64`` in one piece or two.
    """
    found = {name: value for name, value in (base_config.get("model") or {}).items() if name in _NAMES}
    for option in options_of(options):
        name = option.name.removeprefix("model.")
        if option.name.startswith("model.") and name in _NAMES:
            found[name] = yaml.safe_load(option.value)
    return {name: value for name, value in found.items() if value is not None}


def check_count(settings: StudySettings, named: Mapping[str, Any]) -> None:
    """Refuse selectors and a count that a model to be trained can't have.

    Args:
        settings: Settings of the study.
        named: Settings of the structure that are named.

    Raises:
        UserError: A selector matches nothing, or there are not so many components.
    """
    allowed(settings, Structure.of(named))


def check_bases(settings: StudySettings, bases: Sequence[Base], given: dict[str, object]) -> None:
    """Refuse base models that can't be compared, or not trained on as asked, before anything is run.

    Args:
        settings: Settings of the study.
        bases: The base models of `StudySettings.base_runs`.
        given: Settings of the structure that the base configuration and the options name.

    Raises:
        UserError: They have another structure than each other or than the configuration, or the same seed, or too few
            components.
    """
    for base in bases:
        for name, value in given.items():
            has = getattr(base.structure, name)
            if value != has:
                raise UserError(
                    f"--base_runs has {str(base.run)!r} with {name} {has!r}, but --base_config gives {value!r}; give "
                    "the configuration that it was trained with, or leave --base_config out."
                )
        if base.structure.differences(bases[0].structure):
            raise UserError(
                f"--base_runs has {str(base.run)!r} and {str(bases[0].run)!r}, which have different structures; give "
                "runs that differ in their seed alone."
            )
        allowed(settings, base.structure)
        if settings.scratch_arms and (base.config["trainer"].get("max_steps") or -1) > 0:
            raise UserError(
                f"{str(base.run)!r} was trained for --trainer.max_steps, but arms from scratch are trained for its "
                "epochs and the fine-tuning's; leave --scratch_arms out, or give a run that was trained for epochs."
            )
    if len({base.seed for base in bases}) < len(bases):
        raise UserError(
            "--base_runs has two runs of one seed, but the unit of a claim is the seed; give runs of different seeds."
        )
