"""BLEU of all sentences, estimated from some of them; the arithmetic beneath `lit_transformer.importance.early`."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lit_transformer.bleu import ORDERS
from lit_transformer.importance.resampling import Array, bleu


def seeded_order(sentences: int, seed: int) -> list[int]:
    """Return the places 0, 1 ... of the sentences in a random order, the same for the same seed on every platform."""
    # Of Python's generator only `random()` is promised to give the same numbers in every version.
    generator = random.Random(seed)
    keys = [generator.random() for _ in range(sentences)]
    return sorted(range(sentences), key=keys.__getitem__)


def bleu_and_gradient(sums: ArrayLike) -> tuple[Array, Array]:
    """Return corpus BLEU and its derivatives with respect to its statistics.

    Args:
        sums: Summed statistics in the order of `lit_transformer.bleu.STATISTICS`, ``(..., 10)``.

    Returns:
        BLEU points ``(...)``, and BLEU points per unit of each statistic ``(..., 10)``: 0 for an order without a match,
        whose precision is smoothed, and everywhere where BLEU is 0. Where the lengths are equal, that of longer
        hypotheses.
    """
    values = np.asarray(sums, dtype=np.float64)
    scores = bleu(values)
    signs = np.repeat([1.0, -1.0], ORDERS)
    gradient = np.zeros_like(values)
    counts = values[..., : 2 * ORDERS]
    np.divide(signs / ORDERS, counts, out=gradient[..., : 2 * ORDERS], where=counts > 0)
    length, reference = values[..., -2], values[..., -1]
    short = (length < reference) & (length > 0)
    np.divide(reference, length**2, out=gradient[..., -2], where=short)
    np.divide(-1.0, length, out=gradient[..., -1], where=short)
    return scores, scores[..., None] * gradient


def perfect(reference_lengths: Array) -> Array:
    """Return the statistics of hypotheses that equal their references ``(sentences, 10)``; lengths in tokens."""
    ngrams = _ngrams(reference_lengths)
    return np.column_stack([ngrams, ngrams, reference_lengths, reference_lengths])


def runaway(reference_lengths: Array, limits: Array) -> Array:
    """Return the statistics of hypotheses that match nothing and run to the limit ``(sentences, 10)``.

    Args:
        reference_lengths: Tokens of the references ``(sentences,)``.
        limits: Tokens of the hypotheses ``(sentences,)``.
    """
    return np.column_stack([np.zeros((len(limits), ORDERS)), _ngrams(limits), limits, reference_lengths])


@dataclass(frozen=True)
class Estimates:
    """BLEU of all sentences as a sample lets expect it: first from the sample as it is, then with each pseudo-sentence.

    Args:
        bleu: Estimates in BLEU points ``(1 + pseudo-sentences,)``.
        standard_errors: Their standard errors ``(1 + pseudo-sentences,)``.
        sums: The estimated sums ``(1 + pseudo-sentences, 10)``.
    """

    bleu: Array
    standard_errors: Array
    sums: Array


def extrapolated(base: Array, differences: Array, sentences: int, pseudo: ArrayLike = ()) -> Estimates:
    """Estimate the BLEU of all sentences from some of them.

    The standard error is that of ``gradient @ difference``, added up over all sentences, for a sample drawn without
    replacement. A pseudo-sentence counts in mean and spread, but not as a sentence that was decoded.

    Args:
        base: Summed statistics of what the variant is compared with ``(10,)``.
        differences: Statistics of the variant minus those, for each sentence of the sample ``(decoded, 10)``.
        sentences: Number of sentences that the sample stands for.
        pseudo: Differences of sentences each of which is added to the sample for an estimate of its own
            ``(pseudo-sentences, 10)``.
    """
    decoded, width = differences.shape
    added = np.vstack([np.zeros((1, width)), np.reshape(pseudo, (-1, width))])
    weights = (np.arange(len(added)) > 0).astype(float)
    size = decoded + weights
    # Of a variant that matches next to nothing, a sample can make less than nothing.
    sums = np.maximum(base + sentences * (differences.sum(axis=0) + added) / size[:, None], 0.0)
    scores, gradients = bleu_and_gradient(sums)
    effects, own = differences @ gradients.T, (added * gradients).sum(axis=1)
    means = (effects.sum(axis=0) + own) / size
    squares = ((effects - means) ** 2).sum(axis=0) + weights * (own - means) ** 2
    errors = sentences * np.sqrt(squares / (size - 1) / decoded * (1.0 - decoded / sentences))
    return Estimates(bleu=scores, standard_errors=errors, sums=sums)


def _ngrams(lengths: Array) -> Array:
    """Return how many n-grams texts of these lengths have, for n from 1 to 4 ``(sentences, 4)``."""
    return np.maximum(lengths[:, None] - np.arange(ORDERS), 0)
