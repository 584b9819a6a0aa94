"""What the report of one run shows, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lit_transformer.report.agreement import UNIMPORTANT, agreement
from lit_transformer.report.charts import curves, marks
from lit_transformer.report.html import component_tables
from lit_transformer.report.html.heat_figures import heat_map_figure
from lit_transformer.report.html.paper_section import paper_section
from lit_transformer.report.html.phenomena_section import exact_matches, phenomena_section
from lit_transformer.report.html.reading import readings
from lit_transformer.report.html.section import Examples, Figure, Section
from lit_transformer.report.html.settings_section import settings_section
from lit_transformer.report.html.study_section import study_section
from lit_transformer.report.html.summary import gained, named
from lit_transformer.report.html.table import Cell, Table, cell
from lit_transformer.report.paper import comparable
from lit_transformer.report.runs import SCORES, Run
from lit_transformer.report.studies import Study

MOST_POINTS = 400
"""Points of a curve that are drawn, and stand in the table below it."""


def run_sections(run: Run, studies: Sequence[Study] = (), report: Sequence[str] = ()) -> Iterator[Section]:
    """Yield the sections of a report of one run.

    Args:
        run: The run.
        studies: Studies to show beside it.
        report: The command of the report; that of the run alone where not given.
    """
    maps = [heat_map_figure(run, score) for score in SCORES if run.column(score)]
    if maps:
        yield Section("heat-maps", "Heat maps", figures=maps)
    if run.components:
        yield _components_section(run)
    if run.group_ablation:
        yield _group_ablation_section(run)
    if rows := run.scores.get("layer_ablation", {}).get("rows"):
        yield Section(
            "layer-ablation", "Whole decoder layers", tables=[("", component_tables.layer_ablation_table(rows))]
        )
    if run.column("contribution").keys() & run.column("criticality").keys():
        yield _scatter_section(run)
    if exact_matches(run):
        yield phenomena_section(run)
    if comparable(run):
        yield paper_section(run)
    if run.metrics:
        yield from _training_section(run)
    if run.examples:
        yield examples_section(run)
    # What a reader looks up comes last.
    yield from (study_section(study, place) for place, study in enumerate(studies, 1))
    yield settings_section(run, studies, report)


def _components_section(run: Run) -> Section:
    epsilon = float(run.scores.get("contribution", {}).get("epsilon", UNIMPORTANT))
    table = component_tables.components_table(run)
    description = (
        f"The {len(run.components)} components sorted by the BLEU lost without each, with intervals; dashed lines at 0 "
        f"and {epsilon:g} BLEU. The numbers are in the table of components."
    )
    figure = Figure("BLEU lost without each component", marks.drops(run, epsilon), description, None)
    covers = (
        "Intervals: 95 % over the choice of sentences, for all components together; another training run gives another "
        "model, which they don't cover."
    )
    figures = [figure] if run.column("drop") else []
    return Section("components", "Components", [covers] if figures else [], figures, [("", table)])


def _group_ablation_section(run: Run) -> Section:
    rows = run.group_ablation
    first = [row for row in rows if row["order"] == rows[0]["order"]]
    removed = ", ".join(row["component"] for row in first if row["component"])
    description = (
        f"BLEU falls from {first[0]['validation_bleu']:.2f} to {first[-1]['validation_bleu']:.2f} on validation as "
        f"{removed} are removed in this order ({first[0]['order']})."
    )
    figure = Figure(
        "BLEU as components are removed, without retraining",
        curves.group_ablation(rows),
        description,
        component_tables.group_ablation_table(rows),
        "Orders are chosen on validation; the best of many noisy values looks better there than it is, so test is "
        "drawn too, dashed.",
    )
    return Section("group-ablation", "Group ablation", figures=[figure])


def _scatter_section(run: Run) -> Section:
    both = agreement("contribution", run.column("contribution"), "criticality", run.column("criticality"))
    line = (
        f"Rank correlation over {both.shared} components: Spearman {_rho(both.spearman)}, Kendall {_rho(both.kendall)}."
    )
    rows = [
        [cell(row["component"]), cell(row["contribution"]), cell(row["criticality"])]
        for row in run.components
        if row.get("contribution") is not None and row.get("criticality") is not None
    ]
    figure = Figure(
        "Contribution against criticality",
        marks.scatter(run),
        f"A mark for each of {both.shared} components, contribution across and criticality up. {line}",
        Table(["component", "contribution", "criticality"], rows),
        "Components that share a place stand side by side around it; a mark tells its values when pointed at, and so "
        "does the table.",
    )
    return Section("agreement", "Contribution and criticality", [line], [figure])


def _training_section(run: Run) -> Iterator[Section]:
    groups = {
        "loss (nats per piece)": ("train/loss", "val/loss"),
        "BLEU on validation": ("val/bleu", "val/bleu_greedy"),
    }
    figures = []
    for title, names in groups.items():
        series = {name: run.metrics[name] for name in names if run.metrics.get(name)}
        if not series:
            continue
        series = {name: thinned(points) for name, points in series.items()}
        rows = [
            [cell(name), Cell(f"{step:,}", step), cell(value, ".3f")]
            for name, points in series.items()
            for step, value in points
        ]
        ends = "; ".join(f"{name} ends at {points[-1][1]:.2f}" for name, points in series.items())
        figures.append(
            Figure(
                title.capitalize() if title.startswith("loss") else title,
                curves.curves(series, title),
                f"{title} over the steps of training: {ends}.",
                Table(["metric", "step", "value"], rows),
            )
        )
    if figures:
        yield Section("training", "Training", figures=figures)


def thinned(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return at most about `MOST_POINTS` points of a curve, spread over it, its last one included."""
    stride = max(1, -(-len(points) // MOST_POINTS))
    return [point for place, point in enumerate(reversed(points)) if place % stride == 0][::-1]


def examples_section(run: Run) -> Section:
    """Return translations with and without the most and the least important component."""
    found = run.examples
    shown = []
    for place, words in (("most", "most"), ("least", "least")):
        if place in found:
            each = found[place]
            title = (
                f"Without {named(each['component'])}, the {words} important: BLEU {gained(each['drop'])}, "
                f"{each['changed']:,} of {found['of']:,} hypotheses change"
            )
            shown.append(Examples(title, readings(each)))
    lines = ["The sentences whose own BLEU changes most: chosen to show what happens, not how often."]
    return Section("translations", "Translations", lines, examples=shown)


def _rho(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"
