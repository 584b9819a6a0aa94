from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.decoding.candidates import best, best_next, log_probabilities
from lit_transformer.errors import UserError
from tests.decoding.test_beam import CoinModel


@pytest.mark.parametrize("levels", [1, 2, 5, 1000, 1_000_000])
@pytest.mark.parametrize(("columns", "count"), [(6, 6), (7, 3), (900, 8), (1030, 1), (2000, 5), (3001, 7)])
def test_best_is_the_order_of_a_sort(columns: int, count: int, levels: int) -> None:
    scores = torch.randint(levels, (50, columns), generator=torch.Generator().manual_seed(levels)).float()
    scores[scores == 3] = -torch.inf
    values, indices = best(scores, count)
    for row, row_values, row_indices in zip(scores.tolist(), values.tolist(), indices.tolist(), strict=True):
        expected = sorted(range(columns), key=lambda column: (-row[column], column))[:count]
        assert row_values == [row[column] for column in expected]
        alive = [column for column in expected if row[column] > float("-inf")]
        assert row_indices[: len(alive)] == alive


def test_log_probabilities_are_normalised_before_pieces_are_ruled_out() -> None:
    found = log_probabilities(torch.zeros(2, 8), SPECIAL_IDS)
    assert found[:, :3].eq(-torch.inf).all()
    assert torch.allclose(found[:, 3:].exp(), torch.tensor(1 / 8))


def test_half_precision_is_summed_in_single() -> None:
    assert log_probabilities(torch.zeros(1, 8, dtype=torch.bfloat16), SPECIAL_IDS).dtype == torch.float32
    assert log_probabilities(torch.zeros(1, 8, dtype=torch.float64), SPECIAL_IDS).dtype == torch.float64


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_is_an_error(bad: float) -> None:
    logits = torch.zeros(2, 8)
    logits[1, 5] = bad
    with pytest.raises(UserError, match="NaN"):
        log_probabilities(logits, SPECIAL_IDS)


class Projection(CoinModel):
    """A model whose logits are a product with a matrix."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = weight

    def logits(self, states: Tensor) -> Tensor:
        return states @ self.weight.T


@pytest.mark.parametrize("rows", [1, 128, 129, 700])
def test_many_rows_in_blocks_are_what_they_are_at_once(rows: int) -> None:
    generator = torch.Generator().manual_seed(rows)
    weight, states = (
        torch.randn(1500, 8, generator=generator).double(),
        torch.randn(rows, 8, generator=generator).double(),
    )
    found = best_next(Projection(weight), states, 6)
    expected = best(log_probabilities(states @ weight.T, SPECIAL_IDS), 6)
    assert torch.equal(found[1], expected[1])
    assert torch.allclose(found[0], expected[0], rtol=0.0, atol=1e-12)
