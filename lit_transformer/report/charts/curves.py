"""Charts of lines: BLEU as components are removed, and training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lit_transformer.report.charts.vega import Rows, Spec, chart_of, series_colours, series_shapes, specification


def group_ablation(rows: Rows) -> Spec:
    """Return BLEU as components are removed one after another: a line for each order and split, random ones as a band.

    Args:
        rows: One per order and step: ``order``, ``step``, ``component`` and, per split, ``<split>_bleu``.
    """
    import altair as alt

    points = group_ablation_rows(rows)
    orders, splits = ([*dict.fromkeys(str(point[name]) for point in points)] for name in ("order", "split"))
    lowest = min((point["lowest"] for point in points), default=0)
    highest = max((point["highest"] for point in points), default=0)
    base = chart_of(
        points, "A line for each order of removal and each split; BLEU falls as components are removed."
    ).encode(x=_steps(points, orders))
    # From 0 where BLEU falls far: small losses would be a flat line there.
    bleu: dict[str, Any] = {"title": "BLEU", "scale": alt.Scale(zero=lowest < highest / 2)}
    key = alt.Legend(title=None, symbolOpacity=1, symbolSize=100, labelLimit=300, columns=2)
    colour = alt.Color("order:N", scale=alt.Scale(domain=orders, range=series_colours()), legend=key)
    dash = alt.StrokeDash(
        "split:N",
        scale=alt.Scale(domain=["validation", "test"], range=[[1, 0], [5, 3]]),
        # Not beside the orders: together they would not fit a phone.
        legend=alt.Legend(title=None, values=splits, orient="bottom", symbolStrokeColor="var(--ink)", symbolSize=200),
    )
    band = base.mark_area(opacity=0.18).encode(
        y=alt.Y("lowest:Q", **bleu), y2="highest:Q", color=colour, detail="split:N"
    )
    line = base.mark_line(strokeWidth=2).encode(y=alt.Y("bleu:Q", **bleu), color=colour, strokeDash=dash)
    # The shape tells the orders apart in grey.
    mark = base.mark_point(filled=True, size=50, opacity=1).encode(
        y=alt.Y("bleu:Q", **bleu),
        color=colour,
        shape=alt.Shape("order:N", scale=alt.Scale(domain=orders, range=series_shapes()), legend=key),
        tooltip=["order:N", "split:N", "step:Q", "removed:N", alt.Tooltip("bleu:Q", format=".2f", title="BLEU")],
    )
    spread = any(point["lowest"] != point["highest"] for point in points)
    return specification((band + line + mark if spread else line + mark).properties(width="container", height=300))


def _steps(points: Rows, orders: Sequence[str]) -> Any:
    """Return the axis of steps, with the component that each removes where there is one order."""
    import altair as alt

    removed = {point["step"]: point["removed"] if point["step"] else "" for point in points}
    steps = sorted(removed)
    names: dict[str, Any] = {}
    if len(orders) == 1 and any(removed.values()):
        names["labelExpr"] = f"[datum.label, {json.dumps([removed[step] for step in steps])}[datum.value]]"
    axis = alt.Axis(values=steps, labelOverlap=True, **names)
    return alt.X("step:Q", title="components removed", scale=alt.Scale(nice=False, padding=15), axis=axis)


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
    scale = alt.Scale(range=series_colours())
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
