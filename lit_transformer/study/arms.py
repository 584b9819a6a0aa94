"""The arms of a study: what each one changes, and the whole configuration that it is trained with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lit_transformer.components import layer_of, select
from lit_transformer.errors import UserError
from lit_transformer.importance.matching import Structure
from lit_transformer.recipe import replay_start

if TYPE_CHECKING:
    from lit_transformer.study.settings import StudySettings

TRAINED, SCRATCH = "trained", "scratch"
FAMILIES = (TRAINED, SCRATCH)
CONTROL = {TRAINED: "continued", SCRATCH: "full"}
RULE_OF_THUMB = ("d:sa", "d:ea", "e:sa", "e:ff", "d:ff")
"""Kinds in the order in which the rule of thumb takes them, after the findings of the paper (method.md 1.6)."""

PRUNING, REWINDING, THESEUS = "ComponentPruning", "ComponentRewinding", "Theseus"
Choice = Literal["scores", "most", "random", "matched", "rule", "layers"]


@dataclass(frozen=True)
class Arm:
    """One way to go on from a trained model, or to train one.

    Args:
        name: Its name.
        family: ``trained`` (F epochs from the trained model) or ``scratch`` (T + F epochs from initial weights).
        about: What it does, in a line.
        callback: The callback that changes components.
        choice: How these are chosen.
        arguments: Further arguments of the callback.
        starts: Whether it reads the trained model, if only to know its scores or its initial weights.
        needs_updates: Whether it has to know how many updates the control makes.
    """

    name: str
    family: str
    about: str
    callback: str | None = None
    choice: Choice | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    starts: bool = True
    needs_updates: bool = False

    @property
    def is_random(self) -> bool:
        """Whether it is a random choice, of which there may be several."""
        return self.choice in ("random", "matched")

    @property
    def needs_scores(self) -> bool:
        """Whether it reads the scores of the components."""
        return self.choice in ("scores", "most", "matched")

    @property
    def needs_count(self) -> bool:
        """Whether it has to know how many components or layers are chosen."""
        return self.choice is not None or self.name == "shallow"


ARMS = (
    Arm("continued", TRAINED, "trained on as it is: the control"),
    Arm("pruned", TRAINED, "without the least important components", PRUNING, "scores"),
    Arm("random", TRAINED, "without random components", PRUNING, "random"),
    Arm("random_matched", TRAINED, "without random components of the same kinds", PRUNING, "matched"),
    Arm("most", TRAINED, "without the most important components", PRUNING, "most"),
    Arm("rule_of_thumb", TRAINED, "without the lowest decoder self-attention", PRUNING, "rule"),
    Arm("shallow_cut", TRAINED, "without the whole decoder layers that cost least", PRUNING, "layers"),
    Arm("rewound", TRAINED, "least important components at initial weights", REWINDING, "scores", {"to": "initial"}),
    Arm("rerandomized", TRAINED, "least important components at fresh weights", REWINDING, "scores", {"to": "random"}),
    Arm("lr_rewound", TRAINED, "trained on at the end of the first schedule", needs_updates=True),
    Arm(
        "theseus",
        TRAINED,
        "least important components go bit by bit",
        THESEUS,
        "scores",
        {"successor": "none"},
        needs_updates=True,
    ),
    Arm("full", SCRATCH, "the whole model: the control", starts=False),
    Arm("pruned_initial", SCRATCH, "pruned, from its initial weights", PRUNING, "scores", {"init": "initial"}),
    Arm("pruned_random_weights", SCRATCH, "pruned, from fresh weights", PRUNING, "scores", {"init": "random"}),
    Arm("random", SCRATCH, "pruned at random, from fresh weights", PRUNING, "random", {"init": "random"}),
    Arm("shallow", SCRATCH, "fewer decoder layers", starts=False),
)


def arms_of(family: str) -> dict[str, Arm]:
    """Return the arms of a family, by name."""
    return {arm.name: arm for arm in ARMS if arm.family == family}


@dataclass(frozen=True)
class Base:
    """A trained model that arms start from.

    Args:
        run: Folder of its run.
        checkpoint: The checkpoint that arms start from.
        seed: Its seed.
        structure: Its structure.
        config: The whole configuration that it was trained with.
        updates: Optimizer steps that the checkpoint has behind it.
        learning_rate: Peak learning rate.
        warmup_steps: Steps of warm-up.
        weights: Digest of the checkpoint's weights, that of its scores too.
    """

    run: Path
    checkpoint: Path
    seed: int
    structure: Structure
    config: Mapping[str, Any]
    updates: int
    learning_rate: float
    warmup_steps: int
    weights: str = ""

    @property
    def analysis(self) -> Path:
        """Folder of its scores."""
        return self.run / "analysis" / self.checkpoint.stem


@dataclass(frozen=True)
class Chosen:
    """What is decided once for a whole study.

    Args:
        count: How many components are chosen.
        layers: How many decoder layers weigh as much.
        learning_rate: Peak learning rate of the arms from the trained model.
        updates: Optimizer steps of the control of these.
    """

    count: int | None = None
    layers: int | None = None
    learning_rate: float | None = None
    updates: int | None = None


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


def rule_of_thumb(components: Sequence[str], count: int) -> list[str]:
    """Return components that are chosen without any score: self-attention of the lowest decoder layers first.

    When there is no more of it, attention to the encoder follows, again from the lowest layer up, but for the highest
    one, then what is left in the order of `RULE_OF_THUMB`.

    Args:
        components: Ids of those that may be chosen.
        count: How many.

    Example:
        >>> rule_of_thumb(["d:sa:1", "d:sa:2", "d:ea:1", "d:ea:2", "d:ff:1"], 4)
        ['d:sa:1', 'd:sa:2', 'd:ea:1', 'd:ff:1']
    """
    highest = max((layer_of(name) for name in components if name.startswith("d:ea:")), default=0)
    order = [
        name
        for kind in RULE_OF_THUMB
        for name in sorted(components, key=layer_of)
        if name.startswith(f"{kind}:") and name != f"d:ea:{highest}"
    ]
    return order[:count]


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
    among = {"components": settings.components, "count": chosen.count}
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
