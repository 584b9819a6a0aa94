from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import nn

from callbacks import GradientNorm
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import metric


class Noting(pl.LightningModule):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.unused = nn.Linear(3, 3)
        self.logged: dict[str, float] = {}

    def log(self, name: str, value: Any, *_: Any, **__: Any) -> None:
        self.logged[name] = float(value)


def call(module: Noting, step: int, every: int, scaler: torch.amp.GradScaler | None = None) -> None:
    precision = SimpleNamespace(scaler=scaler)
    trainer: Any = SimpleNamespace(global_step=step, log_every_n_steps=every, precision_plugin=precision)
    GradientNorm().on_before_optimizer_step(trainer, module, torch.optim.SGD(module.parameters(), 0.1))


def test_the_norm_by_hand() -> None:
    module = Noting()
    module.linear(torch.tensor([[3.0, -4.0]])).sum().backward()  # gradients: weight (3, -4), bias 1, the rest none
    call(module, step=0, every=1)
    assert module.logged == {"train/gradient_norm": pytest.approx(math.sqrt(9 + 16 + 1))}


@pytest.mark.parametrize("gradient", [math.nan, math.inf])
def test_a_gradient_that_overflowed_is_infinite_where_that_is_to_be_expected(gradient: float) -> None:
    module = Noting()
    module.linear.bias.grad = torch.tensor([gradient])
    call(module, 0, 1, torch.amp.GradScaler("cpu"))
    assert module.logged == {"train/gradient_norm": math.inf}
    call(module, 0, 1)
    assert module.logged == {"train/gradient_norm": pytest.approx(gradient, nan_ok=True)}


@pytest.mark.parametrize(("every", "steps"), [(1, [0, 1, 2, 3, 4, 5]), (3, [2, 5]), (0, [0, 1, 2, 3, 4, 5])])
def test_it_is_computed_only_when_the_trainer_logs(every: int, steps: list[int]) -> None:
    module = Noting()
    module.linear(torch.ones(1, 2)).sum().backward()
    found = []
    for step in range(6):
        module.logged.clear()
        call(module, step, every)
        found += [step] if module.logged else []
    assert found == steps


def test_clipping_comes_afterwards(setup: Setup) -> None:
    norms: dict[str, list[float]] = {"before": [], "after": []}

    class Watch(pl.Callback):
        def on_before_optimizer_step(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
            norms["before"].append(self.norm(pl_module))

        def on_before_zero_grad(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
            if any(parameter.grad is not None for parameter in pl_module.parameters()):
                norms["after"].append(self.norm(pl_module))

        @staticmethod
        def norm(module: pl.LightningModule) -> float:
            squares = [float((p.grad.double() ** 2).sum()) for p in module.parameters() if p.grad is not None]
            return math.sqrt(sum(squares))

    trainer = setup.trainer(
        [GradientNorm(), Watch()], max_steps=4, log_every_n_steps=2, gradient_clip_val=1e-3, limit_val_batches=0
    )
    trainer.fit(setup.module(), datamodule=setup.data())
    logged = metric(setup.folder, "train/gradient_norm")
    assert list(logged) == [1, 3]
    assert list(logged.values()) == pytest.approx(norms["before"][1::2], rel=1e-4)
    assert min(logged.values()) > 0.01
    assert norms["after"] == pytest.approx([1e-3] * len(norms["after"]), rel=0.01)
    assert norms["after"]
