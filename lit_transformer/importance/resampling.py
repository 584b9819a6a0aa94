"""BLEU of many resamples of the scoring set at once, from per-sentence statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lit_transformer.metrics.bleu import ORDERS, STATISTICS

Array = NDArray[Any]

RESAMPLES = 10_000
"""Enough for the tails that simultaneous intervals of 30 components need."""

_BLOCK_NUMBERS = 4_000_000
# Up to here float32 holds every whole number, so that sums are exact and the same in whatever order they are made.
_EXACT_FLOAT32 = 2**24


def bleu(sums: ArrayLike) -> Array:
    """Return the corpus BLEU of each row of summed statistics, with sacreBLEU's exponential smoothing.

    Args:
        sums: Sums in the order of `lit_transformer.metrics.bleu.STATISTICS`, ``(..., 10)``; fractions are allowed.

    Returns:
        BLEU points from 0 to 100, ``(...)``; the same as `bleu_from_statistics` of each row.

    Example:
        >>> float(bleu([6, 4, 2, 0, 7, 5, 3, 1, 7, 7]).round(2))
        69.14
    """
    rows = np.asarray(sums, dtype=np.float64)
    matches, totals = rows[..., :ORDERS], rows[..., ORDERS : 2 * ORDERS]
    length, reference = rows[..., -2], rows[..., -1]
    empty = matches == 0
    # The first order without a match counts as half a match, the next one as a quarter, and so on.
    smoothed = np.where(empty, 0.5 ** np.cumsum(empty, axis=-1), matches)
    scored = (totals > 0).all(axis=-1) & (matches > 0).any(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = np.log(smoothed / totals).mean(axis=-1) + np.minimum(0.0, 1.0 - reference / length)
    return np.where(scored, 100.0 * np.exp(np.where(scored, logarithm, 0.0)), 0.0)


def checked_statistics(statistics: ArrayLike, name: str, sentences: int | None = None) -> Array:
    """Return per-sentence statistics as an array of whole numbers ``(sentences, 10)``.

    Args:
        statistics: What is claimed to be such.
        name: Whose they are, for the message.
        sentences: How many sentences there must be; None where any number above 0 will do.

    Raises:
        ValueError: The shape is another.
    """
    rows = np.asarray(statistics)
    wanted = rows.shape[0] if sentences is None and rows.ndim else sentences
    if rows.shape != (wanted, len(STATISTICS)) or not wanted:
        expected = "sentences" if sentences is None else sentences
        raise ValueError(f"statistics of {name}: expected shape ({expected}, {len(STATISTICS)}), got {rows.shape}")
    return rows


def resample_counts(sentences: int, resamples: int = RESAMPLES, seed: int = 1) -> Array:
    """Draw how often each sentence is in each resample: as many sentences as the set has, with replacement.

    One such matrix serves the baseline and all variants, so that their differences are paired.

    Args:
        sentences: Size of the scoring set.
        resamples: Number of resamples.
        seed: Seed of the draws.

    Returns:
        Counts ``(resamples, sentences)``; each row adds up to ``sentences``.

    Raises:
        ValueError: A number is below 1.
    """
    if sentences < 1 or resamples < 1:
        raise ValueError(f"expected at least one sentence and one resample; got {sentences} and {resamples}")
    generator = np.random.default_rng(seed)
    # A sentence is drawn once on average; more than 255 times happens in sets of one distinct sentence only.
    counts = np.empty((resamples, sentences), dtype=np.uint8 if sentences > 1 else np.int64)
    for first in range(0, resamples, block := _block(sentences)):
        rows = min(block, resamples - first)
        drawn = generator.integers(0, sentences, size=(rows, sentences)) + sentences * np.arange(rows)[:, None]
        counts[first : first + rows] = np.bincount(drawn.ravel(), minlength=rows * sentences).reshape(rows, sentences)
    return counts


def resampled_bleu(counts: Array, variants: Sequence[Array]) -> Array:
    """Return the BLEU of each variant in each resample.

    Args:
        counts: What `resample_counts` drew ``(resamples, sentences)``.
        variants: Statistics of each variant ``(sentences, 10)``, all on the same sentences in the same order.

    Returns:
        BLEU points ``(resamples, variants)``.
    """
    stacked = np.concatenate(variants, axis=1)
    largest = int(np.abs(stacked).max()) * int(counts[0].sum())
    exact = np.float32 if largest < _EXACT_FLOAT32 else np.float64
    stacked = stacked.astype(exact)
    scores = np.empty((len(counts), len(variants)))
    for first in range(0, len(counts), block := _block(counts.shape[1] + stacked.shape[1])):
        sums = counts[first : first + block].astype(exact) @ stacked
        scores[first : first + block] = bleu(sums.reshape(len(sums), len(variants), len(STATISTICS)))
    return scores


def _block(numbers: int) -> int:
    """Return how many rows of so many numbers are worked on at once."""
    return max(1, _BLOCK_NUMBERS // numbers)
