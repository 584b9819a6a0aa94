"""Contribution in information flow: how much BLEU a component is worth, as pure arithmetic on BLEU numbers.

Wang & Tu 2020 (arXiv 2011.03803), "hard" metric; method.md 1.3, with the decisions of 0.7, 0.9 and 0.10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from lit_transformer.components import canonical_key

RELIABLE_BASELINE = 15.0
"""BLEU points: below this, drops say more about noise than about components."""

CAP = 0.1
"""A drop counts up to this share of the baseline's BLEU."""


@dataclass(frozen=True)
class ContributionResult:
    """What ablating one component costs.

    Args:
        baseline: BLEU of the whole model, 0 to 100.
        ablated: BLEU without the component, 0 to 100.
        drop: ``baseline - ablated`` in BLEU points; negative where the model is better without the component.
        relative_drop: ``drop / baseline``, for comparisons across runs; 0 where the baseline is 0.
        contribution: The paper's score, from 0 (not needed) to 1 (as important as can be told).
        rank: 1 for the most important component.
        reliable: The baseline reaches `RELIABLE_BASELINE`.
    """

    baseline: float
    ablated: float
    drop: float
    relative_drop: float
    contribution: float
    rank: int
    reliable: bool


def contribution_scores(baseline: float, ablated: Mapping[str, float]) -> dict[str, ContributionResult]:
    """Score components by what the model loses without each of them.

    With drop ``M = baseline - ablated`` and cap ``C = 0.1 * baseline``, a component's score is ``clip(M, 0, C)`` over
    the largest such value; all scores are 0 if that is 0. Among equal drops, components rank in canonical order.

    Args:
        baseline: BLEU of the whole model, 0 to 100.
        ablated: BLEU without each component, by component id.

    Returns:
        The result of each component, in canonical order.

    Raises:
        ValueError: A number is not finite or below 0.

    Example:
        >>> results = contribution_scores(30.0, {"e:sa:1": 10.0, "d:sa:1": 28.5, "d:ff:1": 30.2})
        >>> [(component, round(result.contribution, 3), result.rank) for component, result in results.items()]
        [('e:sa:1', 1.0, 1), ('d:sa:1', 0.5, 2), ('d:ff:1', 0.0, 3)]
    """
    _check("the baseline", baseline)
    for component, bleu in ablated.items():
        _check(component, bleu)
    order = sorted(ablated, key=canonical_key)
    drops = {component: baseline - ablated[component] for component in order}
    capped = {component: min(max(0.0, drop), CAP * baseline) for component, drop in drops.items()}
    largest = max(capped.values(), default=0.0)
    # The score never falls when the drop grows, so the order by drop is the order by score with its ties broken;
    # sorting is stable, so equal drops stay in canonical order.
    ranks = {component: rank for rank, component in enumerate(sorted(order, key=drops.__getitem__, reverse=True), 1)}
    return {
        component: ContributionResult(
            baseline=baseline,
            ablated=ablated[component],
            drop=drops[component],
            relative_drop=drops[component] / baseline if baseline else 0.0,
            contribution=capped[component] / largest if largest else 0.0,
            rank=ranks[component],
            reliable=baseline >= RELIABLE_BASELINE,
        )
        for component in order
    }


def _check(name: str, bleu: float) -> None:
    if not math.isfinite(bleu) or bleu < 0:
        raise ValueError(f"BLEU of {name} is {bleu!r}; a score needs finite numbers from 0 to 100")
