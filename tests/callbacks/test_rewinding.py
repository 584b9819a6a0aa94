from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from callbacks import BestLossCheckpoint, ComponentRewinding, InitialWeights, KeptCheckpoints, LastCheckpoint
from lit_transformer.errors import UserError
from lit_transformer.model import fresh_seed
from lit_transformer.model.seeded import redrawn
from lit_transformer.model.surgery import component_parameters
from lit_transformer.training.initial_weights import initial_weights_digest, initial_weights_of
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.callbacks.test_pruning import LAYERS, parent_of, prune
from tests.end_to_end.running import load, same_tensors

CHOSEN = ["d:sa:1", "e:ff:2"]


class Watched(LitTransformer):
    """Looks at the weights and the optimizer before the first step."""

    weights: dict[str, Tensor]

    def on_train_start(self) -> None:
        super().on_train_start()
        self.weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        self.state = len(self.trainer.optimizers[0].state)
        self.rate = self.trainer.optimizers[0].param_groups[0]["lr"]


@pytest.fixture(scope="module")
def parent(setups: Callable[[], Setup]) -> Setup:
    """A trained model; nothing may change it."""
    setup = setups()
    kept = [InitialWeights(), BestLossCheckpoint(), KeptCheckpoints([3, 100]), LastCheckpoint()]
    trainer = setup.trainer(kept, max_steps=20, val_check_interval=20)
    trainer.fit(setup.module(learning_rate=0.02, **LAYERS), datamodule=setup.data())
    return setup


def rewind(setup: Setup, parent: Setup, steps: int = 2, **options: Any) -> Watched:
    module = Watched(**dict(setup.module(**LAYERS).hparams))
    callback = ComponentRewinding(**{"components": CHOSEN, **options})
    trainer = setup.trainer([callback, InitialWeights(), LastCheckpoint()], max_steps=steps)
    trainer.fit(module, datamodule=setup.data(), start_from=parent_of(parent))
    return module


def weights(setup: Setup, name: str = "best-loss") -> dict[str, Tensor]:
    state = load(setup.folder / f"checkpoints/{name}.ckpt")["state_dict"]
    return {name.removeprefix("network."): tensor for name, tensor in state.items()}


def names(module: LitTransformer, include_norm: bool = False) -> set[str]:
    return {name for chosen in CHOSEN for name in component_parameters(module.network, chosen, include_norm)}


@pytest.mark.parametrize("include_norm", [False, True])
def test_rewound_is_initial_bit_for_bit_and_the_others_are_trained(
    parent: Setup, setup: Setup, include_norm: bool
) -> None:
    module = rewind(setup, parent, include_norm=include_norm)
    initial, trained = initial_weights_of(parent_of(parent)), weights(parent)
    rewound = names(module, include_norm)
    expected = {name: initial[name] if name in rewound else trained[name] for name in trained}
    assert same_tensors(module.weights, expected)
    assert not same_tensors(expected, trained)


def test_optimizer_and_schedule_are_fresh(parent: Setup, setup: Setup) -> None:
    module = rewind(setup, parent)
    assert module.state == 0
    assert module.rate == pytest.approx(module.hparams["learning_rate"] / module.hparams["warmup_steps"])


def test_to_fresh_weights(parent: Setup, setup: Setup) -> None:
    module = rewind(setup, parent, to="random")
    initial = initial_weights_of(parent_of(parent))
    for place, component in enumerate(CHOSEN[::-1]):
        seed = fresh_seed("rewinding", 1, place, initial_weights_digest(parent_of(parent)))
        fresh = redrawn(module.network.config, component, seed)
        for name in component_parameters(module.network, component):
            assert torch.equal(module.weights[name], fresh[name])
            assert not name.endswith("weight") or not torch.equal(fresh[name], initial[name])
    # What was drawn anew began in this run, and the rest in the parent's.
    mine, rewound = initial_weights_of(parent_of(setup, "last")), names(module)
    assert same_tensors(mine, {n: module.weights[n] if n in rewound else initial[n] for n in initial})


def test_to_an_early_checkpoint(parent: Setup, setup: Setup) -> None:
    module = rewind(setup, parent, to="step:3")
    early, trained = weights(parent, "step-3"), weights(parent)
    rewound = names(module)
    assert same_tensors(module.weights, {n: early[n] if n in rewound else trained[n] for n in trained})
    # A later analysis or rewinding of this run knows where its components began.
    assert same_tensors(initial_weights_of(parent_of(setup, "last")), initial_weights_of(parent_of(parent)))
    with pytest.raises(UserError, match=r"no step-7.ckpt in .* \(there: step-3\)"):
        rewind(setup, parent, to="step:7")


