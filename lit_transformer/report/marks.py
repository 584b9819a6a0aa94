"""Pictures with a mark for each component: drops with their intervals, contribution against criticality."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lit_transformer.components import KINDS, kind_of
from lit_transformer.report.charts.beside import beside, reach
from lit_transformer.report.figures import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart in grey and by colour-blind people: by marker too (Okabe & Ito 2008).
KIND_COLOURS = dict(zip(KINDS, ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73"), strict=True))
KIND_MARKERS = dict(zip(KINDS, ("o", "s", "^", "D", "P"), strict=True))
_LINE = "#8a8a8a"


def drops_picture(rows: Sequence[Mapping[str, Any]], path: Path, *, epsilon: float, subtitle: str = "") -> None:
    """Draw the BLEU lost without each component, the most important on top, with intervals.

    Args:
        rows: One per component: ``component``, ``drop`` and, where known, ``drop_lower`` and ``drop_upper``.
        path: The picture to write, PNG or SVG by its suffix.
        epsilon: BLEU points below which a drop makes no difference.
        subtitle: Where the numbers come from.

    Raises:
        ValueError: There is nothing to draw, or the suffix is of neither format.
        UserError: The file can't be written.
    """
    if not rows:
        raise ValueError("no drops to draw")
    ordered = sorted(rows, key=lambda row: float(row["drop"]))
    with drawing(path, (6.4, 1.6 + 0.17 * len(rows)), "BLEU lost without each component") as figure:
        axes = figure.add_subplot()
        for at in (0.0, epsilon):
            axes.axvline(at, color=_LINE, linewidth=0.8, linestyle="--")
        for place, row in enumerate(ordered):
            kind = kind_of(row["component"])
            lower, upper = row.get("drop_lower"), row.get("drop_upper")
            if lower is not None and upper is not None:
                axes.plot([lower, upper], [place, place], color=KIND_COLOURS[kind], linewidth=1.6)
            _mark(axes, float(row["drop"]), place, kind)
        axes.set_yticks(range(len(ordered)), [row["component"] for row in ordered], fontsize=7)
        axes.set_ylim(-0.7, len(ordered) - 0.3)
        axes.set_xlabel("BLEU lost (intervals over the choice of sentences)")
        _finish(axes, {kind_of(row["component"]) for row in rows}, subtitle, "lower right")


def scatter_picture(
    contribution: Mapping[str, float], criticality: Mapping[str, float], path: Path, *, subtitle: str = ""
) -> None:
    """Draw contribution against criticality, a mark for each component that has both.

    Args:
        contribution: Scores from 0 to 1 by component id.
        criticality: The same.
        path: The picture to write, PNG or SVG by its suffix.
        subtitle: Where the numbers come from, and how alike they are.

    Raises:
        ValueError: There is nothing to draw, or the suffix is of neither format.
        UserError: The file can't be written.
    """
    shared = [name for name in contribution if name in criticality]
    if not shared:
        raise ValueError("no component has both scores")
    with drawing(path, (5.6, 4.6), "Contribution against criticality") as figure:
        axes = figure.add_subplot()
        drawn = beside({name: (contribution[name], criticality[name]) for name in shared})
        for name, (across, up) in drawn.items():
            _mark(axes, across, up, kind_of(name))
        axes.set_xlim(*reach(drawn.values())[0])
        axes.set_ylim(*reach(drawn.values())[1])
        axes.set_xticks(ticks := [tenths / 10 for tenths in range(0, 11, 2)])
        axes.set_yticks(ticks)
        figure.supxlabel("Components that share a place stand side by side around it.", fontsize=7, color="#404040")
        axes.set_xlabel("contribution")
        axes.set_ylabel("criticality")
        _finish(axes, {kind_of(name) for name in shared}, subtitle, "best")


def _mark(axes: Axes, x: float, y: float, kind: str) -> None:
    axes.plot(
        x, y, marker=KIND_MARKERS[kind], color=KIND_COLOURS[kind], markersize=6, markeredgecolor="black",
        markeredgewidth=0.4,
    )  # fmt: skip


def _finish(axes: Axes, kinds: set[str], subtitle: str, place: Literal["best", "lower right"]) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], linestyle="", marker=KIND_MARKERS[kind], color=KIND_COLOURS[kind], label=kind.upper())
        for kind in KINDS
        if kind in kinds
    ]
    axes.legend(handles=marks, frameon=False, fontsize=8, loc=place)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title(textwrap.fill(subtitle, 80), fontsize=8, color="#404040")
