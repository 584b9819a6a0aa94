from __future__ import annotations

import math
import sys

import pytest

from lit_transformer.console.progress import EvaluationProgress, TimeLeft, TrainingTime, duration, time_left
from lit_transformer.console.terminal import QUIET
from tests.pseudo_terminal import COLOURED, pseudo_terminal


class Clock:
    """Time that passes only when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00:00"), (-3, "0:00:00"), (59.6, "0:01:00"), (3661, "1:01:01"), (360_000, "100:00:00")]
)
def test_times_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_time_left_in_words() -> None:
    assert time_left(61.0) == "0:01:01 left"
    assert time_left(61.0, "at most") == "at most 0:01:01 left"
    assert time_left(None, "at least") == "-:--:-- left"


class TestTimeLeft:
    def test_what_is_found_done_tells_nothing_about_what_is_to_come(self) -> None:
        clock = Clock()
        left = TimeLeft(10, clock)
        assert left.seconds() is None
        for _ in range(4):
            clock.now += 0.01
            left.done()
        assert left.seconds() is None
        for took in (50.0, 70.0):
            clock.now += took
            left.done()
        assert left.seconds() == 4 * 60

    def test_it_counts_down_and_then_waits(self) -> None:
        clock = Clock()
        left = TimeLeft(3, clock)
        clock.now += 60
        left.done()
        clock.now += 20
        assert left.seconds() == 2 * 60 - 20
        clock.now += 500
        assert left.seconds() == 60
        for _ in range(2):
            left.done()
        assert left.seconds() == 0


class TestTrainingTime:
    def test_steps_and_the_validations_to_come(self) -> None:
        clock = Clock()
        training = TrainingTime(steps=100, every=25, clock=clock)
        assert training.seconds() is None
        clock.now += 50
        training.advance(25)
        # 2 seconds a step; nobody knows yet how long the four validations take.
        assert training.seconds() == 75 * 2
        assert training.is_lower_bound
        training.pause()
        clock.now += 30
        assert training.seconds() == 75 * 2
        training.resume()
        assert training.seconds() == 75 * 2 + 3 * 30
        assert not training.is_lower_bound
        clock.now += 150
        training.advance(100)
        assert training.seconds() == 0

    def test_a_resumed_run_counts_its_own_steps(self) -> None:
        clock = Clock()
        training = TrainingTime(steps=1000, every=math.inf, step=900, clock=clock)
        clock.now += 30
        training.advance(910)
        assert training.seconds() == 90 * 3
        assert not training.is_lower_bound

    def test_without_an_end_there_is_no_time_left(self) -> None:
        clock = Clock()
        training = TrainingTime(steps=math.inf, every=25, clock=clock)
        clock.now += 30
        training.advance(10)
        assert training.seconds() is None
        assert not training.is_lower_bound


class TestEvaluationProgress:
    def test_plain_lines_without_a_terminal(self, capsys: pytest.CaptureFixture[str]) -> None:
        with EvaluationProgress(3) as progress:
            progress.advance("baseline", 36.253)
            progress.advance("d:sa:5", 0.5)
        assert capsys.readouterr() == ("", "  1/3  baseline         36.25 BLEU\n  2/3  d:sa:5            0.50 BLEU\n")

    def test_forced_colours_make_no_terminal(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        self.test_plain_lines_without_a_terminal(capsys)

    def test_other_processes_and_quiet_ones_are_silent(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def advance(shown: bool) -> None:
            with EvaluationProgress(3, shown) as progress:
                progress.advance("baseline", 36.25)

        advance(shown=False)
        with pseudo_terminal(monkeypatch) as terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", terminal.file)
            advance(shown=False)
            patch.setenv(QUIET, "1")
            advance(shown=True)
        assert terminal.text == ""
        assert capsys.readouterr() == ("", "")

    def draw(self, monkeypatch: pytest.MonkeyPatch, term: str = "xterm-256color", **env: str) -> tuple[list[str], str]:
        """Return the lines of a terminal with a name that is too long, a time and a message, and all it was sent."""
        long = "+".join(f"d:ea:{layer}" for layer in range(1, 13))
        with pseudo_terminal(monkeypatch, term) as terminal, monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stderr", terminal.file)
            with EvaluationProgress(301, at_most=True) as progress:
                progress._time._clock = clock = Clock()
                progress._time._last = clock.now
                progress.advance("baseline", 36.25)
                clock.now += 3600.0
                progress.advance(long, 0.5)
                print("a message", file=sys.stderr)
                if progress._bar is not None:
                    progress._bar.refresh()
        return terminal.lines, terminal.text

    def test_a_bar_in_a_terminal_fits_80_columns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lines, text = self.draw(monkeypatch)
        assert max(map(len, lines)) == 80
        assert "a message" in [line.strip() for line in lines]
        bar = next(line for line in lines if "2/301" in line)
        assert bar.startswith("d:ea:1+d:ea:2+d:ea:3+d:…   0.50 BLEU ━")
        assert bar.endswith("at most 299:00:00 left")
        assert COLOURED.search(text)
        assert text.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")  # the cursor is back and the bar is gone

    def test_no_colours_where_they_are_not_wanted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lines, text = self.draw(monkeypatch, NO_COLOR="1")
        assert any("2/301" in line for line in lines)
        assert not COLOURED.search(text)

    def test_a_terminal_that_draws_nothing_again_gets_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lines, text = self.draw(monkeypatch, term="dumb")
        assert "\r" not in text
        assert "\x1b" not in text
        assert lines[1].startswith("  2/301  d:ea:1+d:ea:2+d:ea:3+d:")
        assert lines[1].endswith("0.50 BLEU  at most 299:00:00 left")

    def test_the_bar_goes_when_something_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail() -> None:
            with EvaluationProgress(3):
                raise KeyboardInterrupt

        with pseudo_terminal(monkeypatch) as terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", terminal.file)
            with pytest.raises(KeyboardInterrupt):
                fail()
        assert terminal.text.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")
