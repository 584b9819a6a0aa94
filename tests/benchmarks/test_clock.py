from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from benchmarks.support import clock


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What happened, in order."""
    found: list[str] = []

    def tell() -> float:
        found.append("time")
        return float(len(found))

    monkeypatch.setitem(clock.CLOCKS, "wall", tell)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: found.append(f"wait for {device}"))
    yield found
    clock.use_clock("wall")


def test_a_gpu_is_waited_for_before_both_ends(happened: list[str]) -> None:
    clock.use_clock("wall", torch.device("cuda:0"))
    spent, result = clock.seconds(lambda: happened.append("work") or "made")  # type: ignore[func-returns-value]
    assert happened == ["wait for cuda:0", "time", "work", "wait for cuda:0", "time"]
    assert (spent, result) == (3.0, "made")


def test_nothing_is_waited_for_on_a_cpu(happened: list[str]) -> None:
    clock.use_clock("wall", torch.device("cpu"))
    assert clock.seconds(lambda: happened.append("work"))[0] == 2.0
    assert happened == ["time", "work", "time"]
