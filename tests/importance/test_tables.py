from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from lit_transformer.importance.tables import write_scores

ROWS: list[dict[str, Any]] = [
    {"component": "e:sa:1", "layer": 1, "drop": 1 / 3, "note": "eins, zwei"},
    {"component": "d:ff:2", "layer": 2, "drop": -0.25, "note": 'Höhe "6"'},
]


def test_both_files_hold_the_same_numbers(tmp_path: Path) -> None:
    write_scores(tmp_path / "analysis" / "best", ROWS, {"signature": "nrefs:1", "baseline": {"bleu": 30.0}})
    folder = tmp_path / "analysis" / "best"
    assert {path.name for path in folder.iterdir()} == {"scores.csv", "scores.json"}

    content = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert content == {"format": 1, "signature": "nrefs:1", "baseline": {"bleu": 30.0}, "components": ROWS}
    assert "Höhe" in (folder / "scores.json").read_text(encoding="utf-8")

    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [list(row) for row in read] == [["component", "layer", "drop", "note"]] * 2
    assert [row["note"] for row in read] == ["eins, zwei", 'Höhe "6"']
    # Text that reads back as the very same number.
    assert [float(row["drop"]) for row in read] == [1 / 3, -0.25]
    assert b"\r" not in (folder / "scores.csv").read_bytes()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_leaves_no_half_of_a_pair(tmp_path: Path, bad: float) -> None:
    write_scores(tmp_path, ROWS, {})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="JSON"):
        write_scores(tmp_path, [{**ROWS[0], "drop": bad}], {})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_written_anew(tmp_path: Path) -> None:
    write_scores(tmp_path, ROWS, {})
    write_scores(tmp_path, ROWS[:1], {})
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 2
    assert len(json.loads((tmp_path / "scores.json").read_text())["components"]) == 1
