"""How time is taken."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""Wall time, or the processor time of this process, which other programs disturb less; fair with one thread only."""

_clock = "wall"


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a function takes, in seconds, and what it returns."""
    clock = CLOCKS[_clock]
    started = clock()
    result = function()
    return clock() - started, result


def use_clock(name: str) -> None:
    """Choose what `seconds` counts: one of `CLOCKS`."""
    global _clock
    _clock = name


def median_seconds(function: Callable[[], Any], runs: int) -> float:
    """Return the median time of a function in seconds, after one run that does not count."""
    function()
    return statistics.median(seconds(function)[0] for _ in range(runs))
