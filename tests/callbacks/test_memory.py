from __future__ import annotations

import resource
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from callbacks import Memory
from callbacks.memory import GIB, peak_resident_memory
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import metric

pytestmark = pytest.mark.skipif(peak_resident_memory() is None, reason="the system does not tell")


def test_what_was_taken_and_given_back_still_counts() -> None:
    before = peak_resident_memory()
    assert before is not None
    now = before
    if (pages := Path("/proc/self/statm")).is_file():
        now = int(pages.read_text().split()[1]) * resource.getpagesize()
    # Written to, or it would not lie in RAM.
    taken = np.ones((before - now + (1 << 26)) // 8)
    highest = peak_resident_memory()
    del taken
    after = peak_resident_memory()
    assert highest is not None
    assert after is not None
    assert highest > before
    # The system counts in lots, one for each thread.
    assert after > highest - (1 << 24)


def test_a_fit_logs_it_in_gib(setup: Setup) -> None:
    trainer = setup.trainer([Memory()], max_steps=4, log_every_n_steps=2, limit_val_batches=0)
    trainer.fit(setup.module(), datamodule=setup.data())
    found, peak = metric(setup.folder, "train/memory"), peak_resident_memory()
    assert peak is not None
    assert list(found) == [1, 3]
    assert 0.05 < max(found.values()) <= peak / GIB


class Strategy:
    """Reduces as if there were two processes, the second with twice as much."""

    def reduce(self, mine: Tensor, reduce_op: str) -> Tensor:
        both = torch.stack([mine, 2 * mine])
        return both.sum() if reduce_op == "sum" else both.max()


@pytest.mark.parametrize(
    ("device", "name", "factor"), [("cpu", "train/memory", 3.0), ("cuda", "train/gpu_memory", 2.0)]
)
def test_of_several_processes(device: str, name: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: dict[str, float] = {}
    monkeypatch.setattr("callbacks.memory.peak_resident_memory", lambda: 3 << 29)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 3 << 29)
    # The number itself lies on the CPU: there need be no GPU here.
    monkeypatch.setattr(torch, "tensor", lambda value, device: torch.Tensor([value])[0])
    module: Any = SimpleNamespace(
        device=SimpleNamespace(type=device), log=lambda name, value: logged.update({name: float(value)})
    )
    trainer: Any = SimpleNamespace(global_step=50, log_every_n_steps=50, strategy=Strategy())
    Memory().on_train_batch_end(trainer, module, None, None, 0)
    assert logged == {name: 1.5 * factor}
    trainer.global_step = 51
    logged.clear()
    Memory().on_train_batch_end(trainer, module, None, None, 0)
    assert logged == {}
