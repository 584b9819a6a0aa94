"""The arms of a study: what each one does to a model, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lit_transformer.components import layer_of
from lit_transformer.structure import Structure

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
