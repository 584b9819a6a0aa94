from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from lit_transformer.components import component_ids
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer, TransformerConfig, weights_digest
from lit_transformer.surgery import ablated

SOURCE = torch.tensor([[4, 5, 6, 7, 3], [9, 8, 3, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 9, 8, 3]])


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(1)
    return Transformer(TransformerConfig(20, 20, 2, 2, 16, 24, 2)).eval()


@torch.no_grad()
def logits(model: Transformer) -> Tensor:
    return model(SOURCE, TARGET)


def switched_off(model: Transformer) -> list[str]:
    return [component for component, sublayer in model.components().items() if sublayer.ablated]


@pytest.fixture
def unchanged(model: Transformer) -> Callable[[], None]:
    """A function that fails unless the model is bit for bit what it was."""
    digest, expected, weights = weights_digest(model), logits(model), list(model.parameters())
    places = [weight.data_ptr() for weight in weights]

    def check() -> None:
        assert switched_off(model) == []
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


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_no_trace_after_an_exception(
    model: Transformer, unchanged: Callable[[], None], error: type[BaseException]
) -> None:
    def interrupted() -> None:
        with ablated(model, "d:*"):
            logits(model)
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
