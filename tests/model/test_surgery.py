from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch import Tensor

from lit_transformer.components import component_ids
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer, weights_digest
from lit_transformer.model.surgery import ablated, component_parameters, interpolated, perturbed

CONFIG = TransformerConfig(20, 20, 2, 2, 16, 24, 2)
SOURCE = torch.tensor([[4, 5, 6, 7, 3], [9, 8, 3, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 9, 8, 3]])


@pytest.fixture
def model() -> Transformer:
    return seeded_transformer(CONFIG, 1).eval()


@pytest.fixture
def initial() -> dict[str, Tensor]:
    """Other weights of the same structure, biases and norms included."""
    weights = seeded_transformer(CONFIG, 2).state_dict()
    generator = torch.Generator().manual_seed(3)
    return {name: tensor + 0.1 * torch.randn(tensor.shape, generator=generator) for name, tensor in weights.items()}


def own(model: Transformer, component: str, norm: bool = False) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in component_parameters(model, component, norm).items()}


@torch.no_grad()
def logits(model: Transformer) -> Tensor:
    return model(SOURCE, TARGET)


class Interrupt:
    """Makes each write of a tensor send Ctrl-C to this process first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        original = torch.Tensor.copy_

        def copy(tensor: Tensor, *args: Any) -> Tensor:
            self.calls += 1
            signal.raise_signal(signal.SIGINT)
            return original(tensor, *args)

        monkeypatch.setattr(torch.Tensor, "copy_", copy)


def switched_off(model: Transformer) -> list[str]:
    return [component for component, sublayer in model.components().items() if sublayer.ablated]


@pytest.fixture
def unchanged(model: Transformer) -> Callable[[], None]:
    """A function that fails unless the model is bit for bit what it was."""
    digest, expected, weights = weights_digest(model), logits(model), list(model.parameters())
    places = [weight.data_ptr() for weight in weights]

    def check() -> None:
        assert switched_off(model) == []
        assert all(sublayer.constant is None for sublayer in model.components().values())
        assert weights_digest(model) == digest
        assert [weight.data_ptr() for weight in model.parameters()] == places
        assert torch.equal(logits(model), expected)

    return check


def test_the_chosen_are_ablated_while_the_context_lasts(model: Transformer, unchanged: Callable[[], None]) -> None:
    expected = logits(model)
    with ablated(model, ["d:ff:2", "e:sa"]) as chosen:
        assert chosen == ["e:sa:1", "e:sa:2", "d:ff:2"] == switched_off(model)
        assert not torch.equal(logits(model), expected)
    unchanged()


def test_no_tensor_is_touched_within(model: Transformer) -> None:
    digest = weights_digest(model)
    with ablated(model, "*"):
        assert weights_digest(model) == digest


CHANGES: dict[str, Callable[[Transformer, dict[str, Tensor]], AbstractContextManager[Any]]] = {
    "ablated": lambda model, _: ablated(model, "d:*"),
    "ablated to a constant": lambda model, _: ablated(model, "e:ff:1", {"e:ff:1": torch.ones(16)}),
    "initial": lambda model, initial: interpolated(model, "d:ea:2", initial, 0.0),
    "between": lambda model, initial: interpolated(model, "d:ea:2", initial, 0.3, include_norm=True),
    "noise": lambda model, initial: perturbed(model, "e:sa:1", initial, 0.7, 0.1, seed=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_no_trace_after_an_exception(
    model: Transformer,
    initial: dict[str, Tensor],
    unchanged: Callable[[], None],
    error: type[BaseException],
    change: Callable[[Transformer, dict[str, Tensor]], AbstractContextManager[Any]],
) -> None:
    expected = logits(model)

    def interrupted() -> None:
        with change(model, initial):
            assert not torch.equal(logits(model), expected)
            raise error

    with pytest.raises(error):
        interrupted()
    unchanged()


def test_nested_ablations_add_up_and_end_one_by_one(model: Transformer, unchanged: Callable[[], None]) -> None:
    with ablated(model, "d:sa"):
        outer = logits(model)
        with ablated(model, ["d:sa:1", "e:ff:1"]):
            assert switched_off(model) == ["e:ff:1", "d:sa:1", "d:sa:2"]
        assert switched_off(model) == ["d:sa:1", "d:sa:2"]
        assert torch.equal(logits(model), outer)
    unchanged()


def test_a_component_that_was_ablated_before_stays_so(model: Transformer) -> None:
    model.components()["e:ff:2"].ablated = True
    with ablated(model, "e:ff"):
        pass
    assert switched_off(model) == ["e:ff:2"]


@pytest.mark.parametrize("nothing", [[], ()])
def test_an_empty_list_ablates_nothing(model: Transformer, nothing: list[str]) -> None:
    with ablated(model, nothing) as chosen:
        assert (chosen, switched_off(model)) == ([], [])


def test_an_unknown_selector_changes_nothing(model: Transformer, unchanged: Callable[[], None]) -> None:
    with pytest.raises(UserError, match="'d:sa:3' matches nothing"), ablated(model, ["d:sa:1", "d:sa:3"]):
        pytest.fail("the context must not be entered")
    unchanged()


def test_every_component_can_be_ablated_by_itself(model: Transformer) -> None:
    seen = []
    for component in component_ids(2, 2):
        with ablated(model, component):
            seen.append(logits(model))
    assert all(not torch.equal(one, other) for place, one in enumerate(seen) for other in seen[:place])


class TestInterpolated:
    @pytest.mark.parametrize("component", component_ids(2, 2))
    def test_at_0_it_is_the_initial_component_and_at_1_the_trained_one(
        self, model: Transformer, initial: dict[str, Tensor], unchanged: Callable[[], None], component: str
    ) -> None:
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        changed = component_parameters(model, component, include_norm=True)
        with interpolated(model, component, initial, 0.0, include_norm=True):
            for name, tensor in model.state_dict().items():
                assert torch.equal(tensor, (initial if name in changed else before)[name]), name
        with interpolated(model, component, initial, 1.0):
            unchanged()
        unchanged()

    def test_by_hand(self, model: Transformer, initial: dict[str, Tensor]) -> None:
        name = "encoder.layers.0.ff.function.outer.bias"
        with torch.no_grad():
            component_parameters(model, "e:ff:1")[name].copy_(torch.arange(16.0))
        initial[name] = torch.full((16,), 10.0)
        with interpolated(model, "e:ff:1", initial, 0.25):
            # 0.75 * 10 + 0.25 * (0, 1, 2, ...)
            assert model.state_dict()[name].tolist() == [7.5 + 0.25 * step for step in range(16)]
        assert model.state_dict()[name].tolist() == list(range(16))

    @pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
    def test_in_another_precision(self, model: Transformer, initial: dict[str, Tensor], dtype: torch.dtype) -> None:
        model = model.to(dtype)
        trained = own(model, "d:sa:1")
        for alpha in (0.0, 0.5):
            with interpolated(model, "d:sa:1", initial, alpha):
                for name, weight in component_parameters(model, "d:sa:1").items():
                    expected = initial[name].double() * (1 - alpha) + trained[name].double() * alpha
                    assert weight.dtype == dtype
                    assert torch.equal(weight.detach(), expected.to(dtype))
        assert all(torch.equal(weight, trained[name]) for name, weight in own(model, "d:sa:1").items())

    def test_the_initial_weights_are_left_as_they_are(self, model: Transformer, initial: dict[str, Tensor]) -> None:
        before = {name: tensor.clone() for name, tensor in initial.items()}
        with interpolated(model, "d:ff:1", initial, 0.0), torch.no_grad():
            component_parameters(model, "d:ff:1")["decoder.layers.0.ff.function.outer.bias"].add_(1.0)
        assert all(torch.equal(initial[name], before[name]) for name in before)

    def test_two_components_at_once(
        self, model: Transformer, initial: dict[str, Tensor], unchanged: Callable[[], None]
    ) -> None:
        with interpolated(model, "d:ff:1", initial, 0.0), interpolated(model, "d:ff:2", initial, 0.0):
            for layer in (1, 2):
                assert torch.equal(own(model, f"d:ff:{layer}")[name(layer)], initial[name(layer)])
        unchanged()

    @pytest.mark.parametrize(("value", "told"), [(None, "no such weights"), (torch.ones(3), r"\(3,\) in them")])
    def test_initial_weights_of_another_structure(
        self,
        model: Transformer,
        initial: dict[str, Tensor],
        unchanged: Callable[[], None],
        value: Tensor | None,
        told: str,
    ) -> None:
        place = "decoder.layers.0.ff.function.inner.bias"
        initial.pop(place)
        foreign = initial if value is None else {**initial, place: value}
        with (
            pytest.raises(UserError, match=rf"{place} is \(24,\) there, and {told}"),
            interpolated(model, "d:ff:1", foreign, 0.5),
        ):
            pytest.fail("the context must not be entered")
        unchanged()

    def test_ctrl_c_while_tensors_are_written(
        self,
        model: Transformer,
        initial: dict[str, Tensor],
        unchanged: Callable[[], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # A shell starts what it runs in the background with Ctrl-C ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with monkeypatch.context() as within:
                interrupt = Interrupt(within)
                with pytest.raises(KeyboardInterrupt), interpolated(model, "d:ff:1", initial, 0.5):
                    pytest.fail("Ctrl-C comes before the context is entered")
                # Four weights were changed, and four changed back.
                assert interrupt.calls == 8
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        finally:
            signal.signal(signal.SIGINT, before)
        unchanged()

    def test_in_a_thread_that_signals_do_not_reach(
        self, model: Transformer, initial: dict[str, Tensor], unchanged: Callable[[], None]
    ) -> None:
        done = []

        def work() -> None:
            with interpolated(model, "d:ff:1", initial, 0.0):
                done.append(torch.equal(own(model, "d:ff:1")[name(1)], initial[name(1)]))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert done == [True]
        unchanged()


def name(layer: int) -> str:
    return f"decoder.layers.{layer - 1}.ff.function.inner.weight"


class TestPerturbed:
    def test_noise_has_the_size_asked_for(self, model: Transformer, initial: dict[str, Tensor]) -> None:
        with interpolated(model, "d:ff:1", initial, 0.4):
            between = own(model, "d:ff:1")
        with perturbed(model, "d:ff:1", initial, 0.4, sigma=0.2, seed=1):
            noise = torch.cat([(weight - between[at]).flatten() for at, weight in own(model, "d:ff:1").items()])
        # 808 numbers: their standard deviation is known to 2.5 %.
        assert float(noise.std()) == pytest.approx(0.2, rel=0.1)
        assert float(noise.mean()) == pytest.approx(0.0, abs=0.03)

    def test_the_seed_decides(self, model: Transformer, initial: dict[str, Tensor]) -> None:
        made = []
        for seed in (1, 1, 2):
            torch.rand(1)
            with perturbed(model, "d:ff:1", initial, 1.0, sigma=0.2, seed=seed):
                made.append(own(model, "d:ff:1")[name(1)])
        assert torch.equal(made[0], made[1])
        assert not torch.equal(made[0], made[2])

    def test_without_noise_it_is_interpolation(self, model: Transformer, initial: dict[str, Tensor]) -> None:
        for alpha in (0.0, 0.3, 1.0):
            with interpolated(model, "e:sa:2", initial, alpha):
                expected = own(model, "e:sa:2")
            with perturbed(model, "e:sa:2", initial, alpha, sigma=0.0, seed=1):
                assert all(torch.equal(weight, expected[at]) for at, weight in own(model, "e:sa:2").items())


def test_a_constant_is_taken_in_the_models_precision(model: Transformer) -> None:
    model = model.double()
    with ablated(model, ["e:ff"], {"e:ff:2": torch.ones(16)}):
        values = [model.components()[f"e:ff:{layer}"].constant for layer in (1, 2)]
    assert values[0] is None
    assert values[1] is not None
    assert values[1].dtype == torch.float64


def test_nested_ablations_give_constants_back(model: Transformer) -> None:
    with ablated(model, "e:ff:1", {"e:ff:1": torch.ones(16)}):
        with ablated(model, "e:ff:1"):
            assert model.components()["e:ff:1"].constant is None
        constant = model.components()["e:ff:1"].constant
        assert constant is not None
        assert constant.tolist() == [1.0] * 16
