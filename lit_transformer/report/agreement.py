"""How alike the scores of several runs are, and which components are unimportant in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Literal

from lit_transformer.components import KINDS, canonical_key, kind_of
from lit_transformer.importance.ranking import rank_correlation
from lit_transformer.report.runs import Run

Method = Literal["Spearman", "Kendall"]
UNIMPORTANT = 0.5
"""BLEU points: a component that costs less than this in every run is called unimportant in all of them."""


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of the scores of two runs, over the components that both have.

    Args:
        first: One run.
        second: The other.
        one: Scores of the one by component id, of the components that both have.
        other: Those of the other.
    """

    first: str
    second: str
    one: Mapping[str, float]
    other: Mapping[str, float]

    @property
    def shared(self) -> int:
        """How many components both have."""
        return len(self.one)

    @cached_property
    def spearman(self) -> float | None:
        """Spearman's coefficient; None where it is not defined."""
        return rank_correlation(self.one, self.other)

    @cached_property
    def kendall(self) -> float | None:
        """Kendall's coefficient (tau-b); None where it is not defined."""
        return kendall(self.one, self.other)


@dataclass(frozen=True)
class Shared:
    """What a component costs in each of several runs.

    Args:
        component: Its id.
        drops: BLEU points lost without it, by run; runs that lack it are left out.
        runs: How many runs there are.
    """

    component: str
    drops: Mapping[str, float]
    runs: int

    @property
    def mean(self) -> float:
        """The mean over the runs that have it."""
        return fmean(self.drops.values())

    @property
    def unimportant(self) -> int:
        """In how many runs it costs less than `UNIMPORTANT`."""
        return sum(drop < UNIMPORTANT for drop in self.drops.values())

    @property
    def in_all(self) -> bool:
        """Whether every run has it."""
        return len(self.drops) == self.runs

    @property
    def unimportant_in_all(self) -> bool:
        """Whether every run has it and loses less than `UNIMPORTANT` without it."""
        return self.in_all and self.unimportant == self.runs


def agreements(runs: Sequence[Run], column: str) -> list[Agreement]:
    """Return how alike a score is in each pair of runs that have it.

    Args:
        runs: The runs.
        column: The score, such as ``drop`` or ``criticality``.
    """
    scores = [(run.label, values) for run in runs if (values := run.column(column))]
    return [
        agreement(first, one, second, other)
        for place, (first, one) in enumerate(scores)
        for second, other in scores[place + 1 :]
    ]


def agreement(first: str, one: Mapping[str, float], second: str, other: Mapping[str, float]) -> Agreement:
    """Return how alike two scores are.

    Args:
        first: What the one is of.
        one: Score by component id.
        second: What the other is of.
        other: Score by component id.
    """
    shared = sorted(one.keys() & other.keys(), key=canonical_key)
    return Agreement(first, second, {name: one[name] for name in shared}, {name: other[name] for name in shared})


def kendall(one: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    """Return Kendall's rank correlation (tau-b) over the components that both have; None where it is not defined."""
    # scipy.stats takes half a second to load.
    from scipy.stats import kendalltau

    shared = sorted(one.keys() & other.keys(), key=canonical_key)
    values = [[scores[name] for name in shared] for scores in (one, other)]
    if len(shared) < 2 or any(len(set(each)) == 1 for each in values):
        return None
    return float(kendalltau(*values).statistic)


def within_kinds(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float | None]:
    """Return Spearman's rank correlation of two scores within each kind of component, by kind."""
    parts = {
        kind: [{name: value for name, value in scores.items() if kind_of(name) == kind} for scores in (one, other)]
        for kind in KINDS
    }
    return {kind: rank_correlation(*both) for kind, both in parts.items() if both[0].keys() & both[1].keys()}


def shared_components(runs: Sequence[Run]) -> list[Shared]:
    """Return what each component costs in the runs that were scored, the cheapest on average first.

    Args:
        runs: The runs.
    """
    drops = {run.label: found for run in runs if (found := run.column("drop"))}
    names = sorted({name for found in drops.values() for name in found}, key=canonical_key)
    rows = [
        Shared(name, {label: found[name] for label, found in drops.items() if name in found}, len(drops))
        for name in names
    ]
    return sorted(rows, key=lambda row: row.mean)
