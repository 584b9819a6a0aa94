"""How sure a drop in BLEU is, given the choice of sentences: bootstrap intervals that hold for all components at once.

The intervals tell what other sentences of the same kind would have given. They say nothing about other training runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lit_transformer.components import canonical_key
from lit_transformer.importance.resampling import (
    RESAMPLES,
    Array,
    bleu,
    checked_statistics,
    resample_counts,
    resampled_bleu,
)
from lit_transformer.importance.scores import CAP

Label = Literal["important", "harmful", "negligible", "undecided"]

EPSILON = 0.5
"""BLEU points: a smaller drop makes no difference that matters."""

LEVEL = 0.95
"""Share of resamples in which all components together lie inside their intervals."""


@dataclass(frozen=True)
class DropInterval:
    """What a component costs, and between which bounds that lies for other sentences of the same kind.

    Args:
        drop: BLEU points lost on the scoring set itself.
        lower: Lower bound of the drop, in BLEU points.
        upper: Upper bound of the drop, in BLEU points.
        level: Probability that all components' drops lie within their bounds, all at once.
        label: ``important``, ``harmful``, ``negligible`` or ``undecided``; see `label`.
        contribution_lower: Lower bound of the contribution score, whose cap and maximum vary with the sentences too.
        contribution_upper: Upper bound of the contribution score.
    """

    drop: float
    lower: float
    upper: float
    level: float
    label: Label
    contribution_lower: float
    contribution_upper: float


@dataclass(frozen=True)
class Stability:
    """How firmly the least important components are the least important.

    Args:
        least: The k components with the lowest drops, in canonical order.
        shares: For every component, the share of resamples in which it is among the k lowest, from 0 to 1.
        overlap: The mean share of ``least`` that is among the k lowest of a resample, from 0 to 1.
    """

    least: tuple[str, ...]
    shares: dict[str, float]
    overlap: float


@dataclass(frozen=True)
class DropIntervals:
    """The intervals of all components, and the resamples that they come from.

    Args:
        components: The interval of each component, in canonical order.
        baseline: BLEU of the whole model.
        baseline_lower: Lower bound of the baseline's BLEU, for itself alone.
        baseline_upper: Upper bound of it.
        resampled_drops: Drops in each resample ``(resamples, components)``, in BLEU points.
    """

    components: dict[str, DropInterval]
    baseline: float
    baseline_lower: float
    baseline_upper: float
    resampled_drops: Array

    def stability(self, k: int) -> Stability:
        """Return how stable the k least important components are under resampling.

        Equal drops rank in canonical order, as they do in the scores.

        Raises:
            ValueError: There are not so many components.
        """
        names = list(self.components)
        if not 0 < k <= len(names):
            raise ValueError(f"k is {k}; there are {len(names)} components to choose from")
        drops = np.array([interval.drop for interval in self.components.values()])
        chosen = np.sort(np.argsort(drops, kind="stable")[:k])
        lowest = np.argsort(self.resampled_drops, axis=1, kind="stable")[:, :k]
        among = np.zeros(self.resampled_drops.shape, dtype=bool)
        np.put_along_axis(among, lowest, True, axis=1)
        return Stability(
            least=tuple(names[place] for place in chosen),
            shares=dict(zip(names, among.mean(axis=0).tolist(), strict=True)),
            overlap=float(among[:, chosen].mean()),
        )


def label(lower: float, upper: float, epsilon: float = EPSILON) -> Label:
    """Return what an interval of a drop says; the first that holds.

    ``important``: the drop is surely above epsilon; ``harmful``: surely below 0, the model is better without the
    component; ``negligible``: surely below epsilon; else ``undecided``. So an interval that contains 0 but reaches
    beyond epsilon is not called negligible: not significant is not the same as negligible.

    Args:
        lower: Lower bound, in BLEU points.
        upper: Upper bound, in BLEU points.
        epsilon: What matters, in BLEU points.
    """
    if lower > epsilon:
        return "important"
    if upper < 0:
        return "harmful"
    return "negligible" if upper < epsilon else "undecided"


def simultaneous_intervals(values: Array, level: float = LEVEL) -> tuple[Array, Array]:
    """Return percentile intervals that hold for all columns at once.

    Each column's interval cuts off the same number of resamples at either end, and that number is the largest for
    which at least ``level`` of the resamples lie inside the intervals of *all* columns (Mandel & Betensky 2008; the
    balanced sets of Beran 1988). Why this one: columns differ in spread and are skewed (a drop of 10 BLEU varies more
    than one of 0.1, and runaway hypotheses make long tails), and ranks need neither a standard error nor symmetry; the
    error is shared equally among the columns; how the drops vary together, all against one baseline, is used, where
    Bonferroni's correction would ignore it. With a single column it is the ordinary percentile interval.

    Args:
        values: Resampled values ``(resamples, columns)``.
        level: Joint coverage, between 0 and 1.

    Returns:
        Lower and upper bounds, ``(columns,)`` each.

    Raises:
        ValueError: A value is not finite, or the level is not between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level is {level!r}; it lies between 0 and 1, such as {LEVEL}")
    if not np.isfinite(values).all():
        raise ValueError("a resampled value is not finite")
    ordered = np.sort(values, axis=0)
    resamples = len(values)
    depth = np.full(resamples, resamples)
    for column, sorted_column in zip(values.T, ordered.T, strict=True):
        below = np.searchsorted(sorted_column, column, side="right")
        above = resamples - np.searchsorted(sorted_column, column, side="left")
        # How many values can be cut off at either end before this one falls outside.
        depth = np.minimum(depth, np.minimum(below, above) - 1)
    needed = math.ceil(level * resamples)
    cut = np.sort(depth)[resamples - needed]
    return ordered[cut], ordered[resamples - 1 - cut]


