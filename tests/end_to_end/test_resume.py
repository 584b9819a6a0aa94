"""A run that was interrupted at any moment and resumed is the run that it would have been."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from lit_transformer.data.batch import Batch
from lit_transformer.training.module import LitTransformer
from tests.end_to_end.crashing import CrashError, crash_at_batch
from tests.end_to_end.forking import CAN_FORK, Forked
from tests.end_to_end.running import (
    COMPONENTS,
    load,
    metric,
    read_csv,
    run,
    same_tensors,
    succeed,
    tiny_fit,
)

# With 8 batches an epoch and two of them a step, there are 4 steps an epoch and validations after steps 2, 4, 6, ...
BATCHES = 8
EPOCHS = 3
STEPS = 12
FIT: dict[str, Any] = {
    "max_steps": -1,
    "max_epochs": EPOCHS,
    "accumulate_grad_batches": 2,
    "val_check_interval": 4,
    "check_val_every_n_epoch": 1,
    "gradient_clip_val": 1.0,
}
MORE = ("--checkpoint.every_n_steps=1", "--checkpoint.average=3", "--model.dropout=0.2", "--data.validation_size=8")
VALUES = ("train/loss", "train/learning_rate", "train/gradient_norm", "val/loss", "val/bleu")
KEPT = ("last", "average", "best-loss", "best-bleu")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    """The folder of the run that nothing interrupted."""
    root = tmp_path_factory.mktemp("whole")
    succeed(tiny_fit(text, *MORE, **FIT), root)
    folder = root / "runs/run/version_0"
    assert load(folder / "checkpoints/last.ckpt")["global_step"] == STEPS
    assert list(metric(folder, "train/loss")) == list(range(STEPS))
    assert list(metric(folder, "val/loss")) == [1, 3, 5, 7, 9, 11]
    return folder


def crash_in_validation(step: int) -> Any:
    """Let the validation after this step fail."""
    original = LitTransformer.on_validation_epoch_end

    def hook(self: LitTransformer) -> None:
        if self.global_step == step:
            raise CrashError
        original(self)

    return mock.patch.object(LitTransformer, "on_validation_epoch_end", hook)


def resume(root: Path, *more: str) -> Path:
    folder = root / "runs/run/version_0"
    succeed(["fit", "--ckpt_path", str(folder), *more], root)
    assert [path.name for path in (root / "runs/run").iterdir()] == ["version_0"]
    return folder


def check_same(resumed: Path, whole: Path, names: tuple[str, ...] = KEPT) -> None:
    """Compare everything that two runs leave behind."""
    for name in names:
        made, expected = (load(folder / "checkpoints" / f"{name}.ckpt") for folder in (resumed, whole))
        assert (made["epoch"], made["global_step"]) == (expected["epoch"], expected["global_step"]), name
        assert same_tensors(made["state_dict"], expected["state_dict"]), name
        if "optimizer_states" in expected:
            states = [checkpoint["optimizer_states"][0]["state"] for checkpoint in (made, expected)]
            assert all(same_tensors(states[0][key], states[1][key]) for key in states[1])
            assert made["lr_schedulers"] == expected["lr_schedulers"]
    for value in VALUES:
        assert metric(resumed, value) == metric(whole, value), value
    recent = [sorted(path.name for path in (folder / "checkpoints").iterdir()) for folder in (resumed, whole)]
    assert recent[0] == recent[1]


@pytest.mark.parametrize(
    ("epoch", "batch", "workers"),
    [
        pytest.param(0, 3, 0, id="first epoch, within a step"),
        pytest.param(0, 3, 2, id="first epoch, within a step, with workers"),
        pytest.param(1, 2, 0, id="later epoch"),
        pytest.param(1, 2, 2, id="later epoch, with workers"),
        pytest.param(1, 4, 0, id="just after a validation"),
        pytest.param(2, 0, 0, id="at the start of an epoch"),
    ],
)
def test_a_crash_changes_nothing(epoch: int, batch: int, workers: int, text: Path, tmp_path: Path, whole: Path) -> None:
    with crash_at_batch(epoch, batch), pytest.raises(CrashError):
        run(tiny_fit(text, *MORE, f"--data.workers={workers}", **FIT), tmp_path)
    before = (tmp_path / "runs/run/version_0/metrics.csv").read_text(encoding="utf-8")
    folder = resume(tmp_path)
    check_same(folder, whole)
    assert (folder / "metrics.csv").read_text(encoding="utf-8").startswith(before)


@pytest.mark.parametrize("step", [2, 8])
def test_a_crash_in_a_validation_changes_nothing(step: int, text: Path, tmp_path: Path, whole: Path) -> None:
    with crash_in_validation(step), pytest.raises(CrashError):
        run(tiny_fit(text, *MORE, **FIT), tmp_path)
    check_same(resume(tmp_path), whole)


def test_a_crash_after_a_crash_changes_nothing(text: Path, tmp_path: Path, whole: Path) -> None:
    with crash_at_batch(1, 2), pytest.raises(CrashError):
        run(tiny_fit(text, *MORE, **FIT), tmp_path)
    # Half of a step later, when gradients are being accumulated.
    with crash_at_batch(1, 3), pytest.raises(CrashError):
        resume(tmp_path)
    with crash_at_batch(2, 6), pytest.raises(CrashError):
        resume(tmp_path)
    check_same(resume(tmp_path), whole)


@pytest.mark.parametrize("step", [5, 10])
def test_validations_counted_over_epochs_are_not_left_out(step: int, text: Path, tmp_path: Path) -> None:
    folders = []
    for name in ("whole", "resumed"):
        root = tmp_path / name
        root.mkdir()
        args = tiny_fit(text, *MORE, **{**FIT, "val_check_interval": 10, "check_val_every_n_epoch": "null"})
        if name == "whole":
            succeed(args, root)
        else:
            with crash_in_validation(step), pytest.raises(CrashError):
                run(args, root)
            resume(root)
        folders.append(root / "runs/run/version_0")
    check_same(folders[1], folders[0])
    assert list(metric(folders[0], "val/loss")) == [4, 9]


@pytest.mark.parametrize("step", [3, 4])
def test_stopping_at_a_step_changes_nothing(step: int, text: Path, tmp_path: Path, whole: Path) -> None:
    succeed(tiny_fit(text, *MORE, **{**FIT, "max_steps": step}), tmp_path)
    assert load(tmp_path / "runs/run/version_0/checkpoints/last.ckpt")["global_step"] == step
    check_same(resume(tmp_path, "--trainer.max_steps=-1"), whole)


@pytest.mark.parametrize(
    ("trainer", "steps"),
    [
        pytest.param({"val_check_interval": "null"}, (6,), id="a validation an epoch"),
        pytest.param({"val_check_interval": "null", "check_val_every_n_epoch": 2}, (10,), id="every other epoch"),
        pytest.param({"val_check_interval": 10, "check_val_every_n_epoch": "null"}, (11, 4), id="by batches"),
        pytest.param({"limit_val_batches": 0, "val_check_interval": "null"}, (10,), id="no validation"),
    ],
)
def test_training_ends_with_the_last_step_and_goes_on_from_it(
    trainer: dict[str, Any], steps: tuple[int, ...], text: Path, tmp_path: Path
) -> None:
    folders = []
    for name in ("whole", *map(str, steps)):
        root = tmp_path / name
        root.mkdir()
        stop = -1 if name == "whole" else int(name)
        succeed(tiny_fit(text, "--checkpoint.average=2", **{**FIT, **trainer, "max_steps": stop}), root)
        folders.append(root / "runs/run/version_0")
        last = load(folders[-1] / "checkpoints/last.ckpt")
        assert last["global_step"] == (STEPS if name == "whole" else stop)
        if name != "whole":
            resume(root, "--trainer.max_steps=-1")
            names = tuple(path.stem for path in (folders[0] / "checkpoints").iterdir())
            assert len(names) >= 4
            check_same(folders[-1], folders[0], names)


def test_a_run_that_ran_out_of_time_goes_on(text: Path, tmp_path: Path, whole: Path) -> None:
    original = LitTransformer.on_train_batch_start

    def stop(self: LitTransformer, data: Batch, batch_idx: int) -> None:
        original(self, data, batch_idx)
        # As --trainer.max_time does it.
        self.trainer.should_stop |= (self.current_epoch, batch_idx) == (1, 5)

    with mock.patch.object(LitTransformer, "on_train_batch_start", stop):
        succeed(tiny_fit(text, *MORE, **{**FIT, "val_check_interval": "null"}), tmp_path)
    assert load(tmp_path / "runs/run/version_0/checkpoints/last.ckpt")["global_step"] == 7
    folder = resume(tmp_path)
    made, expected = (load(path / "checkpoints/last.ckpt") for path in (folder, whole))
    assert same_tensors(made["state_dict"], expected["state_dict"])
    for name in ("train/loss", "train/learning_rate"):
        assert metric(folder, name) == metric(whole, name)


@pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
@pytest.mark.parametrize(("sent", "status"), [("SIGKILL", -9), ("SIGTERM", 143), ("SIGINT", 130)])
def test_a_killed_process_changes_nothing(text: Path, tmp_path: Path, whole: Path, sent: str, status: int) -> None:
    original = LitTransformer.on_train_batch_start

    def hook(self: LitTransformer, data: Batch, batch_idx: int) -> None:
        if (self.current_epoch, batch_idx) == (1, 3):
            # A shell's background job, such as this may be, ignores Ctrl-C.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.kill(os.getpid(), getattr(signal, sent))
        original(self, data, batch_idx)

    # It is started for the process that is killed, and never stopped there.
    killing = mock.patch.object(LitTransformer, "on_train_batch_start", hook)
    killed = Forked(tiny_fit(text, *MORE, **FIT), tmp_path, hook=killing.start)
    assert killed.wait() == status, killed.errors
    # What is no success is answered with how to go on, in one line.
    last = killed.errors.splitlines()[-1] if killed.errors else ""
    assert ("fit --ckpt_path RUN goes on from its last checkpoint" in last) == (status > 0)
    assert "Traceback" not in killed.errors
    assert "graceful shutdown" not in killed.errors
    check_same(resume(tmp_path), whole)


def test_a_run_that_was_moved_goes_on(text: Path, tmp_path: Path, whole: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    with crash_at_batch(1, 6), pytest.raises(CrashError):
        run(tiny_fit(text, *MORE, **FIT), first)
    shutil.move(first, second)
    check_same(resume(second), whole)


def test_resuming_with_the_whole_command_repeated_changes_nothing(text: Path, tmp_path: Path, whole: Path) -> None:
    args = tiny_fit(text, *MORE, "--trainer.callbacks+=callbacks.ContributionScore", **FIT)
    with crash_at_batch(1, 2), pytest.raises(CrashError):
        run(args, tmp_path)
    folder = tmp_path / "runs/run/version_0"
    finished = succeed([*args, "--ckpt_path", str(folder)], tmp_path)
    check_same(folder, whole)
    assert finished.errors.count("9/9") == 1


def test_a_torn_last_line_of_the_metrics_is_ended(text: Path, tmp_path: Path, whole: Path) -> None:
    with crash_at_batch(1, 2), pytest.raises(CrashError):
        run(tiny_fit(text, *MORE, **FIT), tmp_path)
    path = tmp_path / "runs/run/version_0/metrics.csv"
    before = path.read_text(encoding="utf-8")
    path.write_text(before + "5,1,train/lo", encoding="utf-8")
    resume(tmp_path)
    text_now = path.read_text(encoding="utf-8")
    assert text_now.startswith(before + "5,1,train/lo\n")
    rows = [row for row in read_csv(path) if row["value"]]
    assert {int(row["step"]) for row in rows if row["metric"] == "train/loss"} == set(range(STEPS))


def test_an_interrupted_analysis_after_training_is_made_by_resuming(text: Path, tmp_path: Path, whole: Path) -> None:
    scoring = "--trainer.callbacks+=callbacks.ContributionScore"
    failing = mock.patch("callbacks.contribution.contribution_table", side_effect=CrashError)
    with failing, pytest.raises(CrashError):
        run(tiny_fit(text, *MORE, scoring, **FIT), tmp_path)
    folder = resume(tmp_path)
    check_same(folder, whole)
    assert [row["component"] for row in read_csv(folder / "analysis/average/scores.csv")] == COMPONENTS
