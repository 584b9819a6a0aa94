from __future__ import annotations

import pytest
import torch

from lit_transformer.model.dropout import dropout

PROBABILITIES = [0.1, 0.3, 0.5, 0.9]


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_share_of_zeros_scale_and_expectation(probability: float) -> None:
    torch.manual_seed(1)
    units = 1_000_000
    kept = dropout(torch.ones(units), probability, training=True)
    # Five standard deviations of a binomial share: one run in two million is outside.
    bound = 5 * (probability * (1 - probability) / units) ** 0.5
    assert abs(float((kept == 0).float().mean()) - probability) < bound
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / (1 - probability)], rel=1e-6)
    assert abs(float(kept.double().mean()) - 1.0) < bound / (1 - probability)


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8])
def test_units_that_share_a_draw_are_independent(lag: int) -> None:
    torch.manual_seed(2)
    units = 400_000
    dropped = (dropout(torch.ones(units), 0.5, training=True) == 0).double() - 0.5
    correlation = float((dropped[:-lag] * dropped[lag:]).mean()) * 4
    assert abs(correlation) < 5 / units**0.5


@pytest.mark.parametrize("place", range(4))
def test_each_quarter_of_a_draw_has_the_same_share(place: int) -> None:
    torch.manual_seed(3)
    dropped = dropout(torch.ones(800_000), 0.3, training=True)[place::4] == 0
    assert abs(float(dropped.double().mean()) - 0.3) < 5 * (0.3 * 0.7 / 200_000) ** 0.5


@pytest.mark.parametrize(("probability", "training"), [(0.0, True), (0.5, False), (0.0, False)])
def test_nothing_dropped_is_the_same_tensor_and_draws_nothing(probability: float, training: bool) -> None:
    x = torch.randn(3, 5)
    state = torch.get_rng_state()
    assert dropout(x, probability, training) is x
    assert torch.equal(torch.get_rng_state(), state)


def test_the_gradient_goes_where_the_value_went() -> None:
    x = torch.randn(4, 33, requires_grad=True)
    y = dropout(x, 0.4, training=True)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(y, x.detach() * x.grad)
    assert set(x.grad.unique().tolist()) == {0.0, torch.tensor(1 / 0.6).item()}


def test_the_same_seed_drops_the_same_units() -> None:
    x = torch.ones(7, 13)
    masks = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        masks.append((dropout(x, 0.5, training=True), dropout(x, 0.5, training=True)))
    assert torch.equal(masks[0][0], masks[1][0])
    assert torch.equal(masks[0][1], masks[1][1])
    assert not torch.equal(masks[0][0], masks[0][1])
    assert not torch.equal(masks[0][0], masks[2][0])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (4,), (5,), (2, 3, 5), (1, 0, 4), (7, 1, 9)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    y = dropout(torch.full(shape, 2.0), 0.5, training=True)
    assert y.shape == shape
    assert set(y.flatten().tolist()) <= {0.0, 4.0}


def test_an_input_that_is_not_contiguous() -> None:
    x = torch.arange(1.0, 13.0).view(3, 4)
    torch.manual_seed(4)
    plain = dropout(x.t().contiguous(), 0.5, training=True)
    torch.manual_seed(4)
    turned = dropout(x.t(), 0.5, training=True)
    assert torch.equal(turned, plain)
    sliced = dropout(x[:, ::2], 0.5, training=True)
    assert torch.equal(sliced, torch.where(sliced == 0, 0.0, 2 * x[:, ::2]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_the_type_stays(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = torch.full((64, 64), 3.0, dtype=dtype, requires_grad=True)
    y = dropout(x, 0.25, training=True)
    y.sum().backward()
    assert (y.dtype, x.grad.dtype if x.grad is not None else None) == (dtype, dtype)
    values = y.detach().unique().double().tolist()
    assert values == pytest.approx([0.0, 4.0], rel=2 * torch.finfo(dtype).eps)


def test_the_input_stays_as_it_is() -> None:
    x = torch.ones(100)
    dropout(x, 0.5, training=True)
    assert bool((x == 1).all())


def test_a_value_that_is_dropped_and_infinite() -> None:
    # Multiplying by a mask of zeros would make NaN of an overflow; torch's own dropout does so too.
    reference = torch.nn.functional.dropout(torch.full((50,), float("inf")), 0.5)
    own = dropout(torch.full((50,), float("inf")), 0.5, training=True)
    assert bool(reference.isnan().any()) == bool(own.isnan().any())
