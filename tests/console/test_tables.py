from __future__ import annotations

import logging
from typing import Any

import pytest

from lit_transformer.components import component_ids
from lit_transformer.console.tables import (
    print_contributions,
    print_criticalities,
    print_group_ablation,
    print_layer_ablation,
    print_plans,
    print_scores,
)
from lit_transformer.console.terminal import QUIET

CHRF = "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def rows() -> list[dict[str, Any]]:
    """A row for each component of a base model, in canonical order, the last of which is the most important one."""
    return [
        {
            "component": component,
            "rank": 30 - place,
            "parameters": 1_050_624,
            "ablated_bleu": 36.5 - place,
            "drop": place - 0.25,
            "drop_lower": place - 1.25,
            "drop_upper": place + 0.5,
            "label": "negligible" if place else "undecided",
            "contribution": place / 29,
        }
        for place, component in enumerate(component_ids(6, 6))
    ]


def about(**changes: Any) -> dict[str, Any]:
    return {"signature": SIGNATURE, "baseline": {"bleu": 36.25, "sentences": 1014}, "reliable": True, **changes}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", QUIET):
        monkeypatch.delenv(name, raising=False)


class TestTable:
    def shown(self, capsys: pytest.CaptureFixture[str], **changes: Any) -> list[str]:
        print_contributions(rows(), about(**changes))
        out, err = capsys.readouterr()
        assert err == ""
        return out.splitlines()

    def test_it_fits_80_columns_and_every_id_is_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = self.shown(capsys)
        assert max(map(len, lines)) <= 80
        # Letter by letter: ":sa:" is an emoji to rich.
        for component in component_ids(6, 6):
            assert sum(f" {component} " in line for line in lines) == 1, component
        assert all(ord(character) < 0x3000 for line in lines for character in line)

    def test_the_most_important_comes_first(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = self.shown(capsys)
        order = [name for line in lines for name in component_ids(6, 6) if f" {name} " in line]
        assert order == component_ids(6, 6)[::-1]
        first = next(line for line in lines if " d:ff:6 " in line)
        assert [cell.strip(" │") for cell in first.split("│") if cell.strip()] == [
            "1",
            "d:ff:6",
            "7.50",
            "+28.75",
            "+27.8 to +29.5",
            "negligible",
            "1.00",
        ]
        assert "-0.25" in next(line for line in lines if " e:sa:1 " in line)

    def test_what_the_numbers_rest_on(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = self.shown(capsys)
        assert any(SIGNATURE in line for line in lines)
        assert "Baseline 36.25 BLEU on 1014 sentences of validation." in " ".join(lines)
        assert not any("unreliable" in line for line in lines)

    def test_a_low_baseline_is_a_warning(
        self, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(logging.getLogger("lit_transformer"), "propagate", True)
        self.shown(capsys, reliable=False)
        [record] = caplog.records
        assert record.levelname == "WARNING"
        assert "makes the scores unreliable (reliable: false in scores.json)" in record.message

    def test_that_of_mean_ablation_has_its_own_columns(self, capsys: pytest.CaptureFixture[str]) -> None:
        [*others, last] = rows()
        mean = {f"mean_{name}": value for name, value in last.items() if name not in ("component", "parameters")}
        print_contributions([*others, {**mean, "component": last["component"]}], about(), "mean_")
        out = capsys.readouterr().out
        assert "mean ablation" in out
        assert " d:ff:6 " in out
        assert " e:sa:1 " not in out


class TestOtherTables:
    def test_criticality(self, capsys: pytest.CaptureFixture[str]) -> None:
        row = {"criticality_drop": 0.25, "relative_distance": 0.05, "cosine": 0.99, "moved_little": True}
        scored: list[dict[str, Any]] = [
            {**row, "component": "d:sa:1", "criticality": 0.0, "criticality_rank": 2},
            {**row, "component": "d:ea:1", "criticality": 0.9, "criticality_rank": 1, "moved_little": False},
            {"component": "e:sa:1"},
        ]
        print_criticalities(scored, about(), 0.5)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        found = [line for line in lines if ":1 " in line]
        assert [cell.strip() for cell in found[0].split("│")[1:4]] == ["1", "d:ea:1", "0.9"]
        assert "moved little" in found[1]
        assert "below 0.50 BLEU" in " ".join(lines)
        assert len(found) == 2

    def test_group_ablation(self, capsys: pytest.CaptureFixture[str]) -> None:
        row = {"order": "greedy", "validation_bleu": "36.25", "test_bleu": 35.5}
        steps = [
            {**row, "step": 0, "component": "", "parameters_removed": "0"},
            {**row, "step": 1, "component": "d:sa:3", "parameters_removed": 1050624, "test_bleu": 35.125},
        ]
        print_group_ablation(steps, about())
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        assert [cell.strip() for cell in lines[-3].split("│")[1:-1]] == [
            "greedy",
            "1",
            "d:sa:3",
            "-1,050,624",
            "36.25",
            "35.12",
        ]
        assert "nothing" in lines[-4]

    def test_layer_ablation(self, capsys: pytest.CaptureFixture[str]) -> None:
        whole = {"validation_bleu": 36.25, "validation_drop": 0.0, "parameters_removed": 0}
        steps: list[dict[str, Any]] = [{"step": 0, "layer": None, "components": [], **whole}]
        for step, layer in enumerate((12, 10), start=1):
            gone = [f"d:{kind}:{layer}" for kind in ("sa", "ea", "ff")]
            drops = {"validation_bleu": 36.25 - step, "validation_drop": step, "parameters_removed": 99_200_960 * step}
            steps.append({"step": step, "layer": layer, "components": gone, **drops})
        print_layer_ablation(steps, about())
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines[-5:-2]]
        assert cells[0] == ["0", "", "nothing", "0", "36.25", "+0.00"]
        assert cells[2] == ["2", "10", "d:sa:10, d:ea:10, d:ff:10", "-198,401,920", "34.25", "+2.00"]

    def test_a_plan(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_plans([("ContributionScore", 31, 1, 0), ("CriticalityScore", 31, 1, 270)], about(), 6.0)
        text = " ".join(capsys.readouterr().out.split())
        assert "ContributionScore │ 31 │ 1 │ 0" in text
        # 30 + 30 + 270 evaluations of 6 seconds.
        assert "at most 33.0 minutes" in text
        print_plans([("CriticalityScore", 31, 1, 0)], about(), 6.0, 90.0)
        text = " ".join(capsys.readouterr().out.split())
        assert "here and losses on training pairs at most 1.5 minutes, so this takes at most 4.5 minutes" in text

    def test_scores_of_a_file_with_a_long_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        name = "a_file_whose_name_" + "goes_on_and_on_" * 8
        scored = {"scoring_set": {"name": name, "split": "test", "sentences": 3003}}
        scores = {"test/bleu_greedy": 100.0, "test/perplexity": 123_456_789.25, "test/non_terminated": 0.0125}
        print_scores(scores, about(**scored), "average.ckpt", 1_000_000)
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= 80
        assert f"average.ckpt: 1,000,000 sentences of test ({name})" in "".join(out.splitlines())
        cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]
        assert cells == [
            ["test/bleu_greedy", "100.0000"],
            ["test/perplexity", "123,456,789.2500"],
            ["test/non_terminated", "0.0125"],
        ]
        assert SIGNATURE in out
        print_scores(scores, about(scoring_set={**scored["scoring_set"], "name": "test"}), "average.ckpt", 3)
        assert capsys.readouterr().out.startswith("average.ckpt: 3 sentences of test\n")

    def test_every_score_has_its_signature(self, capsys: pytest.CaptureFixture[str]) -> None:
        scored = {"scoring_set": {"name": "test", "split": "test", "sentences": 3}}
        print_scores({"test/bleu": 1.0, "test/chrf": 2.0}, about(**scored, chrf_signature=CHRF), "average.ckpt", 3)
        assert f"{SIGNATURE}; chrF: {CHRF}." in " ".join(capsys.readouterr().out.split())


def numbers() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of each table with the widest values that there may be."""
    scored = {
        "component": "d:ea:12",
        "rank": 1000,
        "criticality_rank": 1000,
        "label": "negligible",
        "ablated_bleu": 100.0,
        **dict.fromkeys(("drop", "drop_lower", "drop_upper", "criticality_drop"), -99.9),
        "contribution": 1.0,
        "criticality": 1.0,
        "relative_distance": 123.456,
        "cosine": -1.0,
        "moved_little": True,
    }
    step = {"order": "matched-1234", "step": 30, "component": "d:ea:12", "parameters_removed": 1_234_567_890}
    bleu = {"validation_bleu": 100.0, "test_bleu": 100.0, "validation_drop": -99.9}
    layer = {"layer": 12, "components": ["d:sa:12", "d:ea:12", "d:ff:12"], "parameters_removed": 1_234_567_890}
    return [scored], [scored], [{**step, **bleu}], [{"step": 12, **layer, **bleu}]


@pytest.mark.parametrize("table", range(4))
def test_nothing_is_cut_off_at_80_columns(table: int, capsys: pytest.CaptureFixture[str]) -> None:
    given = numbers()
    [
        lambda: print_contributions(given[0], about()),
        lambda: print_criticalities(given[1], about(), 0.5),
        lambda: print_group_ablation(given[2], about()),
        lambda: print_layer_ablation(given[3], about()),
    ][table]()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    # rich puts an ellipsis where it cuts something off.
    assert "…" not in "".join(lines)
    assert sum("d:ea:12" in line for line in lines) == 1


def test_quiet_prints_no_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(QUIET, "1")
    print_contributions(rows(), about())
    print_plans([("ContributionScore", 31, 1, 0)], about(), 6.0)
    print_scores({"test/bleu": 1.0}, about(scoring_set={"name": "a", "split": "test"}), "average.ckpt", 3)
    assert capsys.readouterr() == ("", "")
