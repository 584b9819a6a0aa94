"""The pictures of a report as PNG and SVG, for papers and slides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lit_transformer.report.agreement import UNIMPORTANT, agreement
from lit_transformer.report.curves import group_ablation_curve
from lit_transformer.report.figures import FORMATS, heat_map, heat_maps
from lit_transformer.report.marks import drops_picture, scatter_picture
from lit_transformer.report.runs import SCORES, Run

LARGEST = 12
"""Runs whose heat maps are drawn in one picture."""


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
    subtitle = _subtitle(run)
    drawn: list[Path] = []
    for score in SCORES:
        if scores := run.column(score):
            drawn += _draw(folder, score, lambda path, s=scores, n=score: heat_map(  # type: ignore[misc]
                s, path, title=n.capitalize(), subtitle=subtitle, score=n
            ))  # fmt: skip
    contribution, criticality = (run.column(score) for score in SCORES)
    if contribution and criticality:
        maps = {"contribution": contribution, "criticality": criticality}
        drawn += _draw(folder, "scores", lambda path: heat_maps(maps, path, title=run.label))
    dropped = [row for row in run.components if row.get("drop") is not None]
    if dropped:
        epsilon = float(run.scores.get("contribution", {}).get("epsilon", UNIMPORTANT))
        drawn += _draw(folder, "drops", lambda path: drops_picture(dropped, path, epsilon=epsilon, subtitle=subtitle))
    if contribution.keys() & criticality.keys():
        both = agreement("contribution", contribution, "criticality", criticality)
        rho = "" if both.spearman is None else f"Spearman {both.spearman:.2f}, Kendall {both.kendall:.2f}; "
        drawn += _draw(
            folder,
            "scatter",
            lambda path: scatter_picture(contribution, criticality, path, subtitle=rho + subtitle),
        )
    if run.group_ablation:
        drawn += _draw(
            folder, "group_ablation", lambda path: group_ablation_curve(run.group_ablation, path, subtitle=subtitle)
        )
    return drawn


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
        drawn += _draw(folder, score, lambda path, m=shown, t=title, n=score: heat_maps(m, path, title=t, score=n))  # type: ignore[misc]
    return drawn


def _draw(folder: Path, name: str, draw: Callable[[Path], None]) -> list[Path]:
    paths = [folder / f"{name}{suffix}" for suffix in FORMATS]
    for path in paths:
        draw(path)
    return paths


def _subtitle(run: Run) -> str:
    bleu = run.baseline.get("bleu")
    told = "" if bleu is None else f": baseline {bleu:.2f} BLEU, {run.scoring_set}"
    return f"{run.label}, {run.scores.get('checkpoint', '')}{told}"
