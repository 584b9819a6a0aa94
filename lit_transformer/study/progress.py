"""How far a study is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.progress import Progress

from lit_transformer.console.progress import bar_columns, time_left
from lit_transformer.console.terminal import is_live, is_quiet, live_progress, tell


class StageProgress:
    """Shows on standard error which stage of how many a study is at, and the time left: a bar or, elsewhere, lines.

    A stage is expected to take as long as those of its kind took on average; the kind is the first word of its name.

    Args:
        clock: Tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: list[str] = []
        self._total = 0
        self._took: dict[str, list[float]] = {}
        self._now: tuple[str, float] | None = None
        self._bar: Progress | None = None

    def __enter__(self) -> StageProgress:
        """Show the bar."""
        if is_live() and not is_quiet():
            self._bar = live_progress(*bar_columns(self.time_left))
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def plan(self, keys: Sequence[str]) -> None:
        """Say which stages there will be.

        Args:
            keys: Their names.
        """
        self._left = list(dict.fromkeys(keys))
        self._total = len(self._left)

    def begin(self, key: str) -> None:
        """Say that a stage begins."""
        self._now = (key, self._clock())
        if key not in self._left:
            # One that is tried again.
            self._left.append(key)
        place = self._total - len(self._left) + 1
        if self._bar is not None:
            self._bar.update(self._task, description=key, completed=place - 1, total=self._total)
        else:
            left = self.time_left()
            tell(f"stage {place} of {self._total}: {key} ..." + (f" ({left})" if left else ""))

    def end(self, key: str, seconds: float = 0.0) -> None:
        """Say that a stage has ended, was found done, or won't be run.

        Args:
            key: Its name.
            seconds: How long it took in all; 0 where that is not known, or tells nothing about others.
        """
        self._now = None
        if key in self._left:
            self._left.remove(key)
        if seconds > 0:
            self._took.setdefault(key.partition("-")[0], []).append(seconds)

    def time_left(self) -> str:
        """Return the time left in words: ``at least`` that of the stages that can be told; empty where none can."""
        known = [each for key in self._left if (each := self._expected(key)) is not None]
        if not known:
            return ""
        spent = 0.0
        if self._now is not None and (each := self._expected(self._now[0])) is not None:
            spent = min(self._clock() - self._now[1], each)
        return time_left(sum(known) - spent, "" if len(known) == len(self._left) else "at least")

    def _expected(self, key: str) -> float | None:
        took = self._took.get(key.partition("-")[0])
        return sum(took) / len(took) if took else None
