"""Runs commands, and functions, in processes that are forked from this one: that saves the seconds of the imports."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import torch
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from lit_transformer.__main__ import main
from tests.end_to_end.running import Finished, run_process

CAN_FORK = hasattr(os, "fork") and not torch.cuda.is_available()
"""Autograd can't be used in a forked process once it was used beside a GPU."""

Hook = Callable[[], object]


class Forked:
    """A command in a process of its own.

    Args:
        args: The command line.
        folder: Current folder of the command.
        env: Added to the environment.
        hook: Called in the process before the command.
        after: Called in the process when the command has ended well.
        work: Called in place of the command.
    """

    def __init__(
        self,
        args: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        hook: Hook | None = None,
        after: Hook | None = None,
        work: Hook | None = None,
    ) -> None:
        # They live as long as this does.
        self._output, self._errors = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        self._status: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            command = (lambda: main(list(args))) if work is None else work
            self._be(folder, env or {}, [each for each in (hook, command, after) if each is not None])

    def _be(self, folder: Path, env: Mapping[str, str], steps: Sequence[Hook]) -> NoReturn:
        status = 1
        try:
            os.dup2(self._output.fileno(), 1)
            os.dup2(self._errors.fileno(), 2)
            sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - it stays open
            sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
            sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
            os.environ.update(env)
            # Lightning reads the environment when it is imported, which was long ago.
            rank_zero_only.rank = int(env.get("LOCAL_RANK", "0"))  # type: ignore[attr-defined]
            os.chdir(folder)
            sys.argv = ["lit-transformer"]
            for step in steps:
                step()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            # Not what pytest has to do when it ends.
            os._exit(status)

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status

    def kill(self) -> None:
        """Kill it."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = 120.0) -> int:
        """Wait for its end, and return the exit status.

        Raises:
            TimeoutError: It took longer than so many seconds, and was killed.
        """
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                self.kill()
                raise TimeoutError(self.errors)
            time.sleep(0.01)
        return status

    @property
    def output(self) -> bytes:
        """Standard output so far."""
        return os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0)

    @property
    def errors(self) -> str:
        """Standard error so far."""
        return os.pread(self._errors.fileno(), os.fstat(self._errors.fileno()).st_size, 0).decode()


def two_processes(
    args: Sequence[str],
    folder: Path,
    hook: Hook | None = None,
    after: Hook | None = None,
    work: Hook | None = None,
) -> tuple[Forked, Forked]:
    """Start a command on two processes, as torchrun would.

    Args:
        args: The command line, without the options for two processes.
        folder: Current folder of the command.
        hook: Called in both before the command.
        after: Called in both when it has ended well.
        work: Called in both in place of the command; it has to ask for the two processes itself.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "NODE_RANK": "0"}
    whole = [*args, "--trainer.devices=2", "--trainer.strategy=ddp"]
    first, second = (Forked(whole, folder, {**env, "LOCAL_RANK": str(rank)}, hook, after, work) for rank in range(2))
    return first, second


def end_well(processes: Sequence[Forked], timeout: float = 240.0) -> None:
    """Wait for processes that must end with status 0; none is left behind where one does not.

    Args:
        processes: The processes.
        timeout: Seconds to wait for each.
    """
    try:
        for process in processes:
            assert process.wait(timeout) == 0, "".join(each.errors for each in processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run_on_two(args: Sequence[str], folder: Path) -> Finished:
    """Run a command on two processes; it must end with status 0 on both.

    Args:
        args: The command line, without the options for two processes.
        folder: Current folder of the command.

    Returns:
        How it ended on the first.
    """
    if not CAN_FORK:
        whole = [*args, "--trainer.devices=2", "--trainer.strategy=ddp"]
        finished = run_process(whole, folder, timeout=300)
        assert finished.status == 0, finished.errors
        return finished
    processes = two_processes(args, folder)
    end_well(processes)
    return Finished(0, processes[0].output, processes[0].errors)
