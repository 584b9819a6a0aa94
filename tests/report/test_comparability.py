from __future__ import annotations

from pathlib import Path
from typing import Any

from lit_transformer.report.comparability import differences, told_once
from lit_transformer.report.runs import read_runs
from tests.report.making import SIGNATURE, make_run


def test_runs_of_one_kind_have_nothing_to_tell(tmp_path: Path) -> None:
    runs = read_runs([make_run(tmp_path / f"run/{n}", seed=n) for n in range(3)])
    assert differences(runs) == []


def test_what_should_be_the_same_and_is_not(tmp_path: Path) -> None:
    others: dict[str, Any] = {
        "scoring_set": {"split": "validation", "sentences": 50, "digest": "e" * 64},
        "signature": SIGNATURE.replace("13a", "zh"),
        "decoding": {"beam": 1},
    }
    folders = [make_run(tmp_path / "run/0"), make_run(tmp_path / "run/1"), make_run(tmp_path / "run/2", **others)]
    sentences, signature, decoding = differences(read_runs(folders))
    assert sentences == (
        "Compare with care, for sentences differ: 500 sentences of validation (dddddddddddd) in run/0, run/1; "
        "50 sentences of validation (eeeeeeeeeeee) in run/2."
    )
    assert "tok:zh" in signature
    assert "beam: 1 in run/2" in decoding


def test_a_problem_of_many_runs_is_told_once(tmp_path: Path) -> None:
    runs = read_runs([make_run(tmp_path / f"run/{n}", group_ablation=None) for n in range(5)])
    [line] = told_once(runs)
    assert line.startswith("5 runs (run/0, run/1, ...): No group ablation yet; `lit-transformer analyze")
