"""What the report of several runs shows, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lit_transformer.components import layer_of
from lit_transformer.report.agreement import UNIMPORTANT, Agreement, Shared, shared_components
from lit_transformer.report.charts import heat_maps
from lit_transformer.report.comparability import COMPARED
from lit_transformer.report.html import runs_tables
from lit_transformer.report.html.heat_figures import heat_map_figure
from lit_transformer.report.html.section import Figure, Section
from lit_transformer.report.html.summary import counted
from lit_transformer.report.html.table import Table, cell
from lit_transformer.report.origins import ORIGINS
from lit_transformer.report.runs import SCORES, Run

SIDE_BY_SIDE = 12
"""Runs whose heat maps stand side by side; more are drawn as one map with a row each."""
MOST_ROWS = 1000
"""Rows of a table below a chart."""
LARGEST_MATRIX = 40
"""Runs up to which each pair has a cell of its own."""


def comparison_sections(runs: Sequence[Run], pairs: Mapping[str, Sequence[Agreement]]) -> Iterator[Section]:
    """Yield the sections of a report of several runs, side by side.

    Args:
        runs: The runs.
        pairs: How alike two runs are, by column of the scores.
    """
    yield Section("runs", "Runs", tables=[("", runs_tables.runs_table(runs))], facts=shared_facts(runs))
    for score in SCORES:
        scored = [run for run in runs if run.column(score)]
        if not scored:
            continue
        if len(scored) > SIDE_BY_SIDE:
            yield Section(
                f"{score}-maps", f"{score.capitalize()} of all runs", figures=[_all_runs_figure(scored, score)]
            )
            continue
        layers = max(layer_of(name) for run in scored for name in run.column(score))
        figures = [heat_map_figure(run, score, layers, title=run.label) for run in scored]
        yield Section(f"{score}-maps", f"{score.capitalize()}, side by side", figures=figures)
    for column, title in (("drop", "BLEU lost"), ("criticality", "criticality")):
        if pairs.get(column):
            yield _agreement_section(column, title, pairs[column])
    if sum(bool(run.column("drop")) for run in runs) > 1:
        yield _shared_section(runs, shared_components(runs))


def shared_facts(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return what all runs have in common, by name: what they are, and how those were scored that were."""
    scored = [run for run in runs if run.components]
    told = {name: {each(run) for run in runs} for name, each in ORIGINS.items() if name != "seed"}
    told |= {name: {each(run) for run in scored} for name, each in COMPARED.items()}
    return [(f"{name}, all runs", next(iter(found))) for name, found in told.items() if len(found) == 1 and any(found)]


def _all_runs_figure(runs: Sequence[Run], score: str) -> Figure:
    rows = [[cell(run.label), cell(name), cell(value)] for run in runs for name, value in run.column(score).items()]
    return Figure(
        f"{score.capitalize()}: a row for each run",
        heat_maps.all_runs(runs, score),
        f"{score.capitalize()} of each component, across, in each of {len(runs)} runs, down; what stands out from the "
        "page is important.",
        Table(["run", "component", score], rows[:MOST_ROWS]),
        f"The first {MOST_ROWS:,} of {len(rows):,} numbers are below; all are in the runs' scores.csv."
        if len(rows) > MOST_ROWS
        else "",
        full=True,
    )


def _agreement_section(column: str, title: str, pairs: Sequence[Agreement]) -> Section:
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    lines, figures = [], []
    known = [pair.spearman for pair in pairs if pair.spearman is not None]
    if known:
        several = f"from {min(known):.2f} to {max(known):.2f}, {sum(known) / len(known):.2f} on average"
        found = several if len(known) > 1 else f"{known[0]:.2f}"
        lines.append(
            f"Spearman's coefficient of {counted(len(known), len(pairs))}: {found}, over the components that both have."
        )
    if len(names) <= LARGEST_MATRIX:
        for method in ("Spearman", "Kendall"):
            rows = [
                {"first": first, "second": second, "value": value, "shared": pair.shared}
                for pair in pairs
                if (value := getattr(pair, method.lower())) is not None
                for first, second in ((pair.first, pair.second), (pair.second, pair.first))
            ]
            if rows:
                described = f"Matrix of {method}'s rank correlation of {title} between {len(names)} runs."
                table = runs_tables.agreements_table(pairs)
                chart = heat_maps.matrix(rows, names, method)
                figures.append(Figure(f"{method}, {title}", chart, described, table, full=len(names) > 6))
    else:
        lines.append(
            f"Of more than {LARGEST_MATRIX} runs each has a row: how alike it is to all others, the oddest first."
        )
    shown = [] if figures else [("", runs_tables.outliers_table(pairs, names))]
    return Section(
        f"agreement-{column}", f"Do the runs agree? Rank correlation of {title}", lines, figures, tables=shown
    )


def _shared_section(runs: Sequence[Run], shared: Sequence[Shared]) -> Section:
    labels = [run.label for run in runs if run.column("drop")]
    named_runs = labels if len(labels) <= SIDE_BY_SIDE else []
    line = (
        f"BLEU lost without each component in each run; a component is cheap in a run where it costs less than "
        f"{UNIMPORTANT:g} BLEU. These are the values themselves, without their intervals."
    )
    return Section(
        "shared", "Which are unimportant in all", [line], tables=[("", runs_tables.shared_table(shared, named_runs))]
    )
