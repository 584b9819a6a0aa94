from __future__ import annotations

import math
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import pytorch_lightning as pl
from pytorch_lightning.callbacks import Timer

from callbacks import RunProgress
from callbacks.run_progress import steps_between_validations
from lit_transformer.console.terminal import QUIET
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import metric
from tests.pseudo_terminal import pseudo_terminal

SHOWN = {"enable_progress_bar": True}


def fit(setup: Setup, **options: Any) -> None:
    trainer = setup.trainer([RunProgress()], **SHOWN, **options)
    trainer.fit(setup.module(), datamodule=setup.data())


def test_a_line_for_each_validation(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    fit(setup, max_steps=6, val_check_interval=3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "\r" not in err
    assert "\x1b" not in err
    losses, bleu = metric(setup.folder, "train/loss"), metric(setup.folder, "val/bleu")
    validated = metric(setup.folder, "val/loss")
    lines = [line.rpartition("  ")[0] for line in err.splitlines() if line.startswith("epoch")]
    means = {step: sum(losses[step - n] for n in range(3)) / 3 for step in (2, 5)}
    assert lines == [
        f"epoch 1  step {step + 1}/6  loss {means[step]:.2f} (val {validated[step]:.2f})  BLEU {bleu[step]:.2f}"
        for step in (2, 5)
    ]
    assert err.splitlines()[-2].endswith("  0:00:00 left") or err.splitlines()[-1].endswith("  0:00:00 left")


def test_a_line_for_each_epoch_without_validation(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    fit(setup, max_steps=-1, max_epochs=2, limit_train_batches=3, limit_val_batches=0)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("epoch")]
    assert [line.split("  ")[:2] for line in lines] == [["epoch 1", "step 3/6"], ["epoch 2", "step 6/6"]]
    assert not any("BLEU" in line or "val" in line for line in lines)


def test_one_line_for_an_epoch_with_a_validation_at_its_end(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"check_val_every_n_epoch": 1, "val_check_interval": None}
    fit(setup, max_steps=-1, max_epochs=2, limit_train_batches=3, **options)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("epoch")]
    assert [line.split("  ")[1] for line in lines] == ["step 3/6", "step 6/6"]


def test_nothing_when_quiet(setup: Setup, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(QUIET, "1")
    fit(setup, max_steps=2, val_check_interval=1)
    out, err = capsys.readouterr()
    assert (out, [line for line in err.splitlines() if line.startswith("epoch")]) == ("", [])


def test_a_terminal(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars of training and validation within 80 columns, a line for each validation above them, and all are gone."""
    # Drawn at every step.
    monkeypatch.setattr("callbacks.run_progress.REFRESHES_PER_SECOND", 1e9)
    with pseudo_terminal(monkeypatch) as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal.file)
        progress = RunProgress()
        trainer = setup.trainer([progress], max_steps=4, val_check_interval=2, **SHOWN)
        draw = progress._advance_scoring

        def drawn() -> None:
            draw()
            assert progress._bar is not None
            progress._bar.refresh()

        patch.setattr(progress, "_advance_scoring", drawn)
        trainer.fit(setup.module(), datamodule=setup.data())
        assert progress._bar is None
    assert max(map(len, terminal.lines)) <= 80
    assert any("validation" in line and "1/1" in line for line in terminal.lines)
    bars = [line for line in terminal.lines if line.startswith("epoch 1  loss") and "━" in line]
    assert any(" 2/4 " in line and line.endswith("left") and "at least" in line for line in bars)
    assert any("BLEU" in line for line in bars)
    assert sum(line.startswith("epoch 1  step 2/4") for line in terminal.lines) == 1
    assert terminal.text.rstrip("\n").endswith("\x1b[2K")


@pytest.mark.parametrize("command", ["validate", "test"])
def test_a_terminal_when_a_split_is_scored(command: str, setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    with pseudo_terminal(monkeypatch) as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal.file)
        trainer = setup.trainer([RunProgress()], logger=False, **SHOWN)
        getattr(trainer, command)(setup.module(), datamodule=setup.data(), verbose=False)
    name = {"validate": "validation", "test": "test"}[command]
    assert any(line.startswith(name) and "1/1" in line for line in terminal.lines)


def test_a_check_before_training_leaves_no_bar_behind(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    with pseudo_terminal(monkeypatch) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.file)
        fit(setup, max_steps=2, val_check_interval=1, num_sanity_val_steps=1)
        # A display that goes on has a thread that draws, and keeps standard error.
        drawing = [thread for thread in set(threading.enumerate()) - before if "Refresh" in type(thread).__name__]
        # One that was told to end need not have done so yet.
        for thread in drawing:
            thread.join(timeout=10)
        assert not any(thread.is_alive() for thread in drawing)
        assert sys.stderr is terminal.file


class Limit(Timer):
    """A time limit whose rest does not depend on how fast the machine is; it stops after two validations."""

    def time_remaining(self, stage: str = "train") -> float:
        return 90.0

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = trainer.global_step >= 4


def test_the_time_limit_counts(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    endless = {"max_steps": 10**9, "max_epochs": -1, "val_check_interval": 2, "limit_val_batches": 1}
    trainer = setup.trainer([RunProgress(), Limit()], **SHOWN, **endless)
    trainer.fit(setup.module(), datamodule=setup.data())
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("epoch")]
    assert len(lines) == 2
    assert all(line.endswith("  0:01:30 left") for line in lines)


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({"val_check_batch": 12, "check_val_every_n_epoch": None}, 6),
        ({"val_check_batch": 40, "check_val_every_n_epoch": 1}, 20),
        ({"val_check_batch": 40, "check_val_every_n_epoch": 3}, 60),
        ({"val_check_batch": 10, "check_val_every_n_epoch": 1}, 5),
        # Two in an epoch of 40 batches, and then 12 without any.
        ({"val_check_batch": 14, "check_val_every_n_epoch": 1}, 10),
        ({"val_check_batch": 12, "check_val_every_n_epoch": None, "enable_validation": False}, math.inf),
        ({"val_check_batch": math.inf, "check_val_every_n_epoch": 1}, math.inf),
    ],
)
def test_steps_between_validations(options: dict[str, Any], steps: float) -> None:
    given = {"enable_validation": True, "num_training_batches": 40, "accumulate_grad_batches": 2, **options}
    trainer: Any = SimpleNamespace(**given)
    assert steps_between_validations(trainer) == steps
