from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lit_transformer.study.arm_configs import arm_config
from lit_transformer.study.arms import ARMS, CONTROL, SCRATCH, TRAINED, Arm, Chosen, arms_of
from lit_transformer.study.study_settings import StudySettings
from tests.study.making import base_of, settings_of

CHOSEN = Chosen(count=3, layers=1, learning_rate=5e-4, updates=100)


def config_of(name: str, family: str = TRAINED, **options: Any) -> dict[str, Any]:
    settings = settings_of(**options)
    return arm_config(settings, arms_of(family)[name], base_of(seed=7), CHOSEN, "key", 7001)


def change(name: str, family: str = TRAINED, **options: Any) -> tuple[str, dict[str, Any]]:
    (callback,) = config_of(name, family, **options)["trainer"]["callbacks"]
    return callback["class_path"].removeprefix("callbacks."), callback["init_args"]


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in config.items():
        nested = isinstance(value, dict) and value
        found |= flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value}
    return found


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: f"{arm.family}-{arm.name}")
def test_an_arm_differs_from_its_control_in_nothing_but_what_it_is_about(arm: Arm) -> None:
    control, own = flat(config_of(CONTROL[arm.family], arm.family)), flat(config_of(arm.name, arm.family))
    differing = {name for name in control.keys() | own.keys() if control.get(name) != own.get(name)}
    about = {
        "lr_rewound": {"model.learning_rate", "model.warmup_steps", "model.schedule_start"},
        "shallow": {"model.decoder_layers"},
        CONTROL[arm.family]: set(),
    }
    assert differing == about.get(arm.name, {"trainer.callbacks"})


def test_everything_else_is_the_bases_own() -> None:
    base, control = flat(dict(base_of(seed=7).config)), flat(config_of("continued"))
    changed = {name for name in base.keys() | control.keys() if base.get(name) != control.get(name)}
    assert changed == {
        "name",
        "runs_dir",
        "seed_everything",
        "trainer.max_epochs",
        "trainer.val_check_interval",
        "trainer.check_val_every_n_epoch",
        "trainer.enable_progress_bar",
        "trainer.accelerator",
        "trainer.callbacks",
        "model.learning_rate",
        "model.warmup_steps",
        "model.schedule_start",
        "model.pruned",
        "model.feed_forward_sizes",
        "checkpoint.average",
        "early_stopping.patience",
        "samples.count",
    }


def test_a_base_that_names_its_own_start_and_sizes_hands_neither_on() -> None:
    base = base_of(seed=7)
    model = {**base.config["model"], "source_vocab_size": None, "target_vocab_size": 90, "pruned": None}
    config = {**base.config, "model": model, "start_from": "x.ckpt", "ckpt_path": None}
    pruned = replace(base, config=config, structure=replace(base.structure, pruned=("d:sa:1",)))
    made = arm_config(settings_of(), arms_of(TRAINED)["continued"], pruned, CHOSEN, "key", 0)
    assert not made.keys() & {"start_from", "ckpt_path"}
    assert not made["model"].keys() & {"source_vocab_size", "target_vocab_size"}
    assert made["model"]["pruned"] == ["d:sa:1"]


def test_families_are_trained_as_long_as_they_should() -> None:
    trained, scratch = config_of("continued"), config_of("full", SCRATCH)
    assert trained["trainer"]["max_epochs"] == 2
    assert (trained["model"]["learning_rate"], trained["model"]["warmup_steps"]) == (5e-4, 20)
    # Five of the base and two more, with the base's recipe.
    assert scratch["trainer"]["max_epochs"] == 7
    assert (scratch["model"]["learning_rate"], scratch["model"]["warmup_steps"]) == (3e-3, 200)
    for config in (trained, scratch):
        assert config["seed_everything"] == 7
        assert config["checkpoint"] == {"average": 2, "every_n_steps": None}
        assert config["trainer"]["callbacks"] is None
        assert config["trainer"]["max_steps"] == -1


def test_a_time_limit_of_the_base_is_none_of_the_arms() -> None:
    # They would stop by the clock, each after steps of another number.
    config = base_of(seed=7).config
    base = replace(base_of(seed=7), config={**config, "trainer": {**config["trainer"], "max_time": "00:00:30:00"}})
    for arm in ARMS:
        assert arm_config(settings_of(), arm, base, CHOSEN, "key", 0)["trainer"]["max_time"] is None


def test_what_each_arm_removes_or_rewinds() -> None:
    scores = str(base_of(seed=7).analysis)
    among = {"components": None, "count": 3}
    least = {**among, "scores": scores, "by": "contribution", "most": False}
    assert change("pruned") == ("ComponentPruning", least)
    assert change("most") == ("ComponentPruning", {**least, "most": True})
    assert change("random") == ("ComponentPruning", {**among, "by": "random", "seed": 7001})
    matched = {**among, "scores": scores, "by": "random", "match": "contribution", "seed": 7001}
    assert change("random_matched") == ("ComponentPruning", matched)
    assert change("rule_of_thumb") == ("ComponentPruning", {"components": ["d:sa:1", "d:sa:2", "d:sa:3"]})
    assert change("shallow_cut") == ("ComponentPruning", {"by": "layers", "count": 1, "scores": scores})
    assert change("rewound") == ("ComponentRewinding", {**least, "to": "initial"})
    assert change("rerandomized") == ("ComponentRewinding", {**least, "to": "random"})
    assert change("theseus") == ("Theseus", {**least, "successor": "none", "until": 50})
    assert change("pruned_initial", SCRATCH) == ("ComponentPruning", {**least, "init": "initial"})
    assert change("pruned_random_weights", SCRATCH) == ("ComponentPruning", {**least, "init": "random"})
    random = {**among, "by": "random", "seed": 7001, "init": "random"}
    assert change("random", SCRATCH) == ("ComponentPruning", random)


def test_learning_rate_rewinding_replays_the_end_of_the_first_schedule() -> None:
    model = config_of("lr_rewound")["model"]
    # The base made 720 steps, the control makes 100.
    assert (model["learning_rate"], model["warmup_steps"], model["schedule_start"]) == (3e-3, 200, 620)
    assert config_of("continued")["model"]["schedule_start"] == 0


def test_a_shallow_model_has_fewer_layers() -> None:
    assert config_of("shallow", SCRATCH)["model"]["decoder_layers"] == 5


def test_scores_of_a_group_ablation_of_some_components_lie_apart() -> None:
    analysis = base_of(seed=7).analysis
    some = change("pruned", by="group_ablation", components=["d:*"])
    assert some[1]["scores"] == str(analysis / "selected")
    assert change("pruned", by="group_ablation")[1]["scores"] == str(analysis)
    assert change("pruned", components=["d:*"])[1]["scores"] == str(analysis)


def test_components_of_a_study_are_those_that_may_be_chosen() -> None:
    for name in ("pruned", "random"):
        options = change(name, components=["d:*"])[1]
        assert (options["among"], options["components"], options["count"]) == (["d:*"], None, 3)


def test_the_settings_of_the_tests_are_sound() -> None:
    assert isinstance(settings_of(), StudySettings)
    assert base_of(1).analysis == Path("runs/1/analysis/average")
