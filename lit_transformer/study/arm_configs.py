"""The whole configuration that each run of a study is trained with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lit_transformer.components import select
from lit_transformer.errors import UserError
from lit_transformer.importance.matching import Structure
from lit_transformer.study.arms import SCRATCH, THESEUS, TRAINED, Arm, Base, Chosen, rule_of_thumb
from lit_transformer.study.study_settings import StudySettings
from lit_transformer.training.recipe import replay_start


def allowed(settings: StudySettings, structure: Structure) -> list[str]:
    """Return the components that may be chosen.

    Raises:
        UserError: A selector matches nothing, or there are not so many.
    """
    found = select(settings.components or ["*"], structure.components)
    if settings.count is not None and settings.count > len(found):
        raise UserError(
            f"--count is {settings.count}, but there are {len(found)} components to choose from "
            f"({', '.join(found)}); choose fewer."
        )
    return found


def scores_folder(settings: StudySettings, base: Base) -> Path:
    """Return where the scores are: a group ablation of some components never stands with the scores of all."""
    partial = settings.by == "group_ablation" and len(allowed(settings, base.structure)) < len(
        base.structure.components
    )
    return base.analysis / "selected" if partial else base.analysis


def base_config(settings: StudySettings, given: Mapping[str, Any], key: str, seed: int) -> dict[str, Any]:
    """Return the configuration of a base model: the given one, with a seed and a place of its own.

    Args:
        settings: Settings of the study.
        given: The content of `StudySettings.base_config`.
        key: Name of the stage, which is that of the run.
        seed: Its seed.
    """
    return _merged(given, {**_place(settings, key, seed), "checkpoint": {"average": settings.average}})


def arm_config(settings: StudySettings, arm: Arm, base: Base, chosen: Chosen, key: str, draw: int) -> dict[str, Any]:
    """Return the whole configuration of an arm: that of the base, but for how arms are trained and what it is about.

    Args:
        settings: Settings of the study.
        arm: The arm.
        base: The model that it starts from.
        chosen: What is decided for the whole study.
        key: Name of the stage, which is that of the run.
        draw: Seed of a random choice.
    """
    config = {name: value for name, value in base.config.items() if name not in ("ckpt_path", "start_from")}
    # The sizes come from the tokenizer, and are no settings; what is pruned is in the checkpoint.
    model = {name: value for name, value in config["model"].items() if not name.endswith("_vocab_size")}
    model |= {"pruned": list(base.structure.pruned), "feed_forward_sizes": dict(base.structure.feed_forward_sizes)}
    return _merged({**config, "model": model}, _changes(settings, arm, base, chosen, key, draw))


def _changes(settings: StudySettings, arm: Arm, base: Base, chosen: Chosen, key: str, draw: int) -> dict[str, Any]:
    epochs = settings.finetune_epochs
    model: dict[str, Any] = {"schedule_start": 0}
    if arm.family == SCRATCH:
        epochs += int(base.config["trainer"]["max_epochs"])
    elif arm.name == "lr_rewound":
        assert chosen.updates is not None
        model["schedule_start"] = replay_start(base.updates, chosen.updates)
    if arm.family == TRAINED:
        own = arm.name == "lr_rewound"
        model["learning_rate"] = base.learning_rate if own else chosen.learning_rate
        model["warmup_steps"] = base.warmup_steps if own else settings.warmup_steps
    if arm.name == "shallow":
        assert chosen.layers is not None
        model["decoder_layers"] = base.structure.decoder_layers - chosen.layers
    place = _place(settings, key, base.seed)
    return {
        **place,
        "trainer": {
            **place["trainer"],
            "max_epochs": epochs,
            "max_steps": -1,
            "max_time": None,
            "val_check_interval": 1.0 / settings.validations_per_epoch,
            "check_val_every_n_epoch": 1,
            "default_root_dir": None,
            "callbacks": _callbacks(settings, arm, base, chosen, draw),
        },
        "model": model,
        "checkpoint": {"average": settings.average},
        "early_stopping": {"patience": None},
        "samples": {"count": 0},
    }


def _place(settings: StudySettings, key: str, seed: int) -> dict[str, Any]:
    return {
        "name": key,
        "runs_dir": str(settings.path / "runs"),
        "seed_everything": seed,
        "trainer": {"accelerator": settings.accelerator, "enable_progress_bar": False},
    }


def _callbacks(settings: StudySettings, arm: Arm, base: Base, chosen: Chosen, draw: int) -> list[dict[str, Any]] | None:
    if arm.callback is None:
        return None
    arguments = {**_selection(settings, arm, base, chosen, draw), **arm.arguments}
    if arm.callback == THESEUS:
        assert chosen.updates is not None
        arguments["until"] = max(chosen.updates // 2, 1)
    return [{"class_path": f"callbacks.{arm.callback}", "init_args": arguments}]


def _selection(settings: StudySettings, arm: Arm, base: Base, chosen: Chosen, draw: int) -> dict[str, Any]:
    assert chosen.count is not None
    if arm.choice == "rule":
        return {"components": rule_of_thumb(allowed(settings, base.structure), chosen.count)}
    if arm.choice == "layers":
        return {"by": "layers", "count": chosen.layers, "scores": str(base.analysis)}
    among: dict[str, Any] = {"components": None, "count": chosen.count}
    if settings.components:
        among["among"] = settings.components
    if arm.choice == "random":
        return {**among, "by": "random", "seed": draw}
    scored = {**among, "scores": str(scores_folder(settings, base))}
    if arm.choice == "matched":
        return {**scored, "by": "random", "match": settings.by, "seed": draw}
    return {**scored, "by": settings.by, "most": arm.choice == "most"}


def _merged(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: _merged(config.get(name) or {}, value) if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    return {**config, **both}
