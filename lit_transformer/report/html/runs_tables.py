"""Tables of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from lit_transformer.report.agreement import Agreement, Shared
from lit_transformer.report.comparability import COMPARED
from lit_transformer.report.html.table import Cell, Table, cell, table_of
from lit_transformer.report.origins import ORIGINS
from lit_transformer.report.runs import Run


def runs_table(runs: Sequence[Run]) -> Table:
    """Return what the runs of a report are; what all have in common is left out."""
    rows = [
        {
            "run": run.label,
            "checkpoint": run.scores.get("checkpoint"),
            "baseline": run.baseline.get("bleu"),
            "components": len(run.components),
            "weights": str(run.scores.get("weights", ""))[:12],
            **{name: told(run) or None for name, told in ORIGINS.items()},
            **{name: told(run) for name, told in COMPARED.items()},
        }
        for run in runs
    ]
    different = [name for name in COMPARED if len({row[name] for row in rows if row["components"]}) > 1]
    # The seed is what such runs differ in most often, and narrow.
    origins = [name for name in ORIGINS if name == "seed" or len({row[name] for row in rows}) > 1]
    columns = (
        ("run", "run", "", ""),
        *((name, name, "", "") for name in origins),
        ("checkpoint", "checkpoint", "", ""),
        ("baseline BLEU", "baseline", ".2f", ""),
        ("components", "components", "d", ""),
        ("weights", "weights", "", "first digits of their digest"),
        *((name, name, "", "") for name in different),
    )
    return table_of(rows, columns)


def shared_table(shared: Sequence[Shared], labels: Sequence[str]) -> Table:
    """Return what each component costs in each run.

    Args:
        shared: The components.
        labels: The runs to give a column of their own.
    """
    return Table(
        ["component", "mean BLEU lost", "cheap in", "in all", *labels],
        [
            [
                cell(row.component),
                cell(row.mean, "+.2f"),
                Cell(f"{row.unimportant} of {len(row.drops)}", row.unimportant),
                cell(row.unimportant_in_all) if row.in_all else Cell("not in every run"),
                *(cell(row.drops.get(label), "+.2f") for label in labels),
            ]
            for row in shared
        ],
    )


def outliers_table(pairs: Sequence[Agreement], names: Sequence[str]) -> Table:
    """Return how alike each run is to all others, the one that is least so first."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for pair in pairs:
        if pair.spearman is not None:
            found[pair.first].append(pair.spearman)
            found[pair.second].append(pair.spearman)
    rows = sorted((fmean(values), min(values), max(values), name) for name, values in found.items() if values)
    return Table(
        ["run", "mean Spearman", "lowest", "highest"],
        [[cell(name), cell(mean), cell(lowest), cell(highest)] for mean, lowest, highest, name in rows],
    )


def agreements_table(pairs: Sequence[Agreement]) -> Table:
    """Return the rank correlations of each pair of runs."""
    return Table(
        ["run", "other run", "Spearman", "Kendall", "components"],
        [[cell(p.first), cell(p.second), cell(p.spearman), cell(p.kendall), cell(p.shared)] for p in pairs],
    )
