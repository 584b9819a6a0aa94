from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.report.agreement import agreements, shared_components
from lit_transformer.report.html.runs_sections import comparison_sections
from lit_transformer.report.html.summary import run_summary, runs_summary, study_summary
from lit_transformer.report.runs import Run, read_run, read_runs
from lit_transformer.report.studies import read_study
from tests.report.making import make_run, make_study, steps_of


def test_one_run(tmp_path: Path) -> None:
    drops = {"e:ff:1": -0.25, "d:ea:2": 4.0, "d:sa:1": 1.0}
    first, second = run_summary(read_run(make_run(tmp_path / "run", drops=drops)))
    assert first == (
        "Without d:ea:2 (decoder attention to the encoder, layer 2) the model loses 4.00 of 30.00 BLEU, without e:ff:1 "
        "(encoder feed-forward, layer 1) it gains 0.25: of 3 components 1 is surely worth more than 0.5 BLEU and 0 are "
        "surely worth less, while 2 are undecided on 500 sentences."
    )
    # 0.2 BLEU a step: the second step is the last below 0.5.
    assert second == (
        "2 components (200 parameters) can go together, without retraining, for less than 0.5 BLEU on the sentences "
        "that they were chosen on (loss +0.40 there, +0.80 on test)."
    )


def test_nothing_can_go(tmp_path: Path) -> None:
    dear = {"chosen_on": "validation", "rows": steps_of("greedy", ["e:sa:1"], 3.0)}
    folder = make_run(tmp_path / "run", group_ablation=dear, correlations={"contribution_and_criticality": 0.5})
    assert run_summary(read_run(folder))[1:] == [
        "Contribution and criticality order the components alike by 0.50 (Spearman)."
    ]


@pytest.mark.parametrize(
    ("drops", "expected"),
    [
        (
            {"e:sa:1": -1.0, "d:ff:1": -2.0},
            "the model gains 1.00 of 30.00 BLEU, without d:ff:1 (decoder feed-forward, layer 1) it gains 2.00",
        ),
        (
            {"e:sa:1": 0.0, "d:ff:1": 0.0},
            "the model loses 0.00 of 30.00 BLEU, as without each of the other 1 component, on 500",
        ),
        ({"e:sa:1": 1.0}, "the model loses 1.00 of 30.00 BLEU, on 500 sentences."),
    ],
)
def test_drops_of_all_kinds(drops: dict[str, float], expected: str, tmp_path: Path) -> None:
    assert expected in run_summary(read_run(make_run(tmp_path / "run", drops=drops)))[0]


def test_other_scores_than_contribution(tmp_path: Path) -> None:
    rows = [{"component": "d:ea:1", "criticality": 0.8}, {"component": "e:ff:1", "criticality": 0.0}]
    [line] = run_summary(read_run(make_run(tmp_path / "critical", components=rows)))
    assert "d:ea:1 (decoder attention to the encoder, layer 1), which needs 0.8 of its training; for 1 of 2" in line
    rows = [{"component": "d:ea:1", "mean_drop": 2.0}, {"component": "e:ff:1", "mean_drop": 0.5}]
    [line] = run_summary(read_run(make_run(tmp_path / "mean", components=rows)))
    assert line.startswith("With its mean output in the place of d:ea:1")


def test_no_scores() -> None:
    assert run_summary(Run(Path("run"), "a run", None, {})) == ["a run has no scores yet."]


def test_several_runs(tmp_path: Path) -> None:
    drops = [{"e:sa:1": 3.0, "e:ff:1": 0.1, "e:ff:2": 0.3}, {"e:sa:1": 2.0, "e:ff:1": 0.2, "e:ff:2": 0.1}]
    runs = read_runs([make_run(tmp_path / f"run/{n}", drops=each) for n, each in enumerate(drops)])
    first, second = runs_summary(runs, agreements(runs, "drop"), shared_components(runs))
    # Ranks 3 1 2 and 3 2 1: 1 - 6 * 2 / 24.
    assert "alike by 0.50 (Spearman" in first
    assert "1 pair of runs" in first
    assert second.startswith("Less than 0.5 BLEU is lost in every run without e:ff:")
    assert second.endswith("all of them encoder feed-forward.")


@pytest.mark.parametrize(
    ("drops", "expected"),
    [
        (
            [
                {"e:ff:1": 0.1, "e:ff:2": 0.2, "d:ff:1": 2.0},
                {"e:ff:1": 0.1, "e:ff:2": 3.0},
                {"d:sa:1": 0.1, "e:ff:1": 0.2},
            ],
            "Of the 1 component that every run has, less than 0.5 BLEU is lost in every run without e:ff:1.",
        ),
        (
            [{"e:ff:1": 1.0, "e:ff:2": 0.2, "d:ff:1": 0.1}, {"e:ff:1": 0.1, "e:ff:2": 3.0}],
            "None of the 2 components that every run has costs less than 0.5 BLEU in every run.",
        ),
        ([{"e:ff:1": 0.1}, {"d:ff:1": 0.1}], "No component is in every run."),
        ([{"e:ff:1": 1.0}, {"e:ff:1": 0.1}], "No component costs less than 0.5 BLEU in every run."),
    ],
)
def test_runs_of_different_structure(drops: list[dict[str, float]], expected: str, tmp_path: Path) -> None:
    runs = read_runs([make_run(tmp_path / f"run/{n}", drops=each) for n, each in enumerate(drops)])
    assert runs_summary(runs, agreements(runs, "drop"), shared_components(runs))[-1] == expected


def test_pairs_whose_orders_cannot_be_compared_are_told(tmp_path: Path) -> None:
    drops = [{"e:ff:1": 0.1, "d:ff:1": 2.0}, {"e:ff:1": 0.1, "d:ff:1": 3.0}, {"d:sa:1": 0.1, "e:ff:1": 0.2}]
    runs = read_runs([make_run(tmp_path / f"run/{n}", drops=each) for n, each in enumerate(drops)])
    pairs = agreements(runs, "drop")
    assert "1 of 3 pairs of runs, over" in runs_summary(runs, pairs, shared_components(runs))[0]
    [section] = [each for each in comparison_sections(runs, {"drop": pairs}) if each.key == "agreement-drop"]
    assert "1 of 3 pairs of runs: 1.00, over" in section.lines[0]


def test_a_study(tmp_path: Path) -> None:
    assert study_summary(read_study(make_study(tmp_path / "mine"))) == "mine, 2 seeds: pruned is worse than continued."
    assert (
        study_summary(read_study(make_study(tmp_path / "one", seeds=1))) == "one, 1 seed: no difference is decidable."
    )