def drop_intervals(
    baseline: ArrayLike,
    variants: Mapping[str, ArrayLike],
    *,
    epsilon: float = EPSILON,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
    counts: Array | None = None,
) -> DropIntervals:
    """Return the simultaneous intervals of the drops of all components.

    In every resample the BLEU of the baseline and of all variants is computed anew, and with it the cap and the largest
    capped drop that the contribution score is divided by (method.md 0.7).

    Args:
        baseline: Statistics of the whole model, sentence by sentence ``(sentences, 10)``.
        variants: The same without each component, by component id.
        epsilon: What matters, in BLEU points; see `label`.
        level: Joint coverage, between 0 and 1.
        resamples: Number of resamples, where ``counts`` is not given.
        seed: Seed of the resamples, where ``counts`` is not given.
        counts: What `resample_counts` drew, where several questions share the resamples.

    Raises:
        ValueError: There is no variant, or the statistics are not of the same sentences.
    """
    if not variants:
        raise ValueError("there is no component to make an interval for")
    whole = checked_statistics(baseline, "the baseline")
    names = sorted(variants, key=canonical_key)
    rows = [whole] + [checked_statistics(variants[name], name, len(whole)) for name in names]
    if counts is None:
        counts = resample_counts(len(whole), resamples, seed)
    scores = resampled_bleu(counts, rows)
    drops = scores[:, :1] - scores[:, 1:]
    lower, upper = simultaneous_intervals(drops, level)
    shares = simultaneous_intervals(_contributions(scores[:, 0], drops), level)
    around_baseline = simultaneous_intervals(scores[:, :1], level)
    points = bleu(np.stack([each.sum(axis=0, dtype=np.int64) for each in rows]))
    return DropIntervals(
        components={
            name: DropInterval(
                drop=float(points[0] - points[place + 1]),
                lower=float(lower[place]),
                upper=float(upper[place]),
                level=level,
                label=label(lower[place], upper[place], epsilon),
                contribution_lower=float(shares[0][place]),
                contribution_upper=float(shares[1][place]),
            )
            for place, name in enumerate(names)
        },
        baseline=float(points[0]),
        baseline_lower=float(around_baseline[0][0]),
        baseline_upper=float(around_baseline[1][0]),
        resampled_drops=drops,
    )


def _contributions(baselines: Array, drops: Array) -> Array:
    """Return the contribution scores in each resample ``(resamples, components)``, as in `contribution_scores`."""
    capped = np.minimum(np.maximum(drops, 0.0), CAP * baselines[:, None])
    largest = capped.max(axis=1, keepdims=True)
    return np.divide(capped, largest, out=np.zeros_like(capped), where=largest > 0)
