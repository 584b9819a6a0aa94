from __future__ import annotations

import numpy as np
import pytest

from lit_transformer.importance.resampling import (
    Array,
    bleu,
    checked_statistics,
    resample_counts,
    resampled_bleu,
)
from lit_transformer.metrics.bleu import bleu_from_statistics


def statistics(seed: int, sentences: int, share: float = 0.7) -> Array:
    """Statistics as sentences have them: fewer matches for longer n-grams, none for some sentences."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 25, sentences)
    totals = np.maximum(lengths[:, None] - np.arange(4), 0)
    matches = np.cumprod(generator.random((sentences, 4)) < share, axis=1) * generator.integers(0, totals + 1)
    matches = np.minimum.accumulate(matches, axis=1)
    reference = np.maximum(1, lengths + generator.integers(-3, 6, sentences))
    return np.column_stack([matches, totals, lengths, reference])


@pytest.mark.parametrize(
    "sums",
    [
        [6, 4, 2, 1, 7, 5, 3, 1, 7, 7],
        [6, 4, 2, 0, 7, 5, 3, 1, 7, 7],
        [6, 4, 0, 0, 7, 5, 3, 1, 7, 9],
        [6, 0, 0, 0, 7, 5, 3, 1, 7, 9],
        [0, 0, 0, 0, 7, 5, 3, 1, 7, 9],
        [2, 1, 0, 0, 3, 2, 1, 0, 3, 9],
        [1, 0, 0, 0, 1, 0, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 9],
        [0] * 10,
        [90, 60, 40, 20, 9000, 8000, 7000, 6000, 9000, 100],
    ],
)
def test_bleu_is_that_of_sacrebleu_also_where_nothing_matches(sums: list[int]) -> None:
    assert float(bleu(sums)) == pytest.approx(bleu_from_statistics(sums).bleu, abs=1e-9)


def test_bleu_of_many_rows_is_that_of_each() -> None:
    rows = np.concatenate([statistics(1, 500), statistics(2, 500, 0.2), statistics(3, 400).reshape(100, 4, 10).sum(1)])
    expected = [bleu_from_statistics(row.tolist()).bleu for row in rows]
    assert bleu(rows).tolist() == pytest.approx(expected, abs=1e-9)
    assert bleu(rows.reshape(11, 100, 10)).shape == (11, 100)
    assert 0 < np.count_nonzero(bleu(rows)) < len(rows)


def test_each_resample_has_as_many_sentences_as_the_set() -> None:
    counts = resample_counts(300, 4000, seed=3)
    assert counts.shape == (4000, 300)
    assert (counts.sum(axis=1) == 300).all()
    # How often a sentence is drawn has mean 1 and variance 1 - 1/300.
    assert counts.mean(axis=0) == pytest.approx(np.ones(300), abs=0.08)
    assert counts.var() == pytest.approx(1 - 1 / 300, abs=0.01)
    assert (resample_counts(300, 4000, seed=3) == counts).all()
    assert (resample_counts(300, 4000, seed=4) != counts).any()
    assert resample_counts(1, 3).tolist() == [[1], [1], [1]]
    with pytest.raises(ValueError, match="at least one sentence"):
        resample_counts(0)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    variants = [statistics(5, 40), statistics(6, 40)]
    counts = resample_counts(40, 100, seed=2)
    expected = resampled_bleu(counts, variants)
    monkeypatch.setattr("lit_transformer.importance.resampling._BLOCK_NUMBERS", 500)
    assert (resample_counts(40, 100, seed=2) == counts).all()
    assert (resampled_bleu(counts, variants) == expected).all()


@pytest.mark.parametrize("factor", [1, 10**6])
def test_bleu_in_each_resample_is_that_of_the_sentences_drawn(factor: int) -> None:
    # The larger factor takes the sums beyond what float32 holds.
    variants = [statistics(7, 30) * factor, statistics(8, 30) * factor]
    counts = resample_counts(30, 20, seed=1)
    for row, scores in zip(counts, resampled_bleu(counts, variants), strict=True):
        drawn = np.repeat(np.arange(30), row)
        expected = [bleu_from_statistics(variant[drawn].sum(axis=0).tolist()).bleu for variant in variants]
        assert scores.tolist() == pytest.approx(expected, abs=1e-9)


def test_other_shapes_are_errors() -> None:
    with pytest.raises(ValueError, match=r"statistics of d:sa:1: expected shape \(5, 10\), got \(4, 10\)"):
        checked_statistics(np.zeros((4, 10)), "d:sa:1", 5)
    for wrong in (np.zeros((4, 9)), np.zeros(10), np.zeros((0, 10)), 3):
        with pytest.raises(ValueError, match=r"expected shape \(sentences, 10\)"):
            checked_statistics(wrong, "the baseline")
