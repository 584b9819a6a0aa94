"""Training that ends when validation gets no better, whole and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.crashing import CrashError, crash_at_batch
from tests.end_to_end.running import Finished, load, metric, run, same_tensors, succeed, tiny_fit

# Training makes perplexity fall, so that by this measure nothing is better than the first validation.
WORSE = ("--early_stopping.monitor=val/perplexity", "--early_stopping.mode=max", "--data.validation_size=8")
EPOCH = 7


def fit(text: Path, root: Path, epochs: int, patience: int = 3, **trainer: Any) -> Path:
    """Train for so many epochs, with a validation after each; return the folder of the run."""
    given = {"max_steps": -1, "max_epochs": epochs, "val_check_interval": "null", "check_val_every_n_epoch": 1}
    root.mkdir(parents=True, exist_ok=True)
    succeed(tiny_fit(text, *WORSE, f"--early_stopping.patience={patience}", **{**given, **trainer}), root)
    return root / "runs/run/version_0"


def resume(folder: Path, *more: str) -> Finished:
    return succeed(["fit", "--ckpt_path", str(folder), *more], folder.parents[2])


def check_same(made: Path, expected: Path) -> None:
    for name in ("last", "average", "best-loss"):
        states = [load(folder / "checkpoints" / f"{name}.ckpt") for folder in (made, expected)]
        assert states[0]["global_step"] == states[1]["global_step"], name
        assert same_tensors(states[0]["state_dict"], states[1]["state_dict"]), name
    assert metric(made, "val/loss") == metric(expected, "val/loss")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    """The folder of a run that nothing interrupted, which stopped after its fourth epoch."""
    folder = fit(text, tmp_path_factory.mktemp("whole"), 9)
    assert load(folder / "checkpoints/last.ckpt")["global_step"] == 4 * EPOCH
    return folder


def test_it_says_why_it_ends(text: Path, tmp_path: Path) -> None:
    given = {"max_steps": -1, "max_epochs": 9, "val_check_interval": "null", "check_val_every_n_epoch": 1}
    errors = succeed(tiny_fit(text, *WORSE, "--early_stopping.patience=1", **given), tmp_path).errors
    [line] = [line for line in errors.splitlines() if line.startswith("Training ends early")]
    assert "val/perplexity was not better than" in line
    assert line.endswith("at the last 1 validations.")


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_going_on_from_the_end_of_an_epoch_changes_nothing(
    epochs: int, text: Path, tmp_path: Path, whole: Path
) -> None:
    folder = fit(text, tmp_path, epochs)
    resume(folder, "--trainer.max_epochs=9")
    check_same(folder, whole)


@pytest.mark.parametrize("epoch", [1, 3])
def test_a_crash_in_the_next_epoch_changes_nothing(epoch: int, text: Path, tmp_path: Path, whole: Path) -> None:
    with crash_at_batch(epoch, 3), pytest.raises(CrashError):
        fit(text, tmp_path, 9)
    folder = tmp_path / "runs/run/version_0"
    resume(folder)
    check_same(folder, whole)


def test_a_run_that_has_stopped_is_not_trained_on(text: Path, tmp_path: Path, whole: Path) -> None:
    folder = fit(text, tmp_path, 9)
    assert "Training ends early" in resume(folder).errors
    check_same(folder, whole)


def test_the_patience_that_is_typed_holds(text: Path, tmp_path: Path) -> None:
    folder = fit(text, tmp_path / "resumed", 9)
    resume(folder, "--early_stopping.patience=5")
    check_same(folder, fit(text, tmp_path / "whole", 9, patience=5))


def test_a_crash_leaves_no_average_of_an_earlier_end(text: Path, tmp_path: Path) -> None:
    """A run's folder stands for its average, which would be of fewer steps than all else in it."""
    folder = fit(text, tmp_path, 2, patience=9)
    assert (folder / "checkpoints/average.ckpt").exists()
    # Nothing is left to train.
    resume(folder)
    assert (folder / "checkpoints/average.ckpt").exists()
    with crash_at_batch(2, 1), pytest.raises(CrashError):
        run(["fit", "--ckpt_path", str(folder), "--trainer.max_epochs=4"], tmp_path)
    assert not (folder / "checkpoints/average.ckpt").exists()


def test_going_on_without_an_average_leaves_none(text: Path, tmp_path: Path) -> None:
    folder = fit(text, tmp_path, 2, patience=9)
    resume(folder, "--trainer.max_epochs=3", "--checkpoint.average=0")
    assert not (folder / "checkpoints/average.ckpt").exists()
