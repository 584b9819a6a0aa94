"""The table of contributions: evaluations in, columns per component out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.intervals import LEVEL, DropInterval, drop_intervals
from lit_transformer.importance.scores import CAP, contribution_scores


@dataclass(frozen=True)
class ContributionTable:
    """Contributions of components with all that stands beside them.

    Args:
        rows: A row per component, in canonical order; see docs/files.md for the columns.
        about: How they were scored and what was found of all together, as plain types.
    """

    rows: list[dict[str, Any]]
    about: dict[str, Any]


def contribution_table(
    baseline: Evaluation, ablations: Mapping[str, Evaluation], epsilon: float, least: int, prefix: str = ""
) -> ContributionTable:
    """Score components by the BLEU lost when each is ablated (Wang & Tu 2020, method.md 1.3).

    The intervals cover the choice of sentences, not of training runs.

    Args:
        baseline: The evaluation of the whole model.
        ablations: The evaluation without each component, by id, in canonical order.
        epsilon: BLEU points below which a drop makes no difference.
        least: How many least important components to tell the stability of.
        prefix: Put before the names of the columns, as for mean ablation.
    """
    statistics = {component: made.statistics.numpy() for component, made in ablations.items()}
    intervals = drop_intervals(baseline.statistics.numpy(), statistics, epsilon=epsilon)
    stability = intervals.stability(min(least, len(ablations)))
    about = {
        "cap": CAP,
        "epsilon": epsilon,
        "least": {"components": list(stability.least), "overlap": stability.overlap},
        "interval": {
            "level": LEVEL,
            "covers": "the choice of sentences, not of training runs",
            "baseline": [intervals.baseline_lower, intervals.baseline_upper],
        },
    }
    results = contribution_scores(baseline.bleu, {component: made.bleu for component, made in ablations.items()})
    rows = []
    for component, made in ablations.items():
        result = results[component]
        columns = {
            "ablated_bleu": made.bleu,
            "drop": result.drop,
            **_bounds(intervals.components[component]),
            "relative_drop": result.relative_drop,
            "contribution": result.contribution,
            "rank": result.rank,
            **_measures(made, baseline),
            "least_share": stability.shares[component],
        }
        named = {f"{prefix}{name}": value for name, value in columns.items()}
        rows.append({"component": component, "baseline_bleu": baseline.bleu, **named})
    return ContributionTable(rows, about)


def _bounds(interval: DropInterval) -> dict[str, Any]:
    return {
        "drop_lower": interval.lower,
        "drop_upper": interval.upper,
        "label": interval.label,
        "contribution_lower": interval.contribution_lower,
        "contribution_upper": interval.contribution_upper,
    }


def _measures(made: Evaluation, baseline: Evaluation) -> dict[str, Any]:
    measures: dict[str, Any] = {name: value for name, value in made.measures.items() if name != "bleu"}
    # Another analysis may have recorded the loss of one of them.
    if "loss" in measures and "loss" in baseline.measures:
        measures["loss_rise"] = measures["loss"] - baseline.measures["loss"]
    return measures
