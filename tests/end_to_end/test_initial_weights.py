"""Through every command, a run's initial weights are those that its training started from."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from lit_transformer.data.batch import Batch
from lit_transformer.model import weights_digest
from lit_transformer.training.initial_weights import FILE, initial_weights_of
from lit_transformer.training.module import LitTransformer
from tests.end_to_end.forking import CAN_FORK, Forked, run_on_two
from tests.end_to_end.running import (
    load,
    options,
    run,
    same_tensors,
    succeed,
    tiny_fit,
)

FOLDER = Path("runs/run/version_0")


def kill_at_step_4() -> None:
    """Let training kill its process; called in that process."""
    original = LitTransformer.on_train_batch_start

    def hook(self: LitTransformer, batch: Batch, batch_idx: int) -> None:
        if self.global_step == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, batch, batch_idx)

    LitTransformer.on_train_batch_start = hook  # type: ignore[method-assign]


def digest_of(checkpoint: Path) -> str:
    digest = load(checkpoint)["lit_transformer"]["initial_weights"]["digest"]
    assert isinstance(digest, str)
    return digest


def built(checkpoint: Path) -> LitTransformer:
    """A new model with the settings of a checkpoint, its seed included."""
    return LitTransformer(**load(checkpoint)["hyper_parameters"])


def test_fit_keeps_them_without_being_asked(trained_once: Path) -> None:
    for path in (trained_once / "checkpoints").iterdir():
        expected = built(path).network
        assert digest_of(path) == weights_digest(expected)
        assert same_tensors(initial_weights_of(path), expected.state_dict()), path


@pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
def test_a_killed_and_resumed_run_keeps_the_first_file(text: Path, tmp_path: Path, trained_once: Path) -> None:
    args = tiny_fit(text, "--checkpoint.every_n_steps=1", "--seed_everything=3", max_steps=8)
    killed = Forked(args, tmp_path, hook=kill_at_step_4)
    assert killed.wait() == -signal.SIGKILL, killed.errors
    file, last = tmp_path / FOLDER / FILE, tmp_path / FOLDER / "checkpoints/last.ckpt"
    before, content = file.stat(), file.read_bytes()
    succeed(["fit", "--ckpt_path", str(tmp_path / FOLDER)], tmp_path)
    assert load(last)["global_step"] == 8
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert file.read_bytes() == content
    assert same_tensors(initial_weights_of(last), built(last).network.state_dict())
    assert digest_of(last) == digest_of(tmp_path / FOLDER / "checkpoints/average.ckpt")
    assert digest_of(last) != digest_of(trained_once / "checkpoints/last.ckpt")


def test_two_processes_write_the_file_of_one(text: Path, tmp_path: Path, trained_once: Path) -> None:
    run_on_two(tiny_fit(text), tmp_path)
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*.safetensors")] == [FOLDER / FILE]
    assert (tmp_path / FOLDER / FILE).read_bytes() == (trained_once / FILE).read_bytes()
    for path in (tmp_path / FOLDER / "checkpoints").iterdir():
        assert digest_of(path) == digest_of(trained_once / "checkpoints/last.ckpt")


def test_a_new_run_from_another_carries_them_over(trained: Path, tmp_path: Path) -> None:
    args = ["fit", "--start_from", str(trained), "--seed_everything=9", "--name=child"]
    succeed([*args, *options("trainer", {"max_steps": 2, "accelerator": "cpu"})], tmp_path)
    child = tmp_path / "runs/child/version_0/checkpoints/last.ckpt"
    record = load(child)["lit_transformer"]["initial_weights"]
    assert record["parent_digest"] == record["digest"] == digest_of(trained / "checkpoints/average.ckpt")
    assert record["seed"] == 1
    assert same_tensors(initial_weights_of(child), built(trained / "checkpoints/last.ckpt").network.state_dict())
    # A resumed child keeps them, also where the parent is gone and its own file too.
    shutil.rmtree(trained)
    content = child.parents[1].joinpath(FILE).read_bytes()
    child.parents[1].joinpath(FILE).unlink()
    succeed(["fit", "--ckpt_path", str(child.parents[1]), "--trainer.max_steps=3"], tmp_path)
    assert child.parents[1].joinpath(FILE).read_bytes() == content


def test_a_file_of_another_run_stops_a_command_in_one_line(trained: Path, text: Path, tmp_path: Path) -> None:
    succeed(tiny_fit(text, "--seed_everything=2", "--name=other", max_steps=1), tmp_path)
    (tmp_path / "runs/other/version_0" / FILE).replace(trained / FILE)
    finished = run(["fit", "--ckpt_path", str(trained), "--trainer.max_steps=62"], tmp_path)
    assert finished.status == 2
    assert "holds the initial weights of another run" in finished.errors.splitlines()[-1]


@pytest.mark.parametrize("option", ["--trainer.fast_dev_run=true", "--trainer.enable_checkpointing=false"])
def test_none_without_checkpoints(text: Path, tmp_path: Path, option: str) -> None:
    succeed(tiny_fit(text, option, max_steps=1), tmp_path)
    assert list(tmp_path.rglob("*.safetensors")) == []
