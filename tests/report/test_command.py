from __future__ import annotations

import html
import os
import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lit_transformer.errors import UserError
from lit_transformer.report.command import main, make_report
from lit_transformer.report.html.again import run_commands
from lit_transformer.report.html.run_sections import run_sections
from lit_transformer.report.html.study_section import study_section
from lit_transformer.report.runs import read_run
from lit_transformer.report.studies import read_study
from tests.report.making import SIGNATURE, make_run, make_study

PICTURES = ("contribution", "criticality", "drops", "group_ablation", "scatter", "scores")


def headings(page: Path) -> list[str]:
    return re.findall(r'<section id="[^"]+">\s*<h2>([^<]+)</h2>', page.read_text(encoding="utf-8"))


def test_one_run_with_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, study = make_run(tmp_path / "demo" / "version_0"), make_study(tmp_path / "studies" / "mine")
    main([str(run), str(study)])
    report = run / "report"
    expected = [report / f"{name}{suffix}" for name in PICTURES for suffix in (".png", ".svg")]
    assert sorted(report.iterdir()) == sorted([*expected, report / "index.html"])
    assert capsys.readouterr().out.splitlines()[-1] == str(report / "index.html")
    assert headings(report / "index.html")[-2:] == ["Study mine", "Settings"]
    told = dict(study_section(read_study(study), 1).facts)
    assert told.pop("folder") == str(study)
    assert told == {
        "BLEU, signature": SIGNATURE,
        "BLEU, validation": "validation, 500 sentences",
        "BLEU, test": "test, 400 sentences",
    }


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
        "Commands",
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
    assert (
        "runs/bare: No analysis; `lit-transformer analyze --config analysis.yaml --ckpt_path RUN`"
        in capsys.readouterr().out
    )
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


def test_names_of_all_kinds(tmp_path: Path) -> None:
    names = ["rate$_{$x <b> & 'c' \"d\"", "tab\there", os.fsdecode(b"caf\xe9"), "x" * 200]
    runs = [make_run(tmp_path / name / "version_0", (1, 1), seed=n) for n, name in enumerate(names)]
    page = make_report(runs, tmp_path / "out").page.read_text(encoding="utf-8")
    assert "rate$_{$x &lt;b&gt; &amp;" in page
    assert "caf\N{REPLACEMENT CHARACTER}/version_0" in page
    assert ElementTree.parse(tmp_path / "out" / "contribution.svg")
    [settings] = [section for section in run_sections(read_run(runs[0])) if section.key == "settings"]
    assert shlex.split(settings.commands[-1]) == ["lit-transformer", "report", str(runs[0])]


@pytest.mark.parametrize(("runs", "studies"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_a_page_tells_the_commands_that_make_all_of_it_again(runs: int, studies: int, tmp_path: Path) -> None:
    made = [make_run(tmp_path / f"a run/{n}", seed=n) for n in range(runs)]
    compared = [make_study(tmp_path / f"studies/{n}") for n in range(studies)]
    for study in compared:
        (study / "config.yaml").write_text("name: mine")
    given = [*map(str, made), *map(str, compared), "--output", str(tmp_path / "out")]
    main(given)
    page = html.unescape((tmp_path / "out/index.html").read_text(encoding="utf-8"))
    [listed] = re.findall("<p>To make it again:</p>\n<pre>(.*?)</pre>", page, re.DOTALL)
    commands = [shlex.split(line)[1:] for line in listed.strip().splitlines()]
    training = [["fit", "--config", str(made[0] / "config.yaml")]] if runs == 1 else []
    repeated = [["study", "--config", str(study / "config.yaml")] for study in compared]
    assert commands == [*training, *repeated, ["report", *given]]
    assert all(f"<dt>folder</dt><dd>{study}</dd>" in page for study in compared)


def test_the_command_of_an_analysis(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    analysis = folder / "analysis/average"
    shutil.copytree(analysis, analysis / "selected")
    for place in (analysis, analysis / "selected"):
        assert run_commands(read_run(place))[1:] == []
    (analysis / "config.yaml").touch()
    for place in (analysis, analysis / "selected"):
        assert run_commands(read_run(place))[1:] == [["analyze", "--config", str(analysis / "config.yaml")]]
    (analysis / "selected/config.yaml").touch()
    again = run_commands(read_run(analysis / "selected"))
    assert again[1:] == [["analyze", "--config", str(analysis / "selected/config.yaml")]]


def test_two_analyses_of_a_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "demo" / "version_0")
    other = folder / "analysis" / "best-bleu"
    shutil.copytree(folder / "analysis" / "average", other)
    made = make_report([folder / "analysis" / "average", other], tmp_path / "out")
    assert [run.label for run in made.runs] == ["demo/version_0, average", "demo/version_0, best-bleu"]


def test_a_study_that_is_not_finished(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "study.json").write_text("{}")
    assert "is not finished" in make_report([tmp_path / "mine"]).page.read_text(encoding="utf-8")


class TestBadInput:
    @pytest.mark.parametrize("how", ["dotted", "linked", "relative"])
    def test_the_same_run_twice(self, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        run = make_run(tmp_path / "run")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "linked").symlink_to(run)
        again = {"dotted": tmp_path / "." / "run", "linked": tmp_path / "linked", "relative": Path("run")}[how]
        with pytest.raises(UserError, match="a run is given twice"):
            make_report([run, again])

    def test_the_same_study_twice(self, tmp_path: Path) -> None:
        study = make_study(tmp_path / "mine")
        with pytest.raises(UserError, match="a study is given twice"):
            make_report([study, tmp_path / "." / "mine"])

    def test_a_target_of_another_form_is_refused_before_anything_is_written(self, tmp_path: Path) -> None:
        run = make_run(tmp_path / "run")
        with pytest.raises(UserError, match="--wandb is 'mine'; give ENTITY/PROJECT"):
            main([str(run), "--wandb", "mine"])
        assert not (run / "report").exists()

    def test_a_folder_of_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="neither the folder of a run nor of a study"):
            main([str(tmp_path)])

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        run = make_run(tmp_path / "run")
        (tmp_path / "file").touch()
        with pytest.raises(UserError, match="cannot write"):
            make_report([run], tmp_path / "file" / "report")
