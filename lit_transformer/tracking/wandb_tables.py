"""Scores as the tables that Weights & Biases shows and draws."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lit_transformer.components import KINDS, canonical_key, kind_of, layer_of
from lit_transformer.tracking import names

Row = Mapping[str, Any]
Table = tuple[list[str], list[list[Any]]]
"""Names of the columns, and the rows."""


def table_of(rows: Sequence[Row]) -> Table:
    """Return rows as a table: every column that any of them has, None for what a row lacks, lists as text."""
    columns = list(dict.fromkeys(name for row in rows for name in row if not isinstance(row[name], Mapping)))
    # A column of W&B holds one type only: a number that one row has as whole is still a number with a point.
    floats = {name for name in columns if any(isinstance(row.get(name), float) for row in rows)}
    return columns, [[_cell(row.get(name), name in floats) for name in columns] for row in rows]


def table_of_csv(text: str) -> Table:
    """Return a CSV file as a table: a column whose cells are all numbers or empty is one of numbers."""
    columns, *rows = list(csv.reader(io.StringIO(text)))
    made = [_parsed(row[place] for row in rows) for place in range(len(columns))]
    return columns, [list(row) for row in zip(*made, strict=True)]


def _parsed(cells: Iterable[str]) -> list[Any]:
    given = list(cells)
    try:
        return [float(cell) if cell else None for cell in given]
    except ValueError:
        return list(given)


def _cell(value: Any, is_float: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return float(value) if is_float and value is not None else value


def scored(rows: Sequence[Row], name: str) -> dict[str, float]:
    """Return a column of numbers by component, in canonical order, without those that have none."""
    values = {str(row["component"]): float(row[name]) for row in rows if row.get(name) is not None}
    return {component: values[component] for component in sorted(values, key=canonical_key)}


def cells_of(values: Mapping[str, float]) -> Table:
    """Return a score as the cells of a heat map, which W&B draws: a row per component with layer, kind and score.

    The highest layer comes first, as in the picture; the names of layers sort as their numbers do.
    """
    digits = len(str(max(map(layer_of, values), default=0)))
    order = sorted(values, key=lambda name: (-layer_of(name), KINDS.index(kind_of(name))))
    cells: list[list[Any]] = [[f"layer {layer_of(name):0{digits}}", kind_of(name), values[name]] for name in order]
    return ["layer", "kind", "score"], cells


def bars_of(values: Mapping[str, float], column: str) -> Table:
    """Return a column as the bars of a chart, the largest first."""
    order = sorted(values, key=lambda name: (-values[name], canonical_key(name)))
    bars: list[list[Any]] = [[name, values[name]] for name in order]
    return ["component", column], bars


def group_ablation_steps(rows: Sequence[Row]) -> list[dict[str, float]]:
    """Return the curve of group ablation, for an x-axis of its own: an entry per number of removed components.

    Args:
        rows: One per order and step: ``order``, ``step`` and, per split, ``<split>_bleu`` in BLEU points.
    """
    steps: dict[int, dict[str, float]] = {}
    for row in rows:
        entry = steps.setdefault(int(row["step"]), {f"{names.GROUP_ABLATION}/{names.REMOVED}": int(row["step"])})
        for split in ("validation", "test"):
            if row.get(f"{split}_bleu") is not None:
                entry[f"{names.GROUP_ABLATION}/{row['order']}/{split}_bleu"] = float(row[f"{split}_bleu"])
    return [steps[step] for step in sorted(steps)]


def layer_ablation_steps(rows: Sequence[Row]) -> list[dict[str, float]]:
    """Return the curve of layer ablation, for an x-axis of its own: an entry per number of removed layers.

    Args:
        rows: One per step: ``step``, and ``validation_bleu`` in BLEU points.
    """
    return [
        {
            f"{names.LAYER_ABLATION}/{names.REMOVED}": int(row["step"]),
            f"{names.LAYER_ABLATION}/validation_bleu": float(row["validation_bleu"]),
        }
        for row in rows
    ]
