from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.report.agreement import shared_components
from lit_transformer.report.html.component_tables import components_table
from lit_transformer.report.html.runs_tables import shared_table
from lit_transformer.report.html.study_tables import comparisons_table, study_table
from lit_transformer.report.html.table import cell
from lit_transformer.report.runs import read_run, read_runs
from lit_transformer.report.studies import read_study
from tests.report.making import make_run, make_study


@pytest.mark.parametrize(
    ("value", "form", "text", "number"),
    [
        (None, ".2f", "", None),
        (1.5, "+.2f", "+1.50", 1.5),
        (1234, "", "1,234", 1234),
        (True, "", "yes", None),
        ("important", ".2f", "important", None),
    ],
)
def test_cells(value: object, form: str, text: str, number: float | None) -> None:
    made = cell(value, form)
    assert (made.text, made.value) == (text, number)


def test_components_from_the_most_important_down(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", drops={"e:sa:1": 0.1, "d:ff:1": 3.0}))
    table = components_table(run)
    assert [row[0].text for row in table.rows] == ["d:ff:1", "e:sa:1"]
    assert "chrF lost" not in table.columns
    lost = list(table.columns).index("BLEU lost")
    assert table.rows[0][lost].text == "+3.00"
    assert table.is_numeric(lost)
    assert not table.is_numeric(0)


def test_a_study_with_a_failed_arm(tmp_path: Path) -> None:
    study = read_study(make_study(tmp_path / "study"))
    table = study_table(study, "trained")
    assert len(table.rows) == 6
    status = list(table.columns).index("status")
    assert [row[status].text for row in table.rows[:3]] == ["done", "done", "failed: no space left"]
    assert study_table(study, "scratch").rows == []
    claims = comparisons_table(study, "trained")
    assert [each.text for each in claims.rows[0]] == [
        "pruned", "continued", "2", "-0.75", "-1.10", "-0.30", "0.030", "worse",
    ]  # fmt: skip


def test_holes_of_runs_of_another_structure(tmp_path: Path) -> None:
    runs = read_runs([make_run(tmp_path / "run/0", (1, 1)), make_run(tmp_path / "run/1", (1, 2))])
    labels = [run.label for run in runs]
    rows = {row[0].text: row for row in shared_table(shared_components(runs), labels).rows}
    assert rows["d:ff:2"][4].text == ""
    assert rows["d:ff:2"][5].text != ""
    assert rows["d:ff:2"][2].text.endswith("of 1")
