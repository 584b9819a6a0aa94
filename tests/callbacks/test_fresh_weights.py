"""Fresh weights, as a control, are never those that a run began with, however it came by these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from torch import Tensor

from callbacks import ComponentPruning, ComponentRewinding, CriticalityScore, InitialWeights, LastCheckpoint
from callbacks.component_change import ComponentChange
from lit_transformer.model.seeded import redrawn
from lit_transformer.training import analysis
from lit_transformer.training.initial_weights import initial_weights_of
from tests.callbacks.conftest import Setup
from tests.callbacks.test_pruning import LAYERS, Before, parent_of

REWOUND = ("encoder.layers.1.ff", "decoder.layers.0.sa")
CHANGES = ("pruning", "rewinding")


def change_of(name: str, pruned: list[str]) -> ComponentChange:
    if name == "rewinding":
        return ComponentRewinding(components=["e:ff:2", "d:sa:1"], to="random")
    return ComponentPruning(components=["e:sa:1" if pruned else "d:ff:2"], init="random")


def train(setup: Setup, *callbacks: Any, parent: Setup | None = None, **options: Any) -> Before:
    """Train for a step, and return the model with the weights that it began with."""
    module = Before(**dict(setup.module(**LAYERS, **options).hparams))
    trainer = setup.trainer([*callbacks, InitialWeights(), LastCheckpoint()], max_steps=1)
    trainer.fit(module, datamodule=setup.data(), start_from=None if parent is None else parent_of(parent, "last"))
    return module


@pytest.fixture(scope="module")
def chains(setups: Callable[[], Setup]) -> dict[str, tuple[Setup, list[str]]]:
    """Runs that began with fresh weights, and what each lacks."""
    whole = setups()
    train(whole)
    made = {"nothing": (whole, list[str]())}
    for name in CHANGES:
        made[name] = (setups(), ["d:ff:2"] if name == "pruning" else [])
        train(made[name][0], change_of(name, []), parent=whole)
    return made


def matrices(weights: Mapping[str, Tensor]) -> dict[str, list[float]]:
    """Biases and norms are the same in every new model."""
    return {name: tensor.flatten().tolist() for name, tensor in weights.items() if tensor.dim() > 1}


@pytest.mark.parametrize("first", ["nothing", *CHANGES])
@pytest.mark.parametrize("second", CHANGES)
def test_after_one_another(
    first: str, second: str, chains: dict[str, tuple[Setup, list[str]]], setup: Setup, setups: Callable[[], Setup]
) -> None:
    parent, pruned = chains[first]
    initial = matrices(initial_weights_of(parent_of(parent, "last")))
    began = matrices(train(setup, change_of(second, pruned), parent=parent, pruned=pruned).weights)
    fresh = [name for name in began if second == "pruning" or name.startswith(REWOUND)]
    assert len(fresh) > 2
    assert {name for name in fresh if began[name] == initial[name]} == set()
    # The same run again begins with the same weights.
    again = train(setups(), change_of(second, pruned), parent=parent, pruned=pruned)
    assert matrices(again.weights) == began


@pytest.mark.parametrize("first", ["nothing", *CHANGES])
def test_of_criticality(
    first: str, chains: dict[str, tuple[Setup, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, pruned = chains[first]
    drawn: list[dict[str, Tensor]] = []

    def noted(*given: Any) -> dict[str, Tensor]:
        drawn.append(redrawn(*given))
        return drawn[-1]

    monkeypatch.setattr(analysis, "redrawn", noted)
    initial = matrices(initial_weights_of(parent_of(parent, "last")))
    scorer = CriticalityScore(components=["d:sa:1"], variant="rerandomize", draws=2)
    trainer = parent.trainer([scorer], logger=False)
    trainer.analyze(parent.module(**LAYERS, pruned=pruned), parent.data(), parent_of(parent, "last"))
    # Each is made as often as it is asked for.
    assert len({str(matrices(weights)) for weights in drawn}) == 2
    for weights in map(matrices, drawn):
        assert {name for name in weights if weights[name] == initial[name]} == set()
