"""Charts as PNG and SVG, for papers and slides: those that an analysis draws, and those of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_transformer.components import KINDS, canonical_key, layer_of
from lit_transformer.report.agreement import UNIMPORTANT, agreement
from lit_transformer.report.charts import curves, heat_maps, marks
from lit_transformer.report.charts.rendering import FORMATS, write_picture
from lit_transformer.report.charts.vega import Spec
from lit_transformer.report.runs import SCORES, Run

LARGEST = 12
"""Runs whose heat maps are drawn in one picture."""
_KINDS = "e: encoder, d: decoder; sa: self-attention, ea: attention to the encoder, ff: feed-forward"
_LAYERS = "Layer 1 is next to the embeddings"
_HOLES = "–: not scored, or not in the model"
_CURVE = "BLEU as components are removed, without retraining"


def heat_map(scores: Mapping[str, float], path: Path, *, title: str, subtitle: str = "", score: str = "score") -> None:
    """Draw the heat map of Wang & Tu 2020, figure 3: a cell per component, darker for a higher score.

    Rows are layers, the highest on top; columns are the kinds ``e:sa, e:ff, d:sa, d:ea, d:ff``. The shades always
    cover 0 to 1, so that two pictures can be compared, and can be told apart in grey too.

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
    _check_scores(scores)
    chart = heat_maps.heat_map(scores, legend=_legend(score))
    write_picture(chart, path, title=title, subtitle=f"{subtitle}\n{_key(scores)}")


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
    write_picture(curves.group_ablation(rows), path, title=_CURVE, subtitle=f"{subtitle}\n{_KINDS}")


def run_pictures(run: Run, folder: Path) -> list[Path]:
    """Draw what a run found, each picture in both formats.

    Args:
        run: The run.
        folder: Where to write them.

    Returns:
        The files.

    Raises:
        UserError: A file can't be written.
    """
    return [
        path
        for name, chart, title, subtitle in _charts_of(run)
        for path in _write(chart, folder, name, title, subtitle)
    ]


def runs_pictures(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Draw the heat maps of several runs side by side, each picture in both formats.

    Args:
        runs: The runs; the first `LARGEST` that have a score are drawn.
        folder: Where to write them.

    Returns:
        The files.

    Raises:
        UserError: A file can't be written.
    """
    drawn: list[Path] = []
    for score in SCORES:
        maps = {run.label: scores for run in runs if (scores := run.column(score))}
        shown = dict(list(maps.items())[:LARGEST])
        if not shown:
            continue
        title = score.capitalize() + (f" (the first {LARGEST} of {len(maps)} runs)" if len(maps) > LARGEST else "")
        drawn += _write(heat_maps.side_by_side(shown, _legend(score)), folder, score, title, _key(*shown.values()))
    return drawn


def _charts_of(run: Run) -> Iterator[tuple[str, Spec, str, str]]:
    """Yield the name, chart, title and subtitle of each picture of a run."""
    where = _subtitle(run)
    maps = {score: scores for score in SCORES if (scores := run.column(score))}
    for score, scores in maps.items():
        chart = heat_maps.heat_map(scores, legend=_legend(score))
        yield score, chart, score.capitalize(), f"{where}\n{_key(scores)}"
    if len(maps) == len(SCORES):
        chart, title = heat_maps.side_by_side(maps, _legend("score")), "Contribution and criticality"
        yield "scores", chart, title, f"{where}\n{_key(*maps.values())}"
    if run.column("drop"):
        epsilon = float(run.scores.get("contribution", {}).get("epsilon", UNIMPORTANT))
        key = f"Dashed lines at 0 and {epsilon:g} BLEU; 95 % intervals over the choice of sentences."
        yield "drops", marks.drops(run, epsilon), "BLEU lost without each component", f"{where}\n{key}\n{_KINDS}"
    if len(maps) == len(SCORES) and maps["contribution"].keys() & maps["criticality"].keys():
        both = agreement("contribution", maps["contribution"], "criticality", maps["criticality"])
        rho = "" if both.spearman is None else f"Spearman {both.spearman:.2f}, Kendall {both.kendall:.2f}. "
        key = f"{rho}Components that share a place stand side by side around it."
        yield "scatter", marks.scatter(run), "Contribution against criticality", f"{where}\n{key}\n{_KINDS}"
    if run.group_ablation:
        yield "group_ablation", curves.group_ablation(run.group_ablation), _CURVE, f"{where}\n{_KINDS}"


def _write(chart: Spec, folder: Path, name: str, title: str, subtitle: str) -> list[Path]:
    paths = [folder / f"{name}{suffix}" for suffix in FORMATS]
    for path in paths:
        write_picture(chart, path, title=title, subtitle=subtitle)
    return paths


def _check_scores(scores: Mapping[str, float]) -> None:
    if not scores:
        raise ValueError("no scores to draw")
    for component in sorted(scores, key=canonical_key):
        if not 0 <= scores[component] <= 1:
            raise ValueError(f"score of {component} is {scores[component]!r}; it lies from 0 to 1")


def _legend(score: str) -> str:
    return f"{score} (1: most important)"


def _key(*maps: Mapping[str, float]) -> str:
    """Return how to read heat maps, with the mark of a missing score where there is one."""
    layers = max(layer_of(component) for scores in maps for component in scores)
    has_holes = any(len(scores) < len(KINDS) * layers for scores in maps)
    return f"{_KINDS}\n{_LAYERS}; {_HOLES}" if has_holes else f"{_KINDS}\n{_LAYERS}"


def _subtitle(run: Run) -> str:
    bleu = run.baseline.get("bleu")
    told = "" if bleu is None else f": baseline {bleu:.2f} BLEU, {run.scoring_set}"
    return f"{run.label}, {run.scores.get('checkpoint', '')}{told}"
