"""How far something is, and the time left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text
from typing_extensions import override

from lit_transformer.console.terminal import is_live, is_quiet, live_progress, tell

WIDEST = 24
"""Characters of a variant's name that are shown, so that the bar keeps to its line."""

INSTANT = 0.05
"""Seconds below which something was not done but found to be done already."""


def duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds, such as ``0:05:10``."""
    whole = round(max(seconds, 0.0))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def time_left(seconds: float | None, bound: str = "") -> str:
    """Return the time left in words, such as ``0:05:10 left``.

    Args:
        seconds: The time in seconds; None where it is not known.
        bound: How sure it is: ``at most``, ``at least``, or nothing.
    """
    return "-:--:-- left" if seconds is None else f"{bound} {duration(seconds)} left".lstrip()


class TimeLeft:
    """Estimates the time left of pieces of work of about one size, by those that were done.

    Args:
        total: Number of pieces.
        clock: Tells the time in seconds.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._left, self._clock = total, clock
        self._last = clock()
        self._pieces, self._spent = 0, 0.0

    def done(self) -> None:
        """Say that a piece is done; one that took no time was done before and tells nothing about the others."""
        now = self._clock()
        took, self._last = now - self._last, now
        self._left -= 1
        if took >= INSTANT:
            self._pieces += 1
            self._spent += took

    def seconds(self) -> float | None:
        """Return the seconds left; None while they can't be told."""
        if self._left <= 0:
            return 0.0
        if not self._pieces:
            return None
        each = self._spent / self._pieces
        # The piece that is being done counts down, and then waits.
        return self._left * each - min(self._clock() - self._last, each)


class Countdown(ProgressColumn):
    """A column with the time left, in the first line alone where there are several.

    Args:
        left: Tells it, in words.
    """

    def __init__(self, left: Callable[[], str]) -> None:
        super().__init__(Column(no_wrap=True))
        self._left = left

    @override
    def render(self, task: Task) -> Text:
        return Text(self._left() if task.id == 0 else "", style="progress.remaining")


def bar_columns(left: Callable[[], str]) -> tuple[ProgressColumn, ...]:
    """Return the columns of a bar that takes the room that its line leaves.

    Args:
        left: Tells the time left, in words.
    """
    return (
        # With markup, ":sa:" in the name of a component would become an emoji.
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        # The only one that gives way.
        BarColumn(bar_width=None),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        Countdown(left),
    )


class EvaluationProgress:
    """A bar with the evaluation just made and the time left; plain lines where there is no terminal.

    Args:
        total: Number of evaluations to come.
        shown: Whether this process shows anything.
        at_most: Whether fewer evaluations may do.
    """

    def __init__(self, total: int, shown: bool = True, at_most: bool = False) -> None:
        self._total, self._done = total, 0
        self._bound = "at most" if at_most else ""
        self._shown = shown and not is_quiet()
        self._time = TimeLeft(total)
        self._bar: Progress | None = None
        if self._shown and is_live():
            self._bar = live_progress(*bar_columns(lambda: time_left(self._time.seconds(), self._bound)))
            self._task = self._bar.add_task("baseline", total=total)

    def __enter__(self) -> EvaluationProgress:
        """Show the bar."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self, name: str, bleu: float | None) -> None:
        """Say that an evaluation is done.

        Args:
            name: Name of the variant, such as a component, or ``baseline``.
            bleu: What it scored, in BLEU points; None where that is not what was computed.
        """
        self._done += 1
        self._time.done()
        name = name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"
        text = f"{name:<15}" + ("" if bleu is None else f" {bleu:6.2f} BLEU")
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=text)
        elif self._shown:
            seconds = self._time.seconds()
            left = "" if seconds is None else f"  {time_left(seconds, self._bound)}"
            tell(f"{self._done:>3}/{self._total}  {text}{left}")


class TrainingTime:
    """Estimates the time left of a training: that of its steps, and that of the validations between them.

    Args:
        steps: Optimizer steps in all; infinite where that is not known.
        every: Optimizer steps between two validations; infinite where there is none.
        step: Optimizer steps done already.
        clock: Tells the time in seconds.
    """

    def __init__(self, steps: float, every: float, step: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._steps, self._every, self._clock = steps, every, clock
        self._first = self._step = step
        self._began = clock()
        self._paused: float | None = None
        self._validations, self._validating = 0, 0.0

    def advance(self, step: int) -> None:
        """Say how many optimizer steps are done."""
        self._step = step

    def pause(self) -> None:
        """Say that a validation begins."""
        self._paused = self._clock()

    def resume(self) -> None:
        """Say that a validation ends."""
        if self._paused is not None:
            self._validating += self._clock() - self._paused
            self._validations += 1
            self._paused = None

    @property
    def is_lower_bound(self) -> bool:
        """Whether there are validations to come and none has shown how long they take."""
        return self._validations == 0 and self._validations_left() > 0

    def seconds(self) -> float | None:
        """Return the seconds left; None while they can't be told."""
        made = self._step - self._first
        if math.isinf(self._steps) or made == 0:
            return None
        now = self._clock() if self._paused is None else self._paused
        left = (now - self._began - self._validating) / made * max(self._steps - self._step, 0)
        if self._validations:
            left += self._validating / self._validations * self._validations_left()
        return left

    def _validations_left(self) -> float:
        if math.isinf(self._every) or math.isinf(self._steps):
            return 0
        return math.floor(self._steps / self._every) - math.floor(self._step / self._every)
