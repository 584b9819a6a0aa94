"""The tables of a report: plain cells that a page shows and sorts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A cell: what is shown, and what it is sorted by.

    Args:
        text: What is shown.
        value: A number to sort by; None sorts by the text.
    """

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Args:
        columns: The heads.
        rows: A cell for each column of each row.
        notes: What a column means, by head.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Mapping[str, str] = field(default_factory=dict)

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds numbers, which stand to the right."""
        return any(row[column].value is not None for row in self.rows)


def cell(value: Any, form: str = "") -> Cell:
    """Return the cell of a value.

    Args:
        value: A number, a text, or None for an empty cell.
        form: How a number is written, such as ``+.2f``.
    """
    if value is None or value == "":
        return Cell("")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, float) and not math.isfinite(value):
        return Cell(str(value))
    if isinstance(value, float) and form.endswith("d"):
        # What a spreadsheet wrote again.
        form = form.replace("d", ".0f") if value.is_integer() else ".2f"
    if isinstance(value, (int, float)):
        return Cell(format(value, form or (",d" if isinstance(value, int) else ".2f")), float(value))
    return Cell(str(value))


Column = tuple[str, str, str, str]
"""Its head, the key of its cells, how a number is written, and what it means."""


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table:
    """Return a table of the columns that any row has."""
    used = [column for column in columns if any(row.get(column[1]) is not None for row in rows)]
    return Table(
        [head for head, *_ in used],
        [[cell(row.get(key), form) for _, key, form, _ in used] for row in rows],
        {head: note for head, _, _, note in used if note},
    )
