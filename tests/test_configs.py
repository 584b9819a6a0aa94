"""The configurations that come with the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import callbacks
from callbacks.component_change import ComponentChange

CONFIGS = {
    path.stem: yaml.safe_load(path.read_text()) for path in (Path(__file__).parents[1] / "configs").glob("*.yaml")
}

ABOUT = {"lr_rewind": {"learning_rate", "warmup_steps", "schedule_start"}}
"""What each is about, and so need not have in common with the others."""


def goes_on(config: dict[str, Any]) -> bool:
    """Whether a configuration is for a run that goes on from a trained model."""
    names = [each["class_path"].rpartition(".")[2] for each in config.get("trainer", {}).get("callbacks") or []]
    # That one is trained from scratch.
    changes = [getattr(callbacks, name) for name in names if name != "ShallowDecoder"]
    return "start_from" in config or any(issubclass(each, ComponentChange) for each in changes)


GOING_ON = sorted(name for name, config in CONFIGS.items() if goes_on(config))


def test_which_go_on_from_a_trained_model() -> None:
    assert GOING_ON == ["continue", "lr_rewind", "prune", "rewind", "theseus", "theseus_layers"]


@pytest.mark.parametrize("name", GOING_ON)
def test_they_agree_in_how_they_train_it(name: str) -> None:
    """Or else they could not be compared with their control."""
    control = CONFIGS["continue"]["model"]
    assert control["layer_drop"] == {}
    own, about = CONFIGS[name]["model"], ABOUT.get(name, set())
    assert {each: value for each, value in own.items() if each not in about} == {
        each: value for each, value in control.items() if each not in about
    }
    assert CONFIGS[name]["trainer"]["max_epochs"] == CONFIGS["continue"]["trainer"]["max_epochs"]
