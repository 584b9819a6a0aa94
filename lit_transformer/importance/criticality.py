"""Criticality: how near to its initial weights a component can be moved, as pure arithmetic on drops in BLEU.

Wang & Tu 2020 (arXiv 2011.03803), "soft" metric; method.md 1.4, with the decisions of 0.8 and 0.9. A search is a
generator: it yields the next alpha to evaluate, is sent the drop in BLEU that was found there, and returns a
`Criticality`; `run_search` does this with a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from lit_transformer.components import canonical_key
from lit_transformer.errors import UserError
from lit_transformer.importance.resampling import Array, checked_statistics, resampled_bleu
from lit_transformer.importance.score_table import ScoreTable

GRID = tuple(tenths / 10 for tenths in range(11))
"""The values of alpha: 0.0 (initial weights), 0.1 ... 1.0 (trained weights)."""

EPSILON = 0.5
"""BLEU points: a drop below this counts as no drop (Wang & Tu 2020)."""


@dataclass(frozen=True)
class Criticality:
    """Where a search ended.

    Args:
        criticality: The lowest alpha found with a drop below epsilon, from 0 (not critical) to 1.
        curve: Drop in BLEU points at each alpha that was asked for, in ascending order; 0 at alpha 1, by definition.
        monotone: Whether the drop never rises with alpha; None unless the whole curve is known.
    """

    criticality: float
    curve: dict[float, float]
    monotone: bool | None = None


Search = Generator[float, float, Criticality]


def threshold(epsilon: float | str, baseline: float, flag: str = "--trainer.callbacks.epsilon") -> float:
    """Return the drop that counts, in BLEU points.

    Args:
        epsilon: BLEU points, such as 0.5, or a share of the baseline's BLEU, such as ``"2%"``.
        baseline: BLEU of the whole model, 0 to 100.
        flag: The option as the user types it, for messages.

    Raises:
        UserError: It is neither, or not above 0.

    Example:
        >>> threshold(0.5, 30.0), threshold("2%", 30.0)
        (0.5, 0.6)
    """
    text = str(epsilon).strip()
    share = text.endswith("%")
    try:
        value = math.nan if isinstance(epsilon, bool) else float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0.0 < value <= 100.0:
        raise UserError(
            f"{flag} is {epsilon!r}; give BLEU points above 0 and up to 100, such as 0.5, or a share of the baseline's "
            "BLEU, such as 2%."
        )
    if share and not baseline > 0.0:
        raise UserError(f"{flag} is {epsilon!r}, but the baseline has {baseline:.2f} BLEU; give points, such as 0.5.")
    return value * baseline / 100.0 if share else value


def scan(epsilon: float, grid: tuple[float, ...] = GRID) -> Search:
    """Ask from below until a drop is below epsilon: the paper's minimum, whatever the shape of the curve.

    Args:
        epsilon: BLEU points.
        grid: Ascending values of alpha, the last one 1, which is never asked for.
    """
    curve: dict[float, float] = {}
    for alpha in grid[:-1]:
        curve[alpha] = _checked((yield alpha), alpha)
        if curve[alpha] < epsilon:
            return _result(alpha, curve, grid)
    return _result(grid[-1], curve, grid)


def bisect(epsilon: float, grid: tuple[float, ...] = GRID) -> Search:
    """Halve the grid until one alpha is left; the same as `scan` only where the drop never rises with alpha.

    Args:
        epsilon: BLEU points.
        grid: Ascending values of alpha, the last one 1, which is never asked for.
    """
    curve: dict[float, float] = {}
    first, last = 0, len(grid) - 1
    while first < last:
        middle = (first + last) // 2
        alpha = grid[middle]
        curve[alpha] = _checked((yield alpha), alpha)
        first, last = (first, middle) if curve[alpha] < epsilon else (middle + 1, last)
    return _result(grid[last], curve, grid)


def full(epsilon: float, grid: tuple[float, ...] = GRID) -> Search:
    """Ask for every alpha: the whole curve, and whether it is monotone.

    Args:
        epsilon: BLEU points.
        grid: Ascending values of alpha, the last one 1, which is never asked for.
    """
    curve: dict[float, float] = {}
    for alpha in grid[:-1]:
        curve[alpha] = _checked((yield alpha), alpha)
    first = next((alpha for alpha in grid[:-1] if curve[alpha] < epsilon), grid[-1])
    drops = [*curve.values(), 0.0]
    monotone = all(later <= earlier for earlier, later in pairwise(drops))
    return _result(first, curve, grid, monotone)


def run_search(search: Search, drop_at: Callable[[float], float]) -> Criticality:
    """Carry a search out with a function from alpha to the drop in BLEU points."""
    try:
        alpha = next(search)
        while True:
            alpha = search.send(drop_at(alpha))
    except StopIteration as end:
        result: Criticality = end.value
        return result


def criticality_distribution(
    baseline: ArrayLike, curve: Mapping[float, ArrayLike], epsilon: float, counts: Array
) -> dict[float, float]:
    """Return how the score spreads over the choice of sentences.

    Args:
        baseline: Statistics of the trained model, sentence by sentence ``(sentences, 10)``.
        curve: The same for every alpha of the grid below 1.
        epsilon: BLEU points.
        counts: What `resample_counts` drew ``(resamples, sentences)``.

    Returns:
        For each alpha, 1 included, the share of resamples in which it is the score, from 0 to 1; they add up to 1.

    Raises:
        ValueError: The statistics are not of the same sentences.
    """
    whole = checked_statistics(baseline, "the baseline")
    grid = sorted(alpha for alpha in curve if alpha < 1.0)
    scores = resampled_bleu(counts, [whole, *(checked_statistics(curve[a], f"alpha {a}", len(whole)) for a in grid)])
    below = np.ones((len(counts), len(grid) + 1), dtype=bool)
    below[:, :-1] = scores[:, :1] - scores[:, 1:] < epsilon
    shares = np.bincount(below.argmax(axis=1), minlength=len(grid) + 1) / len(counts)
    return dict(zip([*grid, 1.0], shares.tolist(), strict=True))


def criticality_ranks(criticality: Mapping[str, float], drops: Mapping[str, float] | None = None) -> dict[str, int]:
    """Return the rank of each component: 1 for the most critical one, the others after it.

    Args:
        criticality: The score of each component, by id.
        drops: Raw drop in BLEU points when each is ablated, 0 where it is not known: the larger one ranks first among
            equal scores; what is still equal ranks in canonical order (method.md 0.9).

    Returns:
        Ranks by component, in canonical order.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    drops = dict.fromkeys(criticality, 0.0) | dict(drops or {})
    for component in criticality:
        if not math.isfinite(criticality[component]) or not math.isfinite(drops[component]):
            raise ValueError(f"{component} has criticality {criticality[component]!r} and drop {drops[component]!r}")
    order = sorted(criticality, key=canonical_key)
    ranked = sorted(order, key=lambda component: (-criticality[component], -drops[component]))
    ranks = {component: rank for rank, component in enumerate(ranked, 1)}
    return {component: ranks[component] for component in order}


def rank_by_criticality(table: ScoreTable) -> None:
    """Rank the components of a table by their criticality, equal ones by the drop that stands beside it.

    To be called when either was scored, so that the ranks do not depend on which of the two came first.

    Args:
        table: The table; one without criticality is left as it is.
    """
    ranks = criticality_ranks(table.column("criticality"), table.column("drop"))
    table.add_rows([{"component": component, "criticality_rank": rank} for component, rank in ranks.items()])


def _result(
    alpha: float, curve: dict[float, float], grid: tuple[float, ...], monotone: bool | None = None
) -> Criticality:
    return Criticality(alpha, dict(sorted({**curve, grid[-1]: 0.0}.items())), monotone)


def _checked(drop: float, alpha: float) -> float:
    if not math.isfinite(drop):
        raise ValueError(f"the drop at alpha {alpha} is {drop!r}; a score needs a finite number")
    return float(drop)
