from __future__ import annotations

import subprocess
import sys
from unittest import mock

import pytest
from torch import distributed

from lit_transformer.cli.processes import end_launched, lost_connection

GLOO = "[transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:27268. This is typically caused by a crash."
STORE = "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"
NCCL = "NCCL error: remote process exited or there was a network error, NCCL version 2.27.5"


class Launcher:
    """As Lightning's, with a process that would sleep for minutes."""

    def __init__(self) -> None:
        self.procs = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])]

    def kill(self, number: int) -> None:
        for process in self.procs:
            process.send_signal(number)


@pytest.mark.parametrize("error", [RuntimeError(GLOO), distributed.DistNetworkError(STORE), RuntimeError(NCCL)])
def test_the_loss_of_another_process_is_told_in_one_line(error: RuntimeError) -> None:
    with mock.patch.object(distributed, "is_initialized", return_value=True):
        told = lost_connection(error)
    assert told is not None
    assert told.startswith("another process of this command has ended (")
    assert "\n" not in told


@pytest.mark.parametrize(
    "error", [RuntimeError("shape mismatch"), OSError("Connection reset by peer"), ValueError(GLOO)]
)
def test_an_error_of_this_process_is_none(error: Exception) -> None:
    with mock.patch.object(distributed, "is_initialized", return_value=True):
        assert lost_connection(error) is None


def test_one_process_has_nobody_to_lose() -> None:
    # Such as a connection to Weights & Biases.
    assert lost_connection(RuntimeError(GLOO)) is None


def test_started_processes_end_and_are_watched_no_more() -> None:
    launcher = Launcher()
    [process], watched = launcher.procs, launcher.procs
    end_launched(launcher)
    assert process.returncode not in (None, 0)
    assert watched == []


def test_without_a_launcher_nothing_is_ended() -> None:
    end_launched(None)
    end_launched(object())
