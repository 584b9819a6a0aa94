from __future__ import annotations

import pytest
import torch

from lit_transformer.decoding.candidates import best, log_probabilities
from lit_transformer.errors import UserError


@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
@pytest.mark.parametrize(("columns", "count"), [(6, 6), (7, 3), (900, 8)])
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
    found = log_probabilities(torch.zeros(2, 8))
    assert found[:, :3].eq(-torch.inf).all()
    assert torch.allclose(found[:, 3:].exp(), torch.tensor(1 / 8))


def test_half_precision_is_summed_in_single() -> None:
    assert log_probabilities(torch.zeros(1, 8, dtype=torch.bfloat16)).dtype == torch.float32
    assert log_probabilities(torch.zeros(1, 8, dtype=torch.float64)).dtype == torch.float64


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_is_an_error(bad: float) -> None:
    logits = torch.zeros(2, 8)
    logits[1, 5] = bad
    with pytest.raises(UserError, match="NaN"):
        log_probabilities(logits)
