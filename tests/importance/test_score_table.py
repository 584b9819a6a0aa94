from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from lit_transformer.errors import UserError
from lit_transformer.importance.score_table import ScoreTable
from lit_transformer.runs.scores import read_scores

ABOUT: dict[str, Any] = {"weights": "a", "signature": "nrefs:1", "baseline": {"bleu": 30.0}}
ROWS: list[dict[str, Any]] = [
    {"component": "d:ff:2", "drop": -0.25, "note": 'Höhe "6"'},
    {"component": "e:sa:1", "drop": 1 / 3, "note": "eins, zwei"},
]


def written(folder: Path, *rows: dict[str, Any], section: str = "contribution", **about: Any) -> ScoreTable:
    table = ScoreTable(folder, {**ABOUT, **about})
    table.add(section, {"epsilon": 0.5}, rows)
    table.write()
    return table


def test_both_files_hold_the_same_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "analysis" / "best"
    written(folder, *ROWS)
    assert {path.name for path in folder.iterdir()} == {"scores.csv", "scores.json"}
    content = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    columns = {"contribution": ["drop", "note"]}
    assert content == {
        "format": 2,
        **ABOUT,
        "contribution": {"epsilon": 0.5},
        "columns": columns,
        "components": ROWS[::-1],
    }
    assert "Höhe" in (folder / "scores.json").read_text(encoding="utf-8")
    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [list(row) for row in read] == [["component", "drop", "note"]] * 2
    assert [row["note"] for row in read] == ["eins, zwei", 'Höhe "6"']
    # Text that reads back as the very same number.
    assert [float(row["drop"]) for row in read] == [1 / 3, -0.25]
    assert b"\r" not in (folder / "scores.csv").read_bytes()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_leaves_no_half_of_a_pair(tmp_path: Path, bad: float) -> None:
    written(tmp_path, *ROWS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="JSON"):
        written(tmp_path, {**ROWS[0], "drop": bad})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_columns_of_another_scorer_stay(tmp_path: Path) -> None:
    written(tmp_path, *ROWS)
    written(tmp_path, {"component": "e:sa:1", "criticality": 0.3}, section="criticality")
    content = read_scores(tmp_path)
    assert content["components"] == [{**ROWS[1], "criticality": 0.3}, ROWS[0]]
    assert {"contribution", "criticality"} <= content.keys()
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert [row["criticality"] for row in csv.DictReader(file)] == ["0.3", ""]


def test_a_scorer_replaces_all_that_it_wrote_and_nothing_else(tmp_path: Path) -> None:
    wider = [{**row, "bounds": 1.0} for row in ROWS]
    written(tmp_path, {"component": "e:sa:1", "criticality": 0.3}, section="criticality", note="x")
    written(tmp_path, *wider, note="x")
    written(tmp_path, {"component": "e:sa:1", "drop": 0.5, "note": None})
    content = read_scores(tmp_path)
    assert content["components"] == [
        {"component": "e:sa:1", "criticality": 0.3, "drop": 0.5, "note": None},
    ]
    assert "note" not in content
    assert content["criticality"] == {"epsilon": 0.5}
    assert content["columns"] == {"criticality": ["criticality"], "contribution": ["drop", "note"]}
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == ["component", "criticality", "drop"]


def test_two_choices_of_components_are_not_one_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(tmp_path, {"component": "e:sa:1", "criticality": 0.3}, section="criticality")
    written(tmp_path, *({**row, "kind": "x", "rank": 1} for row in ROWS))
    written(tmp_path, {"component": "d:sa:1", "rank": 1})
    assert read_scores(tmp_path)["components"] == [
        {"component": "e:sa:1", "kind": "x", "criticality": 0.3},
        {"component": "d:sa:1", "rank": 1},
    ]
    assert "What contribution found for e:sa:1, d:ff:2 goes from the scores in" in caplog.text


@pytest.mark.parametrize("about", [{"weights": "b"}, {"signature": "nrefs:2"}])
def test_those_of_another_model_do_not(tmp_path: Path, about: dict[str, str]) -> None:
    written(tmp_path, *ROWS)
    written(tmp_path, {"component": "e:sa:1", "criticality": 0.3}, section="criticality", **about)
    content = read_scores(tmp_path)
    assert content["components"] == [{"component": "e:sa:1", "criticality": 0.3}]
    assert "contribution" not in content


CRITICAL = {"component": "e:sa:1", "criticality": 0.3}


@pytest.mark.parametrize("apart", [False, True])
def test_pictures_go_with_the_scores_that_they_are_of(tmp_path: Path, apart: bool) -> None:
    folder, pictures = tmp_path / "analysis", tmp_path / "report" if apart else tmp_path / "analysis"
    written(folder, *ROWS)
    written(folder, CRITICAL, section="criticality")
    others = {"group_ablation.png", "scatter.png", "criticality.svg", "index.html"}
    pictures.mkdir(exist_ok=True)
    for name in {"contribution.png", "criticality.png"} | others:
        (pictures / name).touch()
    for weights, left in (("a", {"contribution.png", "criticality.png"} | others), ("b", others)):
        table = ScoreTable(folder, {**ABOUT, "weights": weights}, pictures)
        table.add("contribution", {}, ROWS)
        table.write()
        # Of another checkpoint, of a report, or the user's own.
        assert {path.name for path in pictures.iterdir()} - {"scores.csv", "scores.json"} == left
    (pictures / "contribution.png").touch()
    table.write()
    assert (pictures / "contribution.png").is_file()


def test_correlation_of_two_columns(tmp_path: Path) -> None:
    rows = [{"component": f"d:sa:{n}", "drop": float(n), "mean_drop": float(-n)} for n in range(1, 4)]
    table = ScoreTable(tmp_path, ABOUT)
    table.add("contribution", {}, [*rows, {"component": "d:ff:1", "drop": 9.0}])
    table.correlate("both", "drop", "mean_drop")
    table.correlate("nothing", "drop", "criticality")
    table.write()
    assert read_scores(tmp_path)["correlations"] == {"both": pytest.approx(-1.0)}
    table.add("contribution", {}, [{"component": "d:sa:1", "drop": 1.0}])
    table.correlate("both", "drop", "mean_drop")
    table.write()
    assert "correlations" not in read_scores(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"components": 3}',
        '{"components": [{"component": "x:y:1"}]}',
        '{"components": [{"component": "d:sa:1"}, {"component": "d:sa:1"}]}',
        '{"components": [{"component": "d:sa:1", "drop": "much"}]}',
    ],
)
def test_a_file_edited_into_nonsense(tmp_path: Path, text: str) -> None:
    (tmp_path / "scores.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="holds no scores that can be read"):
        ScoreTable(tmp_path, ABOUT)
