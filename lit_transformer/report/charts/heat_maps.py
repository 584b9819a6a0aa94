"""Charts of shaded cells: scores of one run and of many, rank correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lit_transformer.components import KINDS, canonical_key, kind_of, layer_of
from lit_transformer.report.charts.vega import Rows, Spec, chart_of, ink_on, shades, specification
from lit_transformer.report.runs import Run

MOST_NUMBERS = 16
"""Runs whose matrix has its numbers written into it."""
PANEL_WIDTH = 270
"""Pixels of a heat map that stands beside others in a picture."""


def heat_map(scores: Mapping[str, float], layers: int | None = None, legend: str = "") -> Spec:
    """Return a heat map in the layout of Wang & Tu 2020, figure 3: kinds across, layers up, darker for more important.

    Args:
        scores: Contribution or criticality from 0 to 1, by component id.
        layers: Rows to draw, so that several maps stand side by side; as many as there are where not given.
        legend: Title of the legend below the map; no legend where empty.
    """
    import altair as alt

    rows = heat_map_rows(scores, layers)
    base = chart_of(rows, "Rows are layers, columns kinds of components.").encode(
        x=alt.X("kind:N", sort=list(KINDS), title=None, axis=alt.Axis(orient="bottom", labelAngle=0)),
        y=alt.Y("layer:O", sort="descending", title="layer"),
        tooltip=[alt.Tooltip("component:N"), alt.Tooltip("score:Q", format=".2f")],
    )
    colour = shades("score", legend, legend="bottom" if legend else None)
    # Cells of a low score, pale as the page, need an edge.
    edge = {"stroke": "var(--line)", "strokeWidth": 1}
    hole = base.transform_filter("!isValid(datum.score)").mark_rect(color="var(--hole)", **edge)
    shade = base.mark_rect(**edge).encode(color=colour)
    ink = ink_on("datum.score")
    text = base.mark_text(fontSize=12).encode(
        text="text:N",
        color=alt.condition("!isValid(datum.score)", alt.value("var(--faint)"), alt.value(alt.ExprRef(expr=ink))),
    )
    return specification(
        (hole + shade + text).properties(width="container", height=30 * len({row["layer"] for row in rows}))
    )


def side_by_side(maps: Mapping[str, Mapping[str, float]], legend: str) -> Spec:
    """Return heat maps beside each other, three in a row, with one legend and as many layers each.

    Args:
        maps: By name, scores from 0 to 1 by component id.
        legend: Title of the legend.
    """
    layers = max(layer_of(name) for scores in maps.values() for name in scores)
    panels = {name: heat_map(scores, layers, legend) for name, scores in maps.items()}
    shared = {key: next(iter(panels.values()))[key] for key in ("$schema", "config")}
    style = {"color": "var(--ink)", "fontSize": 12, "fontWeight": "normal"}
    return shared | {
        "concat": [
            {key: value for key, value in panel.items() if key not in shared}
            | {"width": PANEL_WIDTH, "title": {"text": _shortened(name, 40), **style}}
            for name, panel in panels.items()
        ],
        "columns": 3,
        "resolve": {"scale": {"color": "shared"}},
    }


def _shortened(name: str, length: int) -> str:
    """Return a name without its middle where it is too long: its end tells runs apart."""
    return name if len(name) <= length else f"{name[: length // 3]}…{name[len(name) - length + length // 3 + 1 :]}"


def heat_map_rows(scores: Mapping[str, float], layers: int | None = None) -> list[dict[str, Any]]:
    """Return a row for each cell of a heat map, holes included."""
    layers = layers or max((layer_of(name) for name in scores), default=0)
    return [
        {
            "component": f"{kind}:{layer}",
            "kind": kind,
            "layer": layer,
            "score": scores.get(f"{kind}:{layer}"),
            "text": f"{scores[f'{kind}:{layer}']:.2f}" if f"{kind}:{layer}" in scores else "–",
        }
        for layer in range(layers, 0, -1)
        for kind in KINDS
    ]


def matrix(rows: Rows, names: Sequence[str], title: str) -> Spec:
    """Return a square of rank correlations.

    Args:
        rows: ``first``, ``second`` and ``value`` from -1 to 1 of each ordered pair of different runs.
        names: The runs, in order.
        title: Name of the coefficient.
    """
    import altair as alt

    base = chart_of(rows, f"{title} of each pair of runs.").encode(
        x=alt.X("second:N", sort=list(names), title=None, axis=alt.Axis(labelAngle=-40, labelLimit=220)),
        y=alt.Y("first:N", sort=list(names), title=None, axis=alt.Axis(labelLimit=220)),
        tooltip=["first:N", "second:N", alt.Tooltip("value:Q", title=title, format=".2f"), "shared:Q"],
    )
    square = base.mark_rect(stroke="var(--page)").encode(
        color=shades("value", title, below="< 0", legend="top" if len(names) > MOST_NUMBERS else None)
    )
    if len(names) > MOST_NUMBERS:
        return specification(square.properties(width={"step": 14}, height={"step": 14}))
    ink = f"datum.value < 0 ? 'var(--ink)' : {ink_on('datum.value')}"
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("value:Q", format=".2f"), color=alt.value(alt.ExprRef(expr=ink))
    )
    return specification((square + text).properties(width={"step": 46}, height={"step": 28}))


def all_runs(runs: Sequence[Run], column: str) -> Spec:
    """Return one heat map of many runs: a row for each run, a column for each component.

    Args:
        runs: The runs.
        column: A score from 0 to 1.
    """
    import altair as alt

    rows = [
        {"run": run.label, "component": name, "kind": kind_of(name), "layer": layer_of(name), "score": score}
        for run in runs
        for name, score in run.column(column).items()
    ]
    components = sorted({str(row["component"]) for row in rows}, key=canonical_key)
    chart = (
        chart_of(rows, "A row for each run, a column for each component; what stands out from the page is important.")
        .mark_rect()
        .encode(
            x=alt.X("component:N", sort=components, title=None, axis=alt.Axis(labelAngle=-90)),
            y=alt.Y("run:N", sort=[run.label for run in runs], title=None, axis=alt.Axis(labelLimit=200)),
            color=shades("score", column),
            tooltip=["run:N", "component:N", alt.Tooltip("score:Q", format=".2f")],
        )
    )
    return specification(chart.properties(width={"step": 16}, height={"step": 12}))


def losses(lost: Mapping[str, Mapping[str, float]]) -> Spec:
    """Return shares lost without each component, across, in each group of sentences, down; darker for more.

    Args:
        lost: Shares from -1 to 1, by group and component.
    """
    import altair as alt

    rows = [
        {"group": group, "component": component, "lost": value}
        for group, values in lost.items()
        for component, value in values.items()
    ]
    components = sorted({str(row["component"]) for row in rows}, key=canonical_key)
    # Where nothing is lost the shades still need an order.
    most = max(0.01, *(value for values in lost.values() for value in values.values()))
    chart = (
        chart_of(rows, "A row for each group of sentences, a column for each component; where much is lost stands out.")
        .mark_rect(stroke="var(--page)")
        .encode(
            x=alt.X("component:N", sort=components, title=None, axis=alt.Axis(labelAngle=-90)),
            y=alt.Y("group:N", sort=list(lost), title=None),
            color=shades("lost", "share lost", most, "gain", form=".1%" if most < 0.1 else ".0%"),
            tooltip=["group:N", "component:N", alt.Tooltip("lost:Q", format="+.0%")],
        )
    )
    return specification(chart.properties(width={"step": 24}, height={"step": 18}))
