from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from lit_transformer.runs.metrics_log import MetricsLog
from lit_transformer.tracking.run import finish, harmless, log_component_scores, others_of, runs_of, use


class FakeRun:
    """A run that is online, and knows only some artifacts."""

    offline = False

    def __init__(self, known: str) -> None:
        self.known = known
        self.used: list[str] = []
        self.told: dict[str, Any] = {}
        self.config = mock.Mock(update=lambda values, allow_val_change: self.told.update(values))

    def use_artifact(self, name: str) -> None:
        if name != self.known:
            raise ValueError("artifact not found")
        self.used.append(name)


def test_lineage_online_is_what_wandb_knows() -> None:
    run = FakeRun("demo-version_0-average:0123")
    inputs = {"checkpoint": "demo-version_0-average:0123", "tokenizer": "demo-version_0-tokenizer:4567"}
    assert use(run, inputs) == ["tokenizer"]
    assert run.used == ["demo-version_0-average:0123"]
    assert run.told == {"inputs": inputs}


def test_lineage_offline_is_by_name() -> None:
    run = FakeRun("a:1")
    run.offline = True
    assert use(run, {"checkpoint": "a:1"}) == ["checkpoint"]
    assert (run.used, run.told) == ([], {"inputs": {"checkpoint": "a:1"}})


def test_what_wandb_refuses_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), harmless("the picture"):
        raise OSError("no space left")
    assert caplog.messages == [
        "Weights & Biases did not take the picture (no space left); the files of the run are complete."
    ]
    with pytest.raises(KeyboardInterrupt), harmless("the picture"):
        raise KeyboardInterrupt


def test_a_logger_that_fails_costs_no_scores(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = mock.Mock()
    run.log.side_effect = ConnectionError("gone")
    logger = WandbLogger(experiment=run)
    log_component_scores([logger], "contribution", [{"component": "e:sa:1", "contribution": 0.5}], tmp_path / "x.png")
    assert "did not take the contribution of components (gone)" in caplog.text


def test_only_the_first_process_has_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mock.Mock()
    loggers = [MetricsLog(tmp_path), WandbLogger(experiment=run)]
    assert runs_of(loggers) == [run]
    assert others_of(loggers) == loggers[:1]
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    assert runs_of(loggers) == []


def fail() -> None:
    try:
        _ = 1 / 0
    finally:
        finish()


def test_the_run_of_a_command_that_fails_ends_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = mock.Mock()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    finish()
    with pytest.raises(ZeroDivisionError):
        fail()
    assert [call.kwargs for call in wandb.finish.call_args_list] == [{"exit_code": 0}, {"exit_code": 1}]
    monkeypatch.delitem(sys.modules, "wandb")
    finish()
