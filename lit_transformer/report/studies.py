"""What the files of a study tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_transformer.files import read_table

NUMBERS = ("validation_bleu", "test_bleu", "difference", "parameters", "sentences_per_second", "training_minutes")


@dataclass(frozen=True)
class Study:
    """A study as its tables show it.

    Args:
        folder: Its folder.
        rows: The rows of ``study.csv``: one for each run, numbers as numbers.
        comparisons: The rows of ``comparisons.csv``: one for each arm, over the seeds.
    """

    folder: Path
    rows: Sequence[Mapping[str, Any]]
    comparisons: Sequence[Mapping[str, Any]]

    @property
    def label(self) -> str:
        """The name of the study."""
        return self.folder.absolute().name

    @property
    def rests_on(self) -> list[tuple[str, str]]:
        """What its BLEU rests on, by name: the signature and both scoring sets; what is not told is left out."""
        columns = {"signature": "signature", "validation": "validation_set", "test": "test_set"}
        told = {
            name: dict.fromkeys(str(row[key]) for row in self.rows if row.get(key)) for name, key in columns.items()
        }
        return [(f"BLEU, {name}", "; ".join(found)) for name, found in told.items() if found]


def is_study(path: Path) -> bool:
    """Whether a folder is that of a study."""
    return any((path / name).is_file() for name in ("study.csv", "study.json", "study.md"))


def read_study(path: Path) -> Study:
    """Read a study.

    Args:
        path: Its folder.
    """
    return Study(path, _typed(path / "study.csv"), _typed(path / "comparisons.csv"))


def _typed(path: Path) -> list[dict[str, Any]]:
    return [{name: _number(value) for name, value in row.items() if name} for row in read_table(path)]


def _number(text: str | None) -> str | int | float | None:
    """Return what a cell holds: a number, nothing, or else its text."""
    if text is None or text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
