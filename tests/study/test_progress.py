from __future__ import annotations

import sys

import pytest

from lit_transformer.console.terminal import QUIET
from lit_transformer.study.progress import StageProgress
from tests.pseudo_terminal import pseudo_terminal

KEYS = ["base-seed1", "scores-seed1", "trained-continued-seed1", "trained-pruned-seed1", "scoring"]


class Clock:
    """Time that passes only when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_what_stages_of_the_kind_took() -> None:
    clock = Clock()
    progress = StageProgress(clock)
    progress.plan([*KEYS, "trained-random1-seed1"])
    assert progress.time_left() == ""
    # Found done: a study that goes on knows what it took before.
    progress.end("base-seed1", 600.0)
    assert progress.time_left() == ""
    progress.begin("scores-seed1")
    progress.end("scores-seed1", 40.0)
    progress.begin("trained-continued-seed1")
    progress.end("trained-continued-seed1", 60.0)
    assert progress.time_left() == "at least 0:02:00 left"
    progress.begin("trained-pruned-seed1")
    clock.now += 45
    assert progress.time_left() == "at least 0:01:15 left"
    clock.now += 45
    assert progress.time_left() == "at least 0:01:00 left"
    progress.end("trained-pruned-seed1", 90.0)
    assert progress.time_left() == "at least 0:01:15 left"
    progress.end("scoring")
    assert progress.time_left() == "0:01:15 left"
    progress.end("trained-random1-seed1")
    assert progress.time_left() == ""


def test_lines_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def follow() -> None:
        with StageProgress(Clock()) as progress:
            progress.plan(KEYS)
            progress.begin("base-seed1")
            progress.end("base-seed1", 5.0)
            # Nothing to be done.
            progress.end("scores-seed1")
            progress.begin("trained-continued-seed1")
            progress.end("trained-continued-seed1", 60.0)
            progress.begin("trained-pruned-seed1")

    follow()
    assert capsys.readouterr() == (
        "",
        "stage 1 of 5: base-seed1 ...\n"
        "stage 3 of 5: trained-continued-seed1 ...\n"
        "stage 4 of 5: trained-pruned-seed1 ... (at least 0:01:00 left)\n",
    )
    monkeypatch.setenv(QUIET, "1")
    follow()
    assert capsys.readouterr() == ("", "")


def test_a_bar_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with pseudo_terminal(monkeypatch) as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal.file)
        with StageProgress(Clock()) as progress:
            progress.plan(KEYS)
            progress.end("base-seed1", 5.0)
            progress.end("trained-continued-seed1", 3600.0)
            progress.begin("trained-pruned-seed1")
            assert progress._bar is not None
            progress._bar.refresh()
    [bar] = {line for line in terminal.lines if "trained-pruned-seed1" in line}
    assert len(bar) == 80
    assert " 2/5 " in bar
    assert bar.endswith("at least 1:00:00 left")
