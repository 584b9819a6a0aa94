from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import callbacks
from callbacks.component_change import ComponentChange
from lit_transformer.errors import UserError
from lit_transformer.study.arm_configs import arm_config, base_config
from lit_transformer.study.arms import ARMS, Chosen
from lit_transformer.study.options import CHANGING, HARMLESS, INSTEAD, STRUCTURAL, check_options, without
from lit_transformer.study.study_settings import StudySettings
from tests.study.making import base_of, settings_of

# What no arm sets, but that would make its run another one.
NOT_IN_A_CONFIG = {"config", "ckpt_path", "start_from"}


def flat(config: dict[str, Any], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, value in config.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {f"{prefix}{name}"}
    return found


def set_by_the_study() -> set[str]:
    """Every setting that the configuration of a base model or an arm has, where what it is made from leaves it open."""
    model = {"pruned": None, "feed_forward_sizes": None}
    base = replace(base_of(1), config={"trainer": {"max_epochs": 5}, "model": model})
    chosen = Chosen(3, 1, 5e-4, 100)
    names = flat(base_config(settings_of(), {}, "key", 1))
    for arm in ARMS:
        names |= flat(arm_config(settings_of(), arm, base, chosen, "key", 1))
    return names


def test_every_setting_of_the_studys_own_is_guarded() -> None:
    assert set_by_the_study() == {*INSTEAD, *HARMLESS, *STRUCTURAL} - NOT_IN_A_CONFIG


def test_every_callback_that_is_what_an_arm_is_about_is_known() -> None:
    made = {name for name, each in inspect.getmembers(callbacks, inspect.isclass) if issubclass(each, ComponentChange)}
    assert set(CHANGING) == made | {"LearningRateRewinding"}


@pytest.mark.parametrize("name", INSTEAD)
@pytest.mark.parametrize("spelling", ["--{}=7", "--{} 7", "--data.dir x --{}=7", "--{}", "--{}.part=7"])
def test_what_the_study_sets_itself_is_refused_in_every_spelling(name: str, spelling: str) -> None:
    typed = spelling.format(name).split()
    with pytest.raises(UserError, match=f"--options has --{name}.*; (give|say|have) ") as refused:
        settings_of(options=typed)
    assert "\n" not in str(refused.value)
    # Each names a setting that a study has.
    told = {word.strip(",.").removeprefix("--") for word in str(refused.value).split(";")[1].split() if "--" in word}
    assert told & StudySettings.__dataclass_fields__.keys()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["-c", "other.yaml"], "has -c,"),
        (["--model", "{learning_rate: 1.0}"], "has --model as a whole"),
        (["--trainer={callbacks: null}"], "has --trainer as a whole"),
        (["--trainer.callbacks=callbacks.GradientNorm"], r"has --trainer.callbacks,.*--arms"),
        (["--trainer.callbacks.count=5"], "has --trainer.callbacks.count"),
        (["--trainer.callbacks.count=5", "--trainer.callbacks+=callbacks.GradientNorm"], "callbacks.count"),
        (["--trainer.callbacks+=callbacks.ComponentPruning"], "adds ComponentPruning to every run"),
        (["--trainer.callbacks+", "[{class_path: callbacks.Theseus, init_args: {count: 1}}]"], "adds Theseus"),
    ],
)
def test_other_ways_to_say_it(typed: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        settings_of(options=typed)


@pytest.mark.parametrize(
    "typed",
    [
        ["--model.dropout=0.2", "--data.dir", "name"],
        ["--trainer.callbacks+=callbacks.SampleTranslations", "--trainer.callbacks.count=2"],
        ["--trainer.limit_train_batches=20", "--model.decoder_layers=3", "--samples.count=0"],
        ["--model.learning_rate_like=1"],
    ],
)
def test_what_is_left_to_the_options(typed: list[str]) -> None:
    check_options(typed)


def test_those_of_the_shipped_studies_are_allowed() -> None:
    for path in (Path(__file__).parents[2] / "configs").glob("study_*.yaml"):
        check_options(yaml.safe_load(path.read_text(encoding="utf-8"))["options"])


def test_a_command_line_without_some_options() -> None:
    typed = ["--model.decoder_layers", "3", "--a=1", "--model.decoder_layers=4", "--trainer.callbacks+=x"]
    assert without(typed, ["model.decoder_layers"]) == ["--a=1", "--trainer.callbacks+=x"]
