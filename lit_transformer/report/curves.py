"""The curve of BLEU as components are removed, drawn by matplotlib without a display."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_transformer.report.figures import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart in grey and by colour-blind people: by marker and dash too (Okabe & Ito 2008).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = {"validation": "-", "test": "--"}


def group_ablation_curve(rows: Sequence[Mapping[str, Any]], path: Path, *, subtitle: str = "") -> None:
    """Draw BLEU against the number of removed components (Wang & Tu 2020, figure 9 a), a line per order and split.

    Orders named ``<order>-<seed>`` are drawn as the mean of all seeds, with their range. Where there is one order, the
    components stand at its steps.

    Args:
        rows: One per order and step: ``order``, ``step``, ``component`` and, per split, ``<split>_bleu``.
        path: The picture to write, PNG or SVG by its suffix.
        subtitle: Where the numbers come from.

    Raises:
        ValueError: There is nothing to draw, or the suffix is of neither format.
        UserError: The file can't be written.
    """
    if not rows:
        raise ValueError("no curve to draw")
    families: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        families.setdefault(str(row["order"]).partition("-")[0], {}).setdefault(str(row["order"]), []).append(row)
    with drawing(path, (7.2, 4.4), "BLEU as components are removed, without retraining") as figure:
        axes = figure.add_subplot()
        for place, (family, orders) in enumerate(families.items()):
            for split, dash in _DASHES.items():
                if all(row.get(f"{split}_bleu") not in (None, "") for order in orders.values() for row in order):
                    _draw_family(axes, family, list(orders.values()), split, dash, place)
        if len(families) == 1 and len(next(iter(families.values()))) == 1:
            steps = next(iter(next(iter(families.values())).values()))
            labels = [f"{row['step']}\n{row['component']}" if row["component"] else "0" for row in steps]
            axes.set_xticks([int(row["step"]) for row in steps], labels, fontsize=8)
        else:
            axes.set_xticks(range(1 + max(int(row["step"]) for row in rows)))
        axes.set_xlabel("components removed")
        axes.set_ylabel("BLEU")
        _set_limits(axes)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
        axes.set_title(textwrap.fill(subtitle, 90), fontsize=9, color="#404040")


def _set_limits(axes: Axes) -> None:
    """Begin at 0 where BLEU falls far, and else show the losses, which from 0 would be a line."""
    lowest, highest = axes.dataLim.intervaly
    if lowest < highest / 2:
        axes.set_ylim(0, 1.08 * highest)
    else:
        room = max(0.08 * (highest - lowest), 0.05)
        axes.set_ylim(lowest - room, highest + room)


def _draw_family(
    axes: Axes, family: str, orders: Sequence[Sequence[Mapping[str, Any]]], split: str, dash: str, place: int
) -> None:
    # Random orders that lose too much end earlier than others; a mean is drawn as far as all of them go.
    length = min(len(order) for order in orders)
    curves = [[float(row[f"{split}_bleu"]) for row in order[:length]] for order in orders]
    mean = [sum(values) / len(values) for values in zip(*curves, strict=True)]
    colour = _COLOURS[place % len(_COLOURS)]
    label = f"{family}, {split}" + (f" (mean and range of {len(orders)})" if len(orders) > 1 else "")
    steps = range(length)
    axes.plot(steps, mean, dash, color=colour, marker=_MARKERS[place % len(_MARKERS)], markersize=4, label=label)
    if len(orders) > 1:
        lowest, highest = ([pick(values) for values in zip(*curves, strict=True)] for pick in (min, max))
        axes.fill_between(steps, lowest, highest, color=colour, alpha=0.15, linewidth=0)
