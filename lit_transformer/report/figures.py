"""Pictures of scores, drawn by matplotlib without a display."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_transformer import files
from lit_transformer.components import KINDS, canonical_key, kind_of, layer_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg")
DPI = 200
_HOLE = "#8a8a8a"
_LINE = "#c4ccd4"
_PALE = "#404040"
_KEY = "E encoder, D decoder; SA self-attention, EA attention to the encoder, FF feed-forward"


def heat_map(scores: Mapping[str, float], path: Path, *, title: str, subtitle: str = "", score: str = "score") -> None:
    """Draw the heat map of Wang & Tu 2020, figure 3: a cell per component, darker for a higher score.

    Rows are layers, the highest on top; columns are the kinds ``e:sa, e:ff, d:sa, d:ea, d:ff``. The colours always
    cover 0 to 1, so that two pictures can be compared; they grow darker steadily, so that the picture can be read in
    grey too. Components without a score (pruned, or of a layer that only the other side has) are hatched.

    Args:
        scores: Contribution or criticality from 0 to 1, by component id.
        path: The picture to write, PNG or SVG by its suffix.
        title: What is shown.
        subtitle: Where the numbers come from, such as model, scoring set and baseline.
        score: What the numbers are, in a word.

    Raises:
        ValueError: There are no scores, one is not from 0 to 1, or the suffix is of neither format.
        UserError: The file can't be written.
    """
    _check(scores)
    layers = max(layer_of(component) for component in scores)
    with drawing(path, (6.4, 1.9 + 0.42 * max(layers, 3)), title) as figure:
        _draw(figure, scores, layers, score)
        figure.axes[0].set_title(textwrap.fill(subtitle, 80), fontsize=9, color=_PALE)


@contextlib.contextmanager
def drawing(path: Path, size: tuple[float, float], title: str) -> Iterator[Figure]:
    """Yield a figure to draw on, and write it; the same drawing gives the same bytes.

    Args:
        path: The picture to write, PNG or SVG by its suffix.
        size: Width and height in inches.
        title: What is shown.

    Raises:
        ValueError: The suffix is of neither format.
        UserError: The file can't be written.
    """
    if path.suffix not in FORMATS:
        raise ValueError(f"cannot draw {path.name!r}; the name has to end in {' or '.join(FORMATS)}")
    # matplotlib takes a second to import, which `--help` should not wait for. Without pyplot there is no global state.
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    # A fixed salt and no date; a dollar in a name is no formula.
    style: dict[Any, Any] = {"svg.hashsalt": "lit-transformer", "svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context(style):
        yield figure
        figure.suptitle(textwrap.fill(title, 60), fontsize=12, fontweight="bold")
        with files.replacing(path) as temporary:
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(temporary, format=path.suffix[1:], dpi=DPI, metadata=metadata)


def _shortened(name: str, length: int) -> str:
    """Return a name without its middle where it is too long: its end tells runs apart."""
    return name if len(name) <= length else f"{name[: length // 3]}…{name[len(name) - length + length // 3 + 1 :]}"


def _check(scores: Mapping[str, float]) -> None:
    if not scores:
        raise ValueError("no scores to draw")
    for component in sorted(scores, key=canonical_key):
        if not 0 <= scores[component] <= 1:
            raise ValueError(f"score of {component} is {scores[component]!r}; it lies from 0 to 1")


def heat_maps(maps: Mapping[str, Mapping[str, float]], path: Path, *, title: str, score: str = "score") -> None:
    """Draw heat maps side by side, on one scale and with as many layers each.

    Args:
        maps: By name, scores as for `heat_map`.
        path: The picture to write, PNG or SVG by its suffix.
        title: What is shown.
        score: What the numbers are, in a word.

    Raises:
        ValueError: There are no scores, one is not from 0 to 1, or the suffix is of neither format.
        UserError: The file can't be written.
    """
    for scores in maps.values():
        _check(scores)
    if not maps:
        raise ValueError("no scores to draw")
    layers = max(layer_of(component) for scores in maps.values() for component in scores)
    columns = min(len(maps), 3)
    rows = math.ceil(len(maps) / columns)
    with drawing(path, (1.0 + 4.2 * columns, 1.2 + rows * (0.9 + 0.38 * max(layers, 3))), title) as figure:
        panels = figure.subplots(rows, columns, squeeze=False)
        for axes in panels.flat[len(maps) :]:
            axes.set_axis_off()
        for axes, (name, scores) in zip(panels.flat, maps.items(), strict=False):
            mesh = _draw_map(axes, scores, layers)
            axes.set_title(_shortened(name, 44), fontsize=9, color=_PALE)
        _add_scale(figure, mesh, list(panels.flat), layers, score)
        figure.supxlabel(
            _key(min(len(scores) for scores in maps.values()) < len(KINDS) * layers), fontsize=7, color=_PALE
        )


def _draw(figure: Figure, scores: Mapping[str, float], layers: int, score_name: str) -> None:
    axes = figure.add_subplot()
    mesh = _draw_map(axes, scores, layers)
    axes.set_ylabel("layer (1 is next to the embeddings)" if layers > 3 else "layer")
    _add_scale(figure, mesh, [axes], layers, score_name)
    figure.supxlabel(_key(len(scores) < len(KINDS) * layers), fontsize=7, color=_PALE)


def _add_scale(figure: Figure, mesh: QuadMesh, panels: list[Axes], layers: int, score_name: str) -> None:
    bar = figure.colorbar(mesh, ax=panels, ticks=[0, 0.25, 0.5, 0.75, 1], aspect=max(12, 3.4 * layers))
    bar.set_label(f"{score_name} (1: most important)", fontsize=9)


def _key(has_holes: bool) -> str:
    return f"{_KEY}; n/a: not scored, or not in the model" if has_holes else _KEY


def _draw_map(axes: Axes, scores: Mapping[str, float], layers: int) -> QuadMesh:
    import numpy as np
    from matplotlib import colormaps

    values = np.full((layers, len(KINDS)), math.nan)
    for component, score in scores.items():
        values[layer_of(component) - 1, KINDS.index(kind_of(component))] = score
    colours = colormaps["Blues"]
    mesh = axes.pcolormesh(np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=1, edgecolors=_LINE, linewidth=0.8)
    for (row, column), score in np.ndenumerate(values):
        if math.isnan(score):
            _draw_hole(axes, row, column)
        else:
            ink = _ink_on(colours(score)[:3])
            axes.text(column + 0.5, row + 0.5, f"{score:.2f}", ha="center", va="center", color=ink, fontsize=10)
    axes.set_xticks(np.arange(len(KINDS)) + 0.5, [kind.upper() for kind in KINDS])
    axes.set_yticks(np.arange(layers) + 0.5, [str(layer) for layer in range(1, layers + 1)])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return mesh


def _draw_hole(axes: Axes, row: int, column: int) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((column + 0.04, row + 0.04), 0.92, 0.92, facecolor="none", edgecolor=_HOLE, hatch="////", linewidth=0)
    )
    box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.15"}
    axes.text(column + 0.5, row + 0.5, "n/a", ha="center", va="center", color=_PALE, fontsize=8, bbox=box)


def _ink_on(background: tuple[float, ...]) -> str:
    """Return black or white, whichever stands out more (relative luminance of WCAG 2.1)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in background]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "white"
