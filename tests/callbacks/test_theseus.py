from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from callbacks import BestLossCheckpoint, InitialWeights, LastCheckpoint, Theseus
from lit_transformer.errors import UserError
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.callbacks.test_pruning import LAYERS, parent_of, prune
from tests.end_to_end.running import load, same_tensors


@pytest.fixture(scope="module")
def parent(setups: Callable[[], Setup]) -> Setup:
    """A trained model; nothing may change it."""
    setup = setups()
    trainer = setup.trainer([InitialWeights(), BestLossCheckpoint()], max_steps=20, val_check_interval=20)
    trainer.fit(setup.module(learning_rate=0.02, **LAYERS), datamodule=setup.data())
    return setup


class Watched(LitTransformer):
    """Notes who stands in at each step, and the weights before the first one."""

    def on_train_start(self) -> None:
        super().on_train_start()
        self.first = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        self.noted: list[list[bool]] = []

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        self.noted.append([self.network.sublayer(name).stands_in for name in ("d:ff:1", "d:ff:2")])


def replace(
    setup: Setup, parent: Setup | None, steps: int = 4, resumed: bool = False, structure: Any = None, **options: Any
) -> Watched:
    module = Watched(**dict(setup.module(**LAYERS, dropout=0.0, **(structure or {})).hparams))
    callback = Theseus(**{"components": ["d:ff"], **options})
    trainer = setup.trainer([callback, InitialWeights(), LastCheckpoint()], max_steps=steps)
    if resumed:
        trainer.fit(module, datamodule=setup.data(), ckpt_path=parent_of(setup, "last"))
    else:
        trainer.fit(module, datamodule=setup.data(), start_from=None if parent is None else parent_of(parent))
    return module


def weights(setup: Setup, name: str) -> dict[str, Tensor]:
    state = load(setup.folder / f"checkpoints/{name}.ckpt")["state_dict"]
    return {name.removeprefix("network."): tensor for name, tensor in state.items()}


def test_the_schedules() -> None:
    linear = Theseus(["d:ff"], probability=0.2, until=8)
    assert [linear.replacement.at(step) for step in (0, 4, 8, 9)] == pytest.approx([0.2, 0.6, 1.0, 1.0])
    constant = Theseus(["d:ff"], schedule="constant", probability=0.5, until=8)
    assert [constant.replacement.at(step) for step in (0, 7, 8)] == [0.5, 0.5, 1.0]


def test_at_probability_1_nothing_is_the_pruned_model(parent: Setup, setups: Callable[[], Setup]) -> None:
    first, second = setups(), setups()
    module = replace(first, parent, steps=2, probability=1.0)
    pruned = second.module(**LAYERS, dropout=0.0)
    from callbacks import ComponentPruning

    trainer = second.trainer([ComponentPruning(["d:ff"])], max_steps=2)
    trainer.fit(pruned, datamodule=second.data(), start_from=parent_of(parent))
    assert module.noted == [[False, False]] * 2
    assert same_tensors(module.network.state_dict(), pruned.network.state_dict())


def test_at_probability_1_narrow_successors_are_the_narrow_model(parent: Setup, setups: Callable[[], Setup]) -> None:
    first, second = setups(), setups()
    options: dict[str, Any] = {"successor": "narrow", "size": 8, "learn": "all"}
    module = replace(first, parent, steps=3, probability=1.0, **options)
    start = second.module(**LAYERS, dropout=0.0, feed_forward_sizes={"d:ff:1": 8, "d:ff:2": 8})
    replace(second, parent, steps=1, probability=1.0, until=1, **options)
    # The narrow model by itself, from the weights that the successors began with.
    start.build(100, 100)
    start.network.load_state_dict(module.first)
    trainer = second.trainer([], max_steps=3)
    trainer.fit(start, datamodule=second.data())
    assert same_tensors(start.network.state_dict(), module.network.state_dict())


def test_while_the_predecessors_stand_in_the_model_is_the_trained_one(parent: Setup, setup: Setup) -> None:
    module = replace(setup, parent, steps=1, successor="narrow", size=8, probability=1e-9, schedule="constant")
    assert module.noted == [[True, True]]
    whole = LitTransformer.load_from_checkpoint(parent_of(parent), weights_only=True).network.eval()
    again = Watched(**dict(setup.module(**LAYERS, dropout=0.0).hparams))
    callback = Theseus(["d:ff"], successor="narrow", size=8)
    trainer = setup.trainer([callback], max_steps=0)
    trainer.fit(again, datamodule=setup.data(), start_from=parent_of(parent))
    network = again.network.train()
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9]])
    predecessors = {name: whole.components()[name] for name in ("d:ff:1", "d:ff:2")}
    with torch.no_grad():
        for name, predecessor in predecessors.items():
            predecessor.train()
            network.sublayer(name).succeed(predecessor)
            network.sublayer(name).stands_in = True
        standing_in = network(source, target)
        network.eval()
        alone = network(source, target)
    # Dropout of the parent's own components is off where they were trained without; here it is part of them.
    for predecessor in predecessors.values():
        predecessor.dropout = 0.0
    network.train()
    with torch.no_grad():
        standing_in = network(source, target)
        assert torch.allclose(standing_in, whole.eval()(source, target), atol=1e-6)
    assert not torch.allclose(standing_in, alone, atol=1e-3)


