from __future__ import annotations

import time
from typing import Any

import pytest
import pytorch_lightning as pl

from callbacks import Throughput
from callbacks import throughput as module_under_test
from lit_transformer.data.batch import Batch
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import metric


class Clock:
    """Time that passes only when it is told to."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


class Work(pl.Callback):
    """Takes 2 seconds for a batch of training and 1000 for one of validation; notes the batches of training."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.batches: list[Batch] = []

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, *_: Any) -> None:
        self.clock.now += 2.0
        self.batches.append(batch)

    def on_validation_batch_start(self, *_: Any) -> None:
        self.clock.now += 1000.0


@pytest.mark.parametrize(
    ("every", "accumulated", "steps", "validate"),
    [(1, 1, 6, 1), (2, 1, 6, 1), (3, 1, 6, 1), (2, 2, 4, 4), (7, 1, 42, 100), (5, 1, 30, 20)],
)
def test_tokens_and_padding_by_hand(
    setup: Setup, every: int, accumulated: int, steps: int, validate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module_under_test, "time", clock)
    work = Work(clock)
    trainer = setup.trainer(
        [work, Throughput()],
        max_steps=steps,
        log_every_n_steps=every,
        accumulate_grad_batches=accumulated,
        val_check_interval=validate,
    )
    trainer.fit(setup.module(), datamodule=setup.data())
    rates, padding = (metric(setup.folder, f"train/{name}") for name in ("target_tokens_per_second", "padding"))
    size = every * accumulated
    parts = [work.batches[first : first + size] for first in range(0, len(work.batches), size)]
    assert len(work.batches) == steps * accumulated
    assert steps < 20 or trainer.current_epoch > 1  # some windows reach from one epoch into the next
    # Lightning counts the steps from 0 in the log.
    assert list(rates) == list(padding) == [step - 1 for step in range(every, steps + 1, every)]
    tokens = [sum(int(batch.target[:, 1:].ne(0).sum()) for batch in part) for part in parts]
    sides = [[(batch.source, batch.target[:, 1:]) for batch in part] for part in parts]
    cells = [sum(source.numel() + target.numel() for source, target in part) for part in sides]
    empty = [sum(int(source.eq(0).sum() + target.eq(0).sum()) for source, target in part) for part in sides]
    assert list(rates.values()) == pytest.approx([count / (2.0 * size) for count in tokens], rel=1e-5)
    assert list(padding.values()) == pytest.approx([e / c for e, c in zip(empty, cells, strict=True)], abs=1e-6)
    assert max(padding.values()) > 0


def test_it_is_really_a_clock(setup: Setup) -> None:
    started = time.perf_counter()
    trainer = setup.trainer([Throughput()], max_steps=2, limit_val_batches=0)
    trainer.fit(setup.module(), datamodule=setup.data())
    rates = metric(setup.folder, "train/target_tokens_per_second")
    assert len(rates) == 2
    assert min(rates.values()) > 100 / (time.perf_counter() - started)
