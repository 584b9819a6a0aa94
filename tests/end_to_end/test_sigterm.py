"""A scheduler's SIGTERM ends every command at any moment with a line, not only within Lightning's loops."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from lit_transformer.training.module import LitTransformer
from tests.end_to_end.forking import CAN_FORK, Forked, two_processes
from tests.end_to_end.running import of, tiny_fit

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")


def sent_within(name: str) -> Callable[[], object]:
    """Return a hook that lets the signal come when a function is called."""

    def called(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    # It is started for the process that is ended, and never stopped there.
    return mock.patch(name, called).start


def check_terminated(args: list[str], folder: Path, within: str) -> str:
    """Run a command that the signal ends; return what its line says of going on."""
    ended = Forked(args, folder, hook=sent_within(within))
    assert ended.wait() == 143, ended.errors
    last = ended.errors.splitlines()[-1]
    assert last.startswith("lit-transformer: terminated. What was written is whole; ")
    assert "Traceback" not in ended.errors
    return last


@pytest.mark.parametrize(
    "within",
    ["lit_transformer.__main__.set_up_messages", "lit_transformer.data.datamodule.TranslationDataModule.prepare_data"],
)
def test_fit_before_it_trains(text: Path, tmp_path: Path, within: str) -> None:
    assert check_terminated(tiny_fit(text), tmp_path, within).endswith("from its last checkpoint, if it has one.")
    # A run that never began leaves no folder.
    assert not list(tmp_path.glob("runs/run/*"))


@pytest.mark.parametrize("command", ["validate", "test", "predict", "analyze"])
def test_a_command_on_a_checkpoint_that_is_being_read(trained: Path, tmp_path: Path, command: str) -> None:
    more = ["--input", os.devnull] if command == "predict" else []
    check_terminated(of(command, trained, *more), tmp_path, "lit_transformer.cli.app.read_checkpoint")


def test_study_while_a_command_of_its_own_runs(trained: Path, tmp_path: Path) -> None:
    args = ["study", str(trained), "--name=tiny", "--accelerator=cpu", "--arms=[continued]"]
    args += ["--average=2", "--finetune_epochs=2"]
    assert check_terminated(args, tmp_path, "subprocess.run").endswith("the same command goes on where it was.")


def test_report(trained: Path, tmp_path: Path) -> None:
    check_terminated(["report", str(trained)], tmp_path, "lit_transformer.report.runs.read_run")


@pytest.mark.parametrize("hook", ["on_train_batch_start", "on_after_backward", "on_train_batch_end"])
def test_fit_on_two_processes_wherever_they_are_in_a_step(text: Path, tmp_path: Path, hook: str) -> None:
    """Neither waits for the other in a collective of its own."""

    def sent_to_the_first(self: LitTransformer, *_: object) -> None:
        if self.global_step == 2 and self.global_rank == 0:
            os.kill(os.getpid(), signal.SIGTERM)

    patched = mock.patch.object(LitTransformer, hook, sent_to_the_first)
    processes = two_processes(tiny_fit(text), tmp_path, hook=patched.start)
    try:
        assert processes[0].wait() == 143, processes[0].errors
        # The second, which no launcher ends, is told by the first before a batch, or finds it gone.
        assert processes[1].wait() in (143, 2), processes[1].errors
    finally:
        for process in processes:
            process.kill()
    assert processes[0].errors.splitlines()[-1].startswith("lit-transformer: terminated.")
    assert not any("Traceback" in process.errors for process in processes)
