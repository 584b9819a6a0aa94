from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from callbacks import BestLossCheckpoint, InitialWeights, LastCheckpoint, LayerTheseus
from lit_transformer.errors import UserError
from lit_transformer.training.initial_weights import initial_weights_of
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import load, read_json, same_tensors

LAYERS: dict[str, Any] = {"decoder_layers": 4}


def checkpoint_of(setup: Setup, name: str) -> str:
    return str(setup.folder / f"checkpoints/{name}.ckpt")


@pytest.fixture(scope="module")
def parent(setups: Callable[[], Setup]) -> Setup:
    """A trained model; nothing may change it."""
    setup = setups()
    trainer = setup.trainer([InitialWeights(), BestLossCheckpoint()], max_steps=20, val_check_interval=20)
    trainer.fit(setup.module(learning_rate=0.02, **LAYERS), datamodule=setup.data())
    return setup


class Watched(LitTransformer):
    """Notes whose predecessors stand in at each step, and the weights before the first one."""

    def on_train_start(self) -> None:
        super().on_train_start()
        self.first = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        self.noted: list[list[bool]] = []

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        self.noted.append([getattr(layer, "stands_in", False) for layer in self.network.decoder.layers])


def watched(setup: Setup, **options: Any) -> Watched:
    return Watched(**dict(setup.module(dropout=0.0, **{**LAYERS, **options}).hparams))


def replace(setup: Setup, parent: Setup, steps: int = 4, **options: Any) -> Watched:
    module = watched(setup)
    trainer = setup.trainer([LayerTheseus(**options), InitialWeights(), LastCheckpoint()], max_steps=steps)
    trainer.fit(module, datamodule=setup.data(), start_from=checkpoint_of(parent, "best-loss"))
    return module


def trained(parent: Setup) -> dict[str, Tensor]:
    state = load(parent.folder / "checkpoints/best-loss.ckpt")["state_dict"]
    return {name.removeprefix("network."): tensor for name, tensor in state.items()}


def test_the_schedules() -> None:
    linear = LayerTheseus(probability=0.2, until=8)
    assert [linear.replacement.at(step) for step in (0, 4, 8, 9)] == pytest.approx([0.2, 0.6, 1.0, 1.0])
    constant = LayerTheseus(schedule="constant", probability=0.5, until=8)
    assert [constant.replacement.at(step) for step in (0, 7, 8)] == [0.5, 0.5, 1.0]


def test_at_probability_1_it_is_the_shallower_model(parent: Setup, setups: Callable[[], Setup]) -> None:
    first, second = setups(), setups()
    module = replace(first, parent, steps=2, probability=1.0, learn="all")
    data = second.data()
    data.setup("fit")
    sizes = (data.tokenizer.source_vocab_size, data.tokenizer.target_vocab_size)
    shallow = watched(second, decoder_layers=2, source_vocab_size=sizes[0], target_vocab_size=sizes[1])
    state = trained(parent)
    shallow.network.load_state_dict({name: state[name] for name in shallow.network.state_dict()})
    second.trainer([], max_steps=2).fit(shallow, datamodule=data)
    assert module.noted == [[False, False]] * 2
    assert same_tensors(module.first, shallow.first)
    assert same_tensors(module.network.state_dict(), shallow.network.state_dict())


def test_only_successors_learn_by_default(parent: Setup, setup: Setup) -> None:
    module = replace(setup, parent, until=2)
    changed = {n for n, tensor in module.network.state_dict().items() if not torch.equal(tensor, module.first[n])}
    assert changed == {name for name in module.first if name.startswith("decoder.layers.")}


def test_the_checkpoint_is_of_the_shallower_model(parent: Setup, setup: Setup) -> None:
    module = replace(setup, parent, until=100, probability=0.5)
    path = setup.folder / "checkpoints/last.ckpt"
    again = LitTransformer.load_from_checkpoint(path, weights_only=True, strict=True)
    assert same_tensors(again.network.state_dict(), module.network.state_dict())
    assert again.network.config.decoder_layers == again.hparams["decoder_layers"] == 2
    record = read_json(setup.folder / "layer_theseus.json")
    whole = sum(tensor.numel() for tensor in trained(parent).values())
    assert record["parameters_after"] < record["parameters_before"] <= whole
    assert 0.0 <= record["bleu_before"] <= 100.0
    mine, theirs = initial_weights_of(path), initial_weights_of(checkpoint_of(parent, "best-loss"))
    assert same_tensors(mine, {name: theirs[name] for name in again.network.state_dict()})


def test_interrupted_and_resumed(parent: Setup, setups: Callable[[], Setup]) -> None:
    whole, half = setups(), setups()
    options: dict[str, Any] = {"until": 100, "probability": 0.5}
    expected = replace(whole, parent, steps=6, **options)
    replace(half, parent, steps=3, **options)
    found = watched(half, decoder_layers=2)
    trainer = half.trainer([LayerTheseus(**options), InitialWeights(), LastCheckpoint()], max_steps=6)
    trainer.fit(found, datamodule=half.data(), ckpt_path=checkpoint_of(half, "last"))
    assert found.noted == expected.noted[3:]
    assert {away for step in expected.noted for away in step} == {True, False}
    assert same_tensors(found.network.state_dict(), expected.network.state_dict())


@pytest.mark.parametrize(
    ("options", "told"), [({"until": 4}, True), ({"until": 3}, False), ({"probability": 1}, False)]
)
def test_an_end_before_the_successors_are_alone_is_told(
    parent: Setup, setup: Setup, caplog: pytest.LogCaptureFixture, options: dict[str, Any], told: bool
) -> None:
    replace(setup, parent, steps=4, **options)
    assert any("training ends at step 4" in message for message in caplog.messages) is told


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"group": 1}, "group is 1; give a group from 2 up"),
            ({"probability": 0.0}, "probability is 0.0"),
            ({"until": 0}, "a step from 1 up"),
        ],
    )
    def test_settings(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=f"LayerTheseus: .*{message}"):
            LayerTheseus(**options)

    def test_layers_that_can_not_be_grouped(self, parent: Setup, setup: Setup) -> None:
        with pytest.raises(UserError, match="LayerTheseus: a decoder of 4 layers has no groups of 3; give one of 2, 4"):
            replace(setup, parent, group=3)

    def test_without_a_trained_model(self, setup: Setup) -> None:
        with pytest.raises(UserError, match="give --start_from RUN"):
            setup.trainer([LayerTheseus()]).fit(setup.module(), datamodule=setup.data())
