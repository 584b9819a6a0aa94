from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lit_transformer import progress as progress_module
from lit_transformer.components import component_ids
from lit_transformer.progress import EvaluationProgress, print_scores

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
TERMINAL = functools.partial(Console, force_terminal=True)


def rows() -> list[dict[str, Any]]:
    """A row for each component of a base model, in canonical order, the last of which is the most important one."""
    return [
        {
            "component": component,
            "rank": 30 - place,
            "parameters": 1_050_624,
            "ablated_bleu": 36.5 - place,
            "drop": place - 0.25,
            "contribution": place / 29,
        }
        for place, component in enumerate(component_ids(6, 6))
    ]


def about(**changes: Any) -> dict[str, Any]:
    return {"signature": SIGNATURE, "baseline": {"bleu": 36.25, "sentences": 1014}, "reliable": True, **changes}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    # datasets puts another object in the place of os.environ when it has worked with several processes.
    monkeypatch.setattr(Console, "_environ", os.environ)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


class TestTable:
    def shown(self, capsys: pytest.CaptureFixture[str], folder: Path, **changes: Any) -> list[str]:
        print_scores(rows(), about(**changes), folder / "analysis" / "best", folder / "report" / "contribution.png")
        out, err = capsys.readouterr()
        assert err == ""
        return out.splitlines()

    def test_it_fits_80_columns_and_every_id_is_there(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        lines = self.shown(capsys, tmp_path)
        paths = [line for line in lines if line.startswith(str(tmp_path))]
        assert max(len(line) for line in lines if line not in paths) <= 80
        # Letter by letter: ":sa:" is an emoji to rich.
        for component in component_ids(6, 6):
            assert sum(f" {component} " in line for line in lines) == 1, component
        assert all(ord(character) < 0x3000 for line in lines for character in line)

    def test_the_most_important_comes_first(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        lines = self.shown(capsys, tmp_path)
        order = [name for line in lines for name in component_ids(6, 6) if f" {name} " in line]
        assert order == component_ids(6, 6)[::-1]
        first = next(line for line in lines if " d:ff:6 " in line)
        assert [cell.strip(" │") for cell in first.split("│") if cell.strip()] == [
            "1",
            "d:ff:6",
            "1,050,624",
            "7.50",
            "+28.75",
            "1.00",
        ]
        assert "-0.25" in next(line for line in lines if " e:sa:1 " in line)

    def test_what_the_numbers_rest_on(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        lines = self.shown(capsys, tmp_path)
        assert any(SIGNATURE in line for line in lines)
        assert "Baseline 36.25 BLEU on 1014 sentences of validation." in " ".join(lines)
        assert not any("unreliable" in line for line in lines)
        assert lines[-3:] == [
            str(tmp_path / name)
            for name in ("analysis/best/scores.csv", "analysis/best/scores.json", "report/contribution.png")
        ]

    def test_a_low_baseline_is_told(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        text = " ".join(" ".join(self.shown(capsys, tmp_path, reliable=False)).split())
        assert "makes the scores unreliable (reliable: false in scores.json)" in text

    def test_a_long_path_is_not_broken(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        folder = tmp_path / ("long" * 40)
        assert str(folder / "report" / "contribution.png") in self.shown(capsys, folder)


class TestProgress:
    def test_plain_lines_without_a_terminal(self, capsys: pytest.CaptureFixture[str]) -> None:
        with EvaluationProgress(3) as progress:
            progress.advance("baseline", 36.253)
            progress.advance("d:sa:5", 0.5)
        assert capsys.readouterr() == ("", "  1/3  baseline  36.25 BLEU\n  2/3  d:sa:5     0.50 BLEU\n")

    def test_other_processes_are_silent(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for console in (Console, TERMINAL):
            monkeypatch.setattr(progress_module, "Console", console)
            with EvaluationProgress(3, shown=False) as progress:
                progress.advance("baseline", 36.25)
        assert capsys.readouterr() == ("", "")

    def test_a_bar_in_a_terminal(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress_module, "Console", TERMINAL)
        with EvaluationProgress(3) as progress:
            progress.advance("baseline", 36.25)
            progress.advance("d:sa:5", 0.5)
        out, err = capsys.readouterr()
        assert out == ""
        assert "d:sa:5     0.50 BLEU" in err
        assert "2/3" in err
        assert "left" in err

    def test_the_bar_goes_when_something_fails(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress_module, "Console", TERMINAL)

        def fail() -> None:
            with EvaluationProgress(3):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert capsys.readouterr().err.endswith("\x1b[?25h")  # the cursor is back
