"""Scores as files: a row per component, and what the numbers rest on."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_transformer.components import canonical_key
from lit_transformer.files import write_text
from lit_transformer.importance.ranking import rank_correlation
from lit_transformer.runs.scores import SCORES_FILE, SCORES_FORMAT, differing, read_scores

log = logging.getLogger(__name__)

BESIDE = ("criticality_curves.csv", "group_ablation.csv", "examples.json")
"""Files that lie beside the scores, which say what they rest on."""

PICTURES = ("contribution", "mean_contribution", "criticality", "group_ablation")
"""Scorers that draw a picture, named after them."""

COMMON = ("component", "kind", "layer", "parameters", "baseline_bleu")
"""Columns that belong to no scorer alone."""

Row = Mapping[str, Any]
"""The columns of one component, by name: text, numbers, booleans, or None for nothing."""


class ScoreTable:
    """``scores.csv`` and ``scores.json`` of one analysis; each scorer adds its columns.

    Columns that an earlier analysis of the same weights on the same sentences has written stay, but for those of the
    scorers that add theirs anew: ranks and contributions of two choices of components mean nothing together.

    Args:
        folder: Where the files are.
        about: What the numbers rest on, as plain types; it goes into the JSON file.
        pictures: The folder of the pictures, if there are any.

    Raises:
        UserError: There is a ``scores.json`` that is none.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any], pictures: Path | None = None) -> None:
        self._folder = folder
        self.about = {"format": SCORES_FORMAT, **about}
        """What the numbers rest on."""
        self._sections: dict[str, Any] = {}
        self._rows: dict[str, dict[str, Any]] = {}
        self._chosen: set[str] = set()
        self._columns: dict[str, list[str]] = {}
        self._correlations: dict[str, float] = {}
        self._stale: list[Path] = []
        if before := read_scores(folder, missing_ok=True):
            if other := differing(before, self.about):
                log.warning("The scores in %s are of another %s, and are replaced.", folder, ", ".join(other))
                # Beside the new scores they would seem to be of the same model and sentences.
                self._stale = [folder / name for name in BESIDE]
                # Others may be in the same folder, of another checkpoint.
                drawn = [name for name in PICTURES if name in before]
                self._stale += [] if pictures is None else [pictures / f"{name}.png" for name in drawn]
            else:
                # What is no object is of no scorer: the earlier analysis told it of itself.
                self._sections = {
                    name: value
                    for name, value in before.items()
                    if name not in (*self.about, "columns", "correlations") and isinstance(value, dict)
                }
                self._correlations = dict(before.get("correlations", {}))
                self._columns = {name: list(columns) for name, columns in before.get("columns", {}).items()}
                self._rows = {row["component"]: dict(row) for row in before["components"]}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, in canonical order; the columns of a scorer stand together, where they first stood."""
        names = [*COMMON, *(name for columns in self._columns.values() for name in columns)]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return [
            dict(sorted(self._rows[component].items(), key=lambda item: places.get(item[0], len(places))))
            for component in sorted(self._rows, key=canonical_key)
        ]

    def column(self, name: str) -> dict[str, float]:
        """Return a column of numbers by component id, of the components that have it."""
        return {component: float(row[name]) for component, row in self._rows.items() if row.get(name) is not None}

    def section(self, name: str) -> dict[str, Any]:
        """Return what a scorer has told of the whole model, now or in an earlier analysis of the same; else nothing."""
        return dict(self._sections.get(name, {}))

    def add(self, section: str, settings: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """Add the columns of a scorer, in place of all that it wrote before.

        Args:
            section: Name of the scorer.
            settings: How it scored, and what it found of the whole model; plain types.
            rows: One per component, with ``component`` and the columns.
        """
        self._sections[section] = dict(settings)
        columns = list(dict.fromkeys(name for row in rows for name in row if name not in COMMON))
        replaced = {*columns, *self._columns.get(section, ())}
        given = {str(row["component"]) for row in rows}
        gone = []
        for component, row in self._rows.items():
            if component not in given and not replaced.isdisjoint(row):
                gone.append(component)
            for name in replaced & row.keys():
                del row[name]
        if gone:
            log.warning(
                "What %s found for %s goes from the scores in %s: it was scored for other components now.",
                section,
                ", ".join(sorted(gone, key=canonical_key)),
                self._folder,
            )
        self._columns[section] = columns
        self.add_rows(rows)

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add columns that belong to no scorer."""
        for row in rows:
            self._chosen.add(str(row["component"]))
            self._rows.setdefault(str(row["component"]), {}).update(row)

    def correlate(self, name: str, first: str, second: str) -> None:
        """Add the rank correlation of two columns, over the components that have both; where there is none, it goes.

        Args:
            name: Under which it stands in ``correlations``.
            first: A column of numbers.
            second: Another one.
        """
        self._correlations.pop(name, None)
        if (found := rank_correlation(self.column(first), self.column(second))) is not None:
            self._correlations[name] = found

    def write(self) -> None:
        """Write both files.

        Raises:
            UserError: A file can't be written.
            ValueError: A number is not finite.
        """
        for path in self._stale:
            path.unlink(missing_ok=True)
        self._stale = []
        # Those of another choice, of which no scorer tells anything any more.
        self._rows = {
            component: row
            for component, row in self._rows.items()
            if component in self._chosen or not row.keys() <= set(COMMON)
        }
        rows = self.rows
        found = [{name: value for name, value in row.items() if value is not None} for row in rows]
        columns = list(dict.fromkeys(name for row in found for name in row))
        # Both texts are made before either is written, so that a bad number leaves no half of a pair.
        found_together = {"correlations": dict(sorted(self._correlations.items()))} if self._correlations else {}
        content = {**self.about, **self._sections, **found_together, "columns": self._columns, "components": rows}
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        write_text(self._folder / SCORES_FILE, text + "\n")
        write_text(self._folder / "scores.csv", table_text(columns, found))


def table_text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table as CSV; what a row lacks is left empty."""
    table = io.StringIO()
    writer = csv.DictWriter(table, fieldnames=columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    return table.getvalue()
