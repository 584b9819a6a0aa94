from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lit_transformer.decoding.candidates import best, best_next, best_piece, log_probabilities
from lit_transformer.errors import UserError


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


@pytest.mark.parametrize("rows", [1, 128, 129, 700])
def test_many_rows_in_blocks_are_what_they_are_at_once(rows: int) -> None:
    generator = torch.Generator().manual_seed(rows)
    weight, states = (
        torch.randn(1500, 8, generator=generator).double(),
        torch.randn(rows, 8, generator=generator).double(),
    )
    found = best_next(lambda part: part @ weight.T, states, 6)
    expected = best(log_probabilities(states @ weight.T), 6)
    assert torch.equal(found[1], expected[1])
    assert torch.allclose(found[0], expected[0], rtol=0.0, atol=1e-12)
    assert torch.equal(best_piece(lambda part: part @ weight.T, states), expected[1][:, 0])


@pytest.mark.parametrize("relative", [0.0, 0.1])
@pytest.mark.parametrize("error", [0.0, 0.3, 100.0])
def test_what_rough_scores_leave_open_is_decided_by_true_ones(error: float, relative: float) -> None:
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(300, 1200, generator=generator).round(decimals=1)
    off = [2 * torch.rand(logits.shape, generator=generator) - 1 for _ in range(2)]
    wrong = (logits + error * off[0]) / (1 + relative * off[1])
    states, computed = torch.arange(300.0).unsqueeze(1), []

    def true(part: Tensor) -> Tensor:
        computed.append(part.size(0))
        return logits[part[:, 0].long()]

    def rough(part: Tensor) -> tuple[Tensor, Tensor, float]:
        return wrong[part[:, 0].long()], torch.full_like(part[:, 0], error), relative

    expected = best(log_probabilities(logits), 1)[1][:, 0]
    assert torch.equal(best_piece(true, states, rough), expected)
    # With no error all but ties are certain; with a large one nothing is.
    assert (sum(computed) < 290) if error == 0.0 else (sum(computed) == 300 or error < 1.0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("piece", [0, 3, 5, 1100])
def test_nan_is_an_error_however_the_best_piece_is_found(bad: float, piece: int) -> None:
    logits = torch.zeros(4, 1200)
    logits[2, piece] = bad
    states = torch.arange(4.0).unsqueeze(1)

    def rough(part: Tensor) -> tuple[Tensor, Tensor, float]:
        return logits[part[:, 0].long()], torch.full_like(part[:, 0], bad), 0.0

    for way in (None, rough):
        with pytest.raises(UserError, match="NaN"):
            best_piece(lambda part: logits[part[:, 0].long()], states, way)
