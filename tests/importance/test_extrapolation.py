from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from lit_transformer.bleu import CorpusBLEU, bleu_from_statistics
from lit_transformer.importance.extrapolation import bleu_and_gradient, extrapolated, perfect, runaway, seeded_order
from lit_transformer.importance.resampling import bleu

SUMS = np.array([7000, 4200, 2700, 1700, 12_800, 11_800, 10_800, 9800, 12_800, 13_100], dtype=np.float64)


@pytest.mark.parametrize("length", [12_800, 13_000, 13_099, 13_101, 14_000])
def test_gradient_is_that_of_finite_differences(length: int) -> None:
    sums = SUMS.copy()
    sums[-2] = length
    score, gradient = bleu_and_gradient(sums)
    assert score == pytest.approx(bleu_from_statistics(sums.astype(int).tolist()).bleu)
    step = 1e-3
    expected = [(bleu(sums + step * unit) - bleu(sums - step * unit)) / (2 * step) for unit in np.eye(10)]
    assert gradient == pytest.approx(np.array(expected), rel=1e-5, abs=1e-9)
    assert (gradient[-2] > 0) == (length < sums[-1])


def test_gradient_where_orders_have_no_match_and_where_nothing_matches() -> None:
    sums = np.array([6.0, 4, 0, 0, 9, 8, 7, 6, 9, 12])
    gradient = bleu_and_gradient(sums)[1]
    movable = [0, 1, 4, 5, 6, 7, 8, 9]
    units = np.eye(10)[movable]
    expected = [(bleu(sums + 1e-5 * unit) - bleu(sums - 1e-5 * unit)) / 2e-5 for unit in units]
    assert gradient[movable] == pytest.approx(np.array(expected), rel=1e-4)
    assert gradient[2:4].tolist() == [0.0, 0.0]
    score, gradient = bleu_and_gradient([0, 0, 0, 0, 9, 8, 7, 6, 9, 12])
    assert (float(score), gradient.tolist()) == (0.0, [0.0] * 10)


def test_best_and_worst_hypotheses_have_the_statistics_of_such_text() -> None:
    references = ["a b c d e f", "a b", "a"]
    lengths = np.array([6, 2, 1])
    metric = CorpusBLEU(tokenize="none")
    assert perfect(lengths).tolist() == metric.sentence_statistics(references, references).tolist()
    loops = ["x " * 12, "x " * 8, "x x"]
    expected = metric.sentence_statistics(loops, references).tolist()
    assert runaway(lengths, np.array([12, 8, 2])).tolist() == expected


def test_standard_error_is_the_spread_over_all_samples() -> None:
    # Every sample of 4 out of 9 sentences, with effects so small that BLEU is linear in them.
    differences = np.random.default_rng(1).integers(-3, 4, (9, 10)) * 1e-3
    differences[:, -1] = 0
    results = [extrapolated(SUMS, differences[list(chosen)], 9) for chosen in itertools.combinations(range(9), 4)]
    estimates = [result.bleu.item() for result in results]
    errors = [result.standard_errors.item() for result in results]
    assert np.mean(estimates) == pytest.approx(float(bleu(SUMS + differences.sum(axis=0))), abs=1e-7)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(estimates), rel=1e-3)


def test_estimated_counts_never_fall_below_nothing() -> None:
    differences = np.zeros((3, 10))
    differences[:, :4] = -9000
    made = extrapolated(SUMS, differences, 9)
    assert (made.bleu.item(), made.standard_errors.item(), made.sums.min()) == (0.0, 0.0, 0.0)


def test_orders_depend_on_the_seed_alone() -> None:
    generator = random.Random(3)
    numbers = [generator.random() for _ in range(50)]
    assert [numbers[place] for place in seeded_order(50, 3)] == sorted(numbers)
    assert seeded_order(50, 3) != seeded_order(50, 4)
    assert seeded_order(0, 3) == []
