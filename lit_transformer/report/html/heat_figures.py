"""Heat maps with their text alternatives."""

from __future__ import annotations

from collections.abc import Mapping

from lit_transformer.report.charts import heat_maps
from lit_transformer.report.html.section import Figure
from lit_transformer.report.html.table import Table, cell
from lit_transformer.report.runs import Run


def heat_map_figure(run: Run, score: str, layers: int | None = None, title: str = "") -> Figure:
    """Return the heat map of a score of a run.

    Args:
        run: The run.
        score: ``contribution`` or ``criticality``.
        layers: Rows to draw; as many as there are where None.
        title: Its title; the score, with what it means below the map, where not given.
    """
    note = "" if title else meaning(run, score)
    what = f"{score} of the components of {run.label}"
    return heat_map_of(title or score.capitalize(), run.column(score), layers, what, note)


def meaning(run: Run, score: str) -> str:
    """Return what a score says, with the settings that it was taken with (method.md 1.3 and 1.4)."""
    found = run.scores.get(score, {})
    if score == "contribution":
        cap, bleu = found.get("cap", 0.1), run.baseline.get("bleu", 0.0)
        return (
            f"BLEU lost when the component is ablated, at most {cap:.0%} of the baseline's ({cap * bleu:.2f} BLEU), "
            "over the highest: losses above that count the same."
        )
    return (
        "The least share of its training that the component needs for a loss below "
        f"{found.get('epsilon', 0.5):g} BLEU: 0 where its initial weights do."
    )


def heat_map_of(title: str, scores: Mapping[str, float], layers: int | None, what: str, note: str = "") -> Figure:
    """Return a heat map with its text alternative.

    Args:
        title: Its title.
        scores: From 0 to 1, by component id.
        layers: Rows to draw; as many as there are where None.
        what: What is shown, in words.
        note: What to keep in mind.
    """
    most, least = max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)
    description = (
        f"Heat map, {what}: layers up, kinds across; highest {scores[most]:.2f} for {most}, lowest {scores[least]:.2f} "
        f"for {least}."
    )
    rows = [[cell(row["component"]), cell(row["score"])] for row in heat_maps.heat_map_rows(scores, layers)]
    table = Table(["component", "score"], [row for row in rows if row[1].text])
    return Figure(title, heat_maps.heat_map(scores, layers), description, table, note)
