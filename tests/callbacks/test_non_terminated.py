from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callbacks import NonTerminated
from lit_transformer.runs.metrics_log import MetricsLog
from lit_transformer.training.trainer import Trainer
from tests.callbacks.conftest import Setup


@pytest.fixture(autouse=True)
def caught(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("callbacks"), "propagate", True)
    return caplog


def validate(callback: NonTerminated, *shares: float) -> None:
    for share in shares:
        trainer: Any = SimpleNamespace(
            sanity_checking=False, state=SimpleNamespace(fn="fit"), callback_metrics={"val/non_terminated": share}
        )
        callback.on_validation_end(trainer, None)  # type: ignore[arg-type]


def test_a_model_that_has_not_learnt_to_stop_yet_is_no_news(caught: pytest.LogCaptureFixture) -> None:
    validate(NonTerminated(), 1.0, 0.9, 0.4, 0.01, 0.06)
    assert caught.messages == []


def test_one_that_forgets_it_is_warned_of_once(caught: pytest.LogCaptureFixture) -> None:
    callback = NonTerminated()
    validate(callback, 0.5, 0.01, 0.07, 0.2)
    text = "7.0 % of the translations met the length limit before their end, against 1.0 % before."
    assert caught.messages == [text]
    # It learns again, and forgets again.
    validate(callback, 0.02, 0.3)
    assert len(caught.messages) == 2


def test_a_resumed_run_knows_what_was_before(caught: pytest.LogCaptureFixture) -> None:
    before, after = NonTerminated(), NonTerminated()
    validate(before, 0.0)
    after.load_state_dict(before.state_dict())
    validate(after, 0.1)
    assert len(caught.messages) == 1


@pytest.mark.parametrize(("parent", "warns"), [([0.9, 0.0], True), ([0.0, 0.9], False), ([], False)])
def test_a_changed_model_is_compared_with_what_it_was(
    parent: list[float], warns: bool, setup: Setup, tmp_path: Path, caught: pytest.LogCaptureFixture
) -> None:
    """A model that was pruned and has forgotten to stop has no better validation of its own."""
    folder = tmp_path / "runs/demo/version_0"
    for step, share in enumerate(parent):
        MetricsLog(folder).log_metrics({"val/non_terminated": share}, step)
    callback = NonTerminated()
    trainer: Trainer = setup.trainer([callback])
    trainer.started_from = folder / "checkpoints/average.ckpt"
    callback.on_train_start(trainer, setup.module())
    caught.clear()
    validate(callback, 0.5)
    assert bool(caught.messages) is warns
