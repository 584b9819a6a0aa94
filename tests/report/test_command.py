from __future__ import annotations

import re
from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.report.command import main, make_report
from tests.report.making import make_run, make_study

PICTURES = ("contribution", "criticality", "drops", "group_ablation", "scatter", "scores")


def headings(page: Path) -> list[str]:
    return re.findall(r"<h2>([^<]+)</h2>", page.read_text(encoding="utf-8"))


def test_one_run_with_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, study = make_run(tmp_path / "demo" / "version_0"), make_study(tmp_path / "studies" / "mine")
    main([str(run), str(study)])
    report = run / "report"
    expected = [report / f"{name}{suffix}" for name in PICTURES for suffix in (".png", ".svg")]
    assert sorted(report.iterdir()) == sorted([*expected, report / "index.html"])
    assert capsys.readouterr().out.splitlines()[-1] == str(report / "index.html")
    assert headings(report / "index.html")[-2:] == ["Study mine", "Settings"]


def test_two_runs_of_different_structure(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"runs/{n}", layers) for n, layers in enumerate([(2, 2), (3, 2)])]
    made = make_report(runs, tmp_path / "out")
    assert made.page == tmp_path / "out" / "index.html"
    assert headings(made.page) == [
        "Runs",
        "Contribution, side by side",
        "Criticality, side by side",
        "Do the runs agree? Rank correlation of BLEU lost",
        "Do the runs agree? Rank correlation of criticality",
        "Which are unimportant in all",
    ]
    assert {path.name for path in made.pictures} == {
        f"{name}{suffix}" for name in ("contribution", "criticality") for suffix in (".png", ".svg")
    }


def test_a_study_alone(tmp_path: Path) -> None:
    study = make_study(tmp_path / "mine")
    assert make_report([study]).page == study / "report" / "index.html"


def test_a_run_without_scores_beside_one_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = tmp_path / "runs" / "bare"
    (bare / "checkpoints").mkdir(parents=True)
    main([str(make_run(tmp_path / "runs" / "whole")), str(bare), "--output", str(tmp_path / "out")])
    assert "runs/bare: No analysis; `lit-transformer analyze" in capsys.readouterr().out
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "runs/bare: No analysis" in page
    assert "Contribution, side by side" in page


def test_two_hundred_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [make_run(tmp_path / f"runs/{n}", (1, 1), seed=n) for n in range(200)]
    made = make_report(runs)
    assert made.page == Path("report/index.html")
    assert made.page.stat().st_size < 5_000_000
    assert headings(made.page)[1] == "Contribution of all runs"
    assert "19,900 pairs of runs" in made.page.read_text(encoding="utf-8")


class TestBadInput:
    def test_the_same_run_twice(self, tmp_path: Path) -> None:
        run = make_run(tmp_path / "run")
        with pytest.raises(UserError, match="a run is given twice"):
            make_report([run, tmp_path / "." / "run"])

    def test_a_folder_of_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="neither the folder of a run nor of a study"):
            main([str(tmp_path)])

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        run = make_run(tmp_path / "run")
        (tmp_path / "file").touch()
        with pytest.raises(UserError, match="cannot write"):
            make_report([run], tmp_path / "file" / "report")