def test_a_run_too_short(parent: Setup, setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    replace(setup, parent, steps=2, until=100)
    assert "uses predecessors until step 100, but training ends at step 2" in caplog.text


def test_only_successors_learn_by_default(parent: Setup, setup: Setup) -> None:
    module = replace(setup, parent, successor="narrow", size=8, until=2)
    last = module.network.state_dict()
    changed = {name for name, tensor in module.first.items() if not torch.equal(tensor, last[name])}
    assert changed
    assert all(".ff.function." in name and name.startswith("decoder") for name in changed)
    assert module.first["decoder.layers.0.ff.function.inner.weight"].shape == (8, 16)


def test_all_learn(parent: Setup, setup: Setup) -> None:
    module = replace(setup, parent, successor="narrow", size=8, learn="all", until=2)
    last = module.network.state_dict()
    same = [name for name, tensor in module.first.items() if torch.equal(tensor, last[name])]
    assert same == []


@pytest.mark.parametrize("options", [{}, {"successor": "narrow", "size": 8}], ids=str)
def test_checkpoints_are_of_the_new_structure(parent: Setup, setup: Setup, options: dict[str, Any]) -> None:
    module = replace(setup, parent, until=100, probability=0.5, **options)
    again = LitTransformer.load_from_checkpoint(setup.folder / "checkpoints/last.ckpt", weights_only=True, strict=True)
    assert same_tensors(again.network.state_dict(), module.network.state_dict())
    if options:
        assert again.network.config.feed_forward_sizes == {"d:ff:1": 8, "d:ff:2": 8}
    else:
        assert again.network.config.pruned == ("d:ff:1", "d:ff:2")
    record = json.loads((setup.folder / "theseus.json").read_text())
    assert record["parameters_after"] < record["parameters_before"]


@pytest.mark.parametrize("options", [{}, {"successor": "narrow", "size": 8}], ids=str)
def test_interrupted_and_resumed(parent: Setup, setups: Callable[[], Setup], options: dict[str, Any]) -> None:
    whole, half = setups(), setups()
    options = {"until": 100, "probability": 0.5, **options}
    expected = replace(whole, parent, steps=4, **options)
    replace(half, parent, steps=2, **options)
    hparams = load(half.folder / "checkpoints/last.ckpt")["hyper_parameters"]
    structure = {name: hparams[name] for name in ("pruned", "feed_forward_sizes")}
    found = replace(half, None, steps=4, resumed=True, structure=structure, **options)
    assert found.noted == expected.noted[2:]
    assert {stands for step in expected.noted for stands in step} == {True, False}
    assert same_tensors(found.network.state_dict(), expected.network.state_dict())


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"learn": "successors"}, "nothing would learn"),
            ({"successor": "narrow"}, "narrow successors have a size"),
            ({"size": 3}, "narrow successors have a size"),
            ({"probability": 0.0}, "above 0 and up to 1"),
            ({"until": 0}, "a step from 1 up"),
        ],
    )
    def test_settings(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=message):
            Theseus(["d:ff"], **options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"components": ["d:ea"]}, "no source-target attention"),
            ({"components": ["d:sa"], "successor": "narrow", "size": 4}, "d:sa:1, d:sa:2 are none"),
            ({"successor": "narrow", "size": 32}, "fewer than 32 units"),
        ],
    )
    def test_components(self, parent: Setup, setup: Setup, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=message):
            replace(setup, parent, **options)

    def test_what_was_pruned(self, parent: Setup, setups: Callable[[], Setup]) -> None:
        first, second = setups(), setups()
        prune(first, parent, components=["d:ff:1"])
        module = second.module(**LAYERS, pruned=["d:ff:1"])
        with pytest.raises(UserError, match="'d:ff:1' matches nothing"):
            second.trainer([Theseus(["d:ff:1"])]).fit(
                module, datamodule=second.data(), start_from=parent_of(first, "last")
            )