def test_only_the_rewound_components_learn(parent: Setup, setup: Setup) -> None:
    module = rewind(setup, parent, only_rewound=True)
    rewound = names(module)
    for name, tensor in module.network.state_dict().items():
        assert torch.equal(tensor, module.weights[name]) == (name not in rewound), name


def test_a_resumed_run_is_not_rewound_again(parent: Setup, setup: Setup) -> None:
    rewind(setup, parent, only_rewound=True)
    before = weights(setup, "last")
    module = Watched(**dict(setup.module(**LAYERS).hparams))
    callback = ComponentRewinding(components=CHOSEN, only_rewound=True)
    trainer = setup.trainer([callback, InitialWeights(), LastCheckpoint()], max_steps=4)
    trainer.fit(module, datamodule=setup.data(), ckpt_path=parent_of(setup, "last"))
    assert same_tensors(module.weights, before)
    rewound = names(module)
    for name, tensor in module.network.state_dict().items():
        assert torch.equal(tensor, before[name]) == (name not in rewound), name


@pytest.mark.parametrize("changed", [{"to": "random"}, {"only_rewound": True}, {"include_norm": True}], ids=str)
def test_a_resumed_run_with_another_way(parent: Setup, setup: Setup, changed: dict[str, Any]) -> None:
    rewind(setup, parent)
    callback = ComponentRewinding(components=CHOSEN, **changed)
    trainer = setup.trainer([callback, InitialWeights(), LastCheckpoint()], max_steps=4)
    with pytest.raises(UserError, match=f"begun with {next(iter(changed))}"):
        trainer.fit(setup.module(**LAYERS), datamodule=setup.data(), ckpt_path=parent_of(setup, "last"))


def test_what_is_written(parent: Setup, setup: Setup) -> None:
    rewind(setup, parent)
    record = json.loads((setup.folder / "rewinding.json").read_text())
    assert record["components"] == ["e:ff:2", "d:sa:1"]
    assert record["to"] == "initial"
    assert 0.0 <= record["bleu_before"] <= 100.0


def test_a_step_is_a_number(parent: Setup, setup: Setup) -> None:
    assert ComponentRewinding(components=CHOSEN, to="step:0500").to == "step:500"
    module = rewind(setup, parent, to="step:03")
    early, rewound = weights(parent, "step-3"), names(module)
    assert same_tensors({n: module.weights[n] for n in rewound}, {n: early[n] for n in rewound})


def test_back_is_not_forward(parent: Setup, setups: Callable[[], Setup]) -> None:
    early = parent_of(parent, "step-3")
    for to in ("step:3", "step:4"):
        setup = setups()
        callback = ComponentRewinding(components=CHOSEN, to=to)
        trainer = setup.trainer([callback, LastCheckpoint()], max_steps=1)
        if to == "step:3":
            trainer.fit(setup.module(**LAYERS), datamodule=setup.data(), start_from=early)
            continue
        with pytest.raises(UserError, match=r"to is 'step:4', but .*step-3.ckpt' is at step 3.*not back"):
            trainer.fit(setup.module(**LAYERS), datamodule=setup.data(), start_from=early)


class TestBadInput:
    def test_without_initial_weights(self, setups: Callable[[], Setup]) -> None:
        first, second = setups(), setups()
        first.trainer([BestLossCheckpoint()], max_steps=2).fit(first.module(**LAYERS), datamodule=first.data())
        with pytest.raises(UserError, match=r"callbacks\.InitialWeights"):
            rewind(second, first)

    def test_what_was_pruned(self, parent: Setup, setups: Callable[[], Setup]) -> None:
        first, second = setups(), setups()
        prune(first, parent, components=["d:sa:1"])
        module = second.module(**LAYERS, pruned=["d:sa:1"])
        callback = ComponentRewinding(components=["d:sa:1"])
        with pytest.raises(UserError, match="'d:sa:1' matches nothing"):
            second.trainer([callback]).fit(module, datamodule=second.data(), start_from=parent_of(first, "last"))

    def test_without_a_trained_model(self, setup: Setup) -> None:
        with pytest.raises(UserError, match="give --start_from RUN"):
            setup.trainer([ComponentRewinding(components=["d:sa"])]).fit(setup.module(), datamodule=setup.data())

    @pytest.mark.parametrize("to", ["start", "step:", "step:x", "step:0", "step:00", "step:-1", "step:²", "step:1.5"])
    def test_rewound_to_nowhere(self, to: str) -> None:
        with pytest.raises(UserError, match="give initial, random, or step:N"):
            ComponentRewinding(components=["d:sa"], to=to)
