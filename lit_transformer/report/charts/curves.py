"""Charts of lines: BLEU as components are removed, and training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lit_transformer.report.charts.vega import Rows, Spec, chart_of, specification


def group_ablation(rows: Rows) -> Spec:
    """Return BLEU as components are removed one after another: a line for each order and split, random ones as a band.

    Args:
        rows: One per order and step: ``order``, ``step``, ``component`` and, per split, ``<split>_bleu``.
    """
    import altair as alt

    points = group_ablation_rows(rows)
    x = alt.X("step:Q", title="components removed", axis=alt.Axis(tickMinStep=1, format="d"))
    base = chart_of(points, "A line for each order of removal and each split; BLEU falls as components are removed.")
    colour = alt.Color(
        "order:N",
        scale=alt.Scale(range=[f"var(--series-{n})" for n in range(6)]),
        legend=alt.Legend(title=None, symbolOpacity=1, labelLimit=300),
    )
    dash = alt.StrokeDash(
        "split:N",
        scale=alt.Scale(domain=["validation", "test"], range=[[1, 0], [5, 3]]),
        legend=None,
    )
    band = base.mark_area(opacity=0.18).encode(
        x=x,
        y=alt.Y("lowest:Q", scale=alt.Scale(zero=False), title="BLEU"),
        y2="highest:Q",
        color=colour,
        detail="split:N",
    )
    tooltip = ["order:N", "split:N", "step:Q", "removed:N", alt.Tooltip("bleu:Q", format=".2f", title="BLEU")]
    line = base.mark_line(point=alt.OverlayMarkDef(size=45), strokeWidth=2).encode(
        x=x,
        y=alt.Y("bleu:Q", scale=alt.Scale(zero=False), title="BLEU"),
        color=colour,
        strokeDash=dash,
        tooltip=tooltip,
    )
    named = (
        base.transform_filter("datum.last")
        .mark_text(align="left", dx=7, fontSize=12)
        .encode(x=x, y=alt.Y("bleu:Q", scale=alt.Scale(zero=False), title="BLEU"), text="split:N", color=colour)
    )
    if len({point["order"] for point in points}) == 1:
        # The labels of several orders would lie on each other.
        line += named
    spread = any(point["lowest"] != point["highest"] for point in points)
    return specification((band + line if spread else line).properties(width="container", height=300))


def group_ablation_rows(rows: Rows) -> list[dict[str, Any]]:
    """Return the points of the curves; orders named ``<order>-<seed>`` become their mean, lowest and highest."""
    families: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        families.setdefault(str(row["order"]).partition("-")[0], {}).setdefault(str(row["order"]), []).append(row)
    points = []
    for family, orders in families.items():
        # Random orders that lose too much end earlier than others; a mean goes as far as all of them.
        length = min(len(order) for order in orders.values())
        for step in range(length):
            here = [order[step] for order in orders.values()]
            for split in ("validation", "test"):
                values = [float(row[f"{split}_bleu"]) for row in here if row.get(f"{split}_bleu") not in (None, "")]
                if len(values) < len(here):
                    continue
                points.append(
                    {
                        "order": family if len(here) == 1 else f"{family}, mean of {len(here)}",
                        "split": split,
                        "step": step,
                        "removed": (here[0]["component"] or "nothing") if len(here) == 1 else "",
                        "bleu": sum(values) / len(values),
                        "lowest": min(values),
                        "highest": max(values),
                        "last": step + 1 == length,
                    }
                )
    return points


def curves(series: Mapping[str, Sequence[tuple[int, float]]], title: str) -> Spec:
    """Return lines over optimizer steps.

    Args:
        series: Steps and values by name.
        title: What the values are, with their unit.
    """
    import altair as alt

    rows = [{"metric": name, "step": step, "value": value} for name, points in series.items() for step, value in points]
    scale = alt.Scale(range=[f"var(--series-{n})" for n in range(6)])
    line = (
        chart_of(rows, f"{title} over the steps of training.")
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=25) if len(rows) < 120 else False)
        .encode(
            x=alt.X("step:Q", title="step"),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
            color=alt.Color("metric:N", scale=scale, legend=alt.Legend(title=None)),
            strokeDash=alt.StrokeDash("metric:N", legend=alt.Legend(title=None)),
            tooltip=["metric:N", "step:Q", alt.Tooltip("value:Q", format=".4g")],
        )
    )
    return specification(line.properties(width="container", height=230))
