from __future__ import annotations

import os
from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.report.runs import read_run, read_runs
from tests.report.making import component_rows, make_run, scores_of, write_json


def test_what_a_run_tells(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "demo" / "version_0", drops={"e:sa:1": 3.0, "d:ff:1": 0.1}))
    assert run.label == "demo/version_0"
    assert run.problems == ()
    assert run.column("drop") == {"e:sa:1": 3.0, "d:ff:1": 0.1}
    assert run.column("chrf") == {}
    assert run.metrics == {"train/loss": [(9, 5.5), (19, 4.5)], "val/bleu": [(19, 20.5)]}
    assert run.config["model"]["encoder_layers"] == 2
    assert [row["step"] for row in run.group_ablation] == [0, 1, 2]
    assert run.examples["most"]["component"] == "e:sa:1"
    assert run.scoring_set == "500 sentences of validation"


def test_the_last_line_of_a_step_holds_and_a_torn_one_does_not(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    with (folder / "metrics.csv").open("a") as file:
        file.write("19,1,train/loss,4.25,3.0\n29,2,train/lo")
    assert read_run(folder).metrics["train/loss"] == [(9, 5.5), (19, 4.25)]


def test_examples_of_other_weights_are_not_shown(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", weights="f" * 64)
    write_json(folder / "analysis" / "average" / "examples.json", {"weights": "0" * 64, "most": {}})
    assert read_run(folder).examples == {}


class TestWhichAnalysis:
    def test_whole_before_samples_before_some_components(self, tmp_path: Path) -> None:
        folder = make_run(tmp_path / "run")
        old = folder / "analysis" / "average"
        for place in (old / "limit-200", old / "selected"):
            write_json(place / "scores.json", scores_of({"e:sa:1": 1.0}))
        assert read_run(folder).analysis == old
        (old / "scores.json").unlink()
        assert read_run(folder).analysis == old / "limit-200"

    def test_the_latest_of_several(self, tmp_path: Path) -> None:
        folder = make_run(tmp_path / "run")
        first, second = folder / "analysis" / "average", folder / "analysis" / "best-bleu"
        write_json(second / "scores.json", scores_of({"e:sa:1": 1.0}))
        os.utime(first / "scores.json", (1, 1))
        assert read_run(folder).analysis == second
        os.utime(second / "scores.json", (0, 0))
        assert read_run(folder).analysis == first

    def test_one_that_is_named(self, tmp_path: Path) -> None:
        place = make_run(tmp_path / "run") / "analysis" / "average"
        run = read_run(place)
        assert (run.folder, run.analysis) == (tmp_path / "run", place)

    def test_one_that_cannot_be_read_is_said_and_the_next_is_shown(self, tmp_path: Path) -> None:
        folder = make_run(tmp_path / "run")
        broken = folder / "analysis" / "best-bleu" / "scores.json"
        broken.parent.mkdir()
        broken.write_text("{")
        run = read_run(folder)
        assert run.column("drop")
        assert "best-bleu" in run.problems[0]
        assert "holds no scores that can be read" in run.problems[0]


class TestMissing:
    def test_no_analysis(self, tmp_path: Path) -> None:
        (tmp_path / "run" / "checkpoints").mkdir(parents=True)
        run = read_run(tmp_path / "run")
        assert run.components == []
        assert "No analysis; `lit-transformer analyze" in run.problems[0]

    def test_an_analysis_that_was_begun(self, tmp_path: Path) -> None:
        journal = tmp_path / "run" / "analysis" / "average" / "evaluations.jsonl"
        journal.parent.mkdir(parents=True)
        journal.touch()
        assert "analysis of average is not finished" in read_run(tmp_path / "run").problems[0]

    def test_half_an_analysis(self, tmp_path: Path) -> None:
        folder = make_run(
            tmp_path / "run", group_ablation=None, components=component_rows({"e:sa:1": 1.0}, criticality=False)
        )
        [problem] = read_run(folder).problems
        assert problem.startswith("No criticality, no group ablation yet; ")

    def test_scores_of_another_format(self, tmp_path: Path) -> None:
        [problem] = read_run(make_run(tmp_path / "run", format=1)).problems
        assert "format 1, this version writes 2" in problem

    def test_what_to_keep_in_mind(self, tmp_path: Path) -> None:
        scoring_set = {"split": "validation", "sentences": 200, "sample_of": 1014}
        run = read_run(make_run(tmp_path / "run", reliable=False, scoring_set=scoring_set))
        assert any("sample of 200 of 1014" in problem for problem in run.problems)
        assert any("below 15 BLEU" in problem for problem in run.problems)
        assert run.scoring_set == "200 sentences of validation, a sample of 1,014"


class TestBadInput:
    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"'.*nowhere' does not exist; give the folder of a run"):
            read_run(tmp_path / "nowhere")

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UserError, match="is no folder"):
            read_run(tmp_path / "file")

    def test_a_folder_of_something_else(self, tmp_path: Path) -> None:
        make_run(tmp_path / "demo" / "version_0")
        with pytest.raises(UserError, match="is neither the folder of a run nor of a study"):
            read_run(tmp_path / "demo")


def test_labels_tell_runs_apart(tmp_path: Path) -> None:
    folders = [tmp_path / place for place in ("a/demo/version_0", "b/demo/version_0", "b/demo/version_1")]
    runs = read_runs([make_run(folder) for folder in folders])
    assert [run.label for run in runs] == ["a/demo/version_0", "b/demo/version_0", "demo/version_1"]
