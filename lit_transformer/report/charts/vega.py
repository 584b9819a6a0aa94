"""What all charts have in common: Vega-Lite specifications made by Altair, in the colours of the page.

Colours are CSS variables (``var(--...)``), so that light, dark and printed pages and pictures need no second drawing.
The five kinds of component are told apart by shape too, and the steps of a heat map by lightness (Okabe & Ito 2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lit_transformer.components import KINDS

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

STEPS = 10
"""Shades of a heat map from 0 to 1."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def library_version() -> str:
    """Return the version of Vega-Lite that Altair's specifications are made for, such as ``v6.1``."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.split(".")[:2])


def chart_of(rows: Rows, description: str) -> Any:
    """Return a chart of rows, with what it looks like for those who don't see it."""
    import altair as alt

    return alt.Chart(alt.Data(values=[dict(row) for row in rows]), description=description)


def specification(chart: Any) -> Spec:
    """Return a chart as Vega-Lite, in the colours of the page."""
    spec: Spec = chart.to_dict()
    spec["config"] = {
        "background": "transparent",
        # Of these a browser can tell the width of a text before it is drawn.
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": "var(--ink)",
            "titleColor": "var(--ink)",
            "gridColor": "var(--line)",
            "domainColor": "var(--line)",
            "tickColor": "var(--line)",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            # The first and the last label stand at their ticks too.
            "labelFlush": False,
        },
        "legend": {"labelColor": "var(--ink)", "titleColor": "var(--ink)", "orient": "top", "labelFontSize": 12}
        # Long enough for a label at each of ten bounds.
        | {"gradientLength": 440, "gradientStrokeColor": "var(--line)", "gradientStrokeWidth": 1},
    }
    spec.pop("usermeta", None)
    return spec


def shades(
    field: str,
    title: str,
    most: float = 1.0,
    below: str = "",
    legend: Literal["top", "bottom"] | None = "top",
    form: str = ".1f",
) -> Any:
    """Return the colour of a number by its shade: darker for more, in tenths; below zero a colour of its own.

    Args:
        field: The column.
        title: What it is, for the legend.
        most: The number of the darkest shade.
        below: What a number below zero is called, where there may be one.
        legend: Where the legend lies; no legend where None.
        form: How a bound is written there, fine enough to tell the shades apart.
    """
    import altair as alt

    domain = [most * threshold for threshold in thresholds()]
    colours = [f"var(--heat-{step})" for step in range(STEPS)]
    if below:
        domain, colours = [-1e-9, *domain], ["var(--negative)", *colours]
    bound = f"format(max(datum.value, 0), '{form}')"
    # The lower bound of the first step is minus infinity.
    labels = f"datum.value < -1 ? '{below}' : {bound}" if below else bound
    key = None if legend is None else alt.Legend(title=title, direction="horizontal", orient=legend, labelExpr=labels)
    return alt.Color(f"{field}:Q", scale=alt.Scale(type="threshold", domain=domain, range=colours), legend=key)


def ink_on(value: str) -> str:
    """Return the expression of the colour of a text on the shade of a number.

    Args:
        value: The expression of the number, from 0 to 1.
    """
    inks = ", ".join(f"'var(--heat-ink-{step})'" for step in range(STEPS))
    return f"[{inks}][min(floor({value} * {STEPS} + 1e-9), {STEPS - 1})]"


def kind_colour() -> Any:
    """Return the colour of a kind of component."""
    import altair as alt

    colours = [f"var(--kind-{place})" for place in range(len(KINDS))]
    return alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range=colours), legend=alt.Legend(title=None))


def kind_shape() -> Any:
    """Return the shape of a kind of component."""
    import altair as alt

    return alt.Shape("kind:N", scale=alt.Scale(domain=list(KINDS), range=list(_SHAPES)), legend=alt.Legend(title=None))


def series_colours() -> list[str]:
    """Return the colours of lines."""
    return [f"var(--series-{n})" for n in range(6)]


def series_shapes() -> list[str]:
    """Return the shapes of the points of lines, one for each of their colours."""
    return [*_SHAPES, "triangle-down"]


def thresholds() -> list[float]:
    """Return where one shade of a heat map ends and the next begins."""
    # A little below each tenth, so that a score such as 0.3 has the shade of its own tenth.
    return [step / STEPS - 1e-9 for step in range(1, STEPS)]
