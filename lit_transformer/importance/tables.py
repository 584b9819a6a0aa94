"""Scores as files: a row per component, and what the numbers rest on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_transformer.files import write_text

SCORES_FORMAT = 1

Row = Mapping[str, str | int | float]


def write_scores(folder: Path, rows: Sequence[Row], about: Mapping[str, Any]) -> None:
    """Write ``scores.csv`` and ``scores.json``.

    Args:
        folder: Where to.
        rows: One per component, with the same columns.
        about: The settings, signature, scoring set and digests that the numbers rest on; they go into the JSON file.

    Raises:
        UserError: A file can't be written.
        ValueError: A number is not finite.
    """
    content = {"format": SCORES_FORMAT, **about, "components": list(rows)}
    # Both texts are made before either is written, so that a bad number leaves no half of a pair.
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    table = io.StringIO()
    writer = csv.DictWriter(table, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(folder / "scores.json", text + "\n")
    write_text(folder / "scores.csv", table.getvalue())
