"""Charts with a mark for each component or run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lit_transformer.components import kind_of
from lit_transformer.report.charts.beside import beside, reach
from lit_transformer.report.charts.vega import Rows, Spec, chart_of, kind_colour, kind_shape, specification
from lit_transformer.report.runs import Run


def drops(run: Run, epsilon: float) -> Spec:
    """Return the BLEU lost without each component, sorted, with intervals.

    Args:
        run: The run.
        epsilon: BLEU points below which a drop makes no difference.
    """
    import altair as alt

    rows = [_drop_row(row) for row in run.components if row.get("drop") is not None]
    order = [row["component"] for row in sorted(rows, key=lambda row: -row["drop"])]
    y = alt.Y("component:N", sort=order, title=None, axis=alt.Axis(grid=True))
    tooltip = [
        alt.Tooltip("component:N"),
        alt.Tooltip("drop:Q", title="BLEU lost", format="+.2f"),
        alt.Tooltip("lower:Q", title="from", format="+.2f"),
        alt.Tooltip("upper:Q", title="to", format="+.2f"),
        alt.Tooltip("label:N", title="sure"),
    ]
    base = chart_of(rows, "A mark for each component, sorted by the BLEU lost without it, with its interval.").encode(
        y=y, tooltip=tooltip
    )
    # Thirty lines of a grid would hide the marks.
    axis = alt.Axis(tickCount=8)
    title = "BLEU lost without the component"
    marks = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("drop:Q", title=title, axis=axis), color=kind_colour(), shape=kind_shape()
    )
    # A rule without bounds makes the console speak, and so does a layer without rows.
    if any(row["lower"] is not None for row in rows):
        known = base.transform_filter("isValid(datum.lower)").mark_rule(strokeWidth=2)
        marks = known.encode(x=alt.X("lower:Q", title=title, axis=axis), x2="upper:Q", color=kind_colour()) + marks
    lines = alt.Chart(alt.Data(values=[{"at": 0.0}, {"at": epsilon}])).mark_rule(
        stroke="var(--faint)", strokeDash=[4, 3]
    )
    return specification((lines.encode(x="at:Q") + marks).properties(width="container", height=19 * len(rows)))


def scatter(run: Run) -> Spec:
    """Return contribution against criticality, a mark for each component that has both."""
    import altair as alt

    contribution, criticality = run.column("contribution"), run.column("criticality")
    places = {name: (contribution[name], criticality[name]) for name in contribution if name in criticality}
    drawn = beside(places)
    rows = [
        {
            "component": name,
            "kind": kind_of(name),
            "contribution": contribution[name],
            "criticality": criticality[name],
            "across": drawn[name][0],
            "up": drawn[name][1],
        }
        for name in places
    ]
    across, up = (alt.Scale(domain=list(bounds), nice=False) for bounds in reach(drawn.values()))
    axis = alt.Axis(values=[tenths / 10 for tenths in range(0, 11, 2)], format=".1f")
    base = chart_of(rows, "A mark for each component: contribution across, criticality up.").encode(
        x=alt.X("across:Q", scale=across, title="contribution", axis=axis),
        y=alt.Y("up:Q", scale=up, title="criticality", axis=axis),
        tooltip=[
            "component:N",
            alt.Tooltip("contribution:Q", format=".2f"),
            alt.Tooltip("criticality:Q", format=".1f"),
        ],
    )
    points = base.mark_point(filled=True, size=90, opacity=0.85).encode(color=kind_colour(), shape=kind_shape())
    return specification(points.properties(width="container", height=300))


def differences(rows: Rows, control: str) -> Spec:
    """Return the arms of a family of a study beside their control: a mark for each run, intervals over the seeds.

    Args:
        rows: ``arm``, ``difference`` and, where there are several seeds, ``seed``, ``lower``, ``upper``.
        control: Name of the control.
    """
    import altair as alt

    base = chart_of(rows, f"A mark for each run of an arm: BLEU on test minus that of {control}.").encode(
        y=alt.Y("arm:N", sort=list(dict.fromkeys(row["arm"] for row in rows)), title=None, axis=alt.Axis(grid=True)),
        tooltip=["arm:N", "seed:N", alt.Tooltip("difference:Q", format="+.2f")],
    )
    zero = (
        alt.Chart(alt.Data(values=[{"at": 0.0}])).mark_rule(stroke="var(--faint)", strokeDash=[4, 3]).encode(x="at:Q")
    )
    known = base.transform_filter("isValid(datum.lower) && isValid(datum.upper)")
    bars = known.mark_rule(strokeWidth=3, stroke="var(--series-0)", opacity=0.5).encode(x="lower:Q", x2="upper:Q")
    points = (
        base.transform_filter("isValid(datum.difference)")
        .mark_point(filled=True, size=60, color="var(--series-1)", opacity=0.9)
        .encode(x=alt.X("difference:Q", title=f"test BLEU minus {control}", axis=alt.Axis(tickCount=8)))
    )
    spread = any(row.get("lower") is not None for row in rows)
    return specification(
        (zero + bars + points if spread else zero + points).properties(
            width="container", height=24 * len({row["arm"] for row in rows})
        )
    )


def _drop_row(row: Mapping[str, Any]) -> dict[str, Any]:
    lower, upper = row.get("drop_lower"), row.get("drop_upper")
    whole = lower is not None and upper is not None
    return {
        "component": row["component"],
        "kind": row["kind"],
        "drop": row["drop"],
        # An edited file may have one of them, or null.
        "lower": lower if whole else None,
        "upper": upper if whole else None,
        "label": row.get("label", ""),
    }
