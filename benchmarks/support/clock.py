"""How time is taken."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""Wall time, or the processor time of this process, which other programs disturb less; fair with one thread only."""

_clock, _device = "wall", torch.device("cpu")


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a function takes, in seconds, and what it returns.

    It is done when the device is. What the device was given before is waited for first.
    """
    clock = CLOCKS[_clock]
    _wait()
    started = clock()
    result = function()
    _wait()
    return clock() - started, result


def _wait() -> None:
    if _device.type == "cuda":
        torch.cuda.synchronize(_device)


def use_clock(name: str, device: torch.device | None = None) -> None:
    """Choose what `seconds` counts.

    Args:
        name: One of `CLOCKS`.
        device: Where the functions compute; the CPU, if not given.
    """
    global _clock, _device
    _clock, _device = name, device or torch.device("cpu")


def median_seconds(function: Callable[[], Any], runs: int) -> float:
    """Return the median time of a function in seconds, after one run that does not count."""
    function()
    return statistics.median(seconds(function)[0] for _ in range(runs))
