"""Commands of a study in processes of their own, and the lock that keeps two studies out of one folder."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from lit_transformer.console.terminal import QUIET
from lit_transformer.errors import UserError
from lit_transformer.files import make_folder

try:
    import fcntl
except ImportError:  # Windows has other locks; there, nobody is kept out.
    fcntl = None  # type: ignore[assignment]

_ERROR = re.compile(r"[\w.-]+: error: (?P<message>.+)")


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Args:
        status: Exit status.
        output: What it wrote to standard output, if that was asked for.
        message: One line that says why it failed; empty where it did not.
    """

    status: int
    output: str = ""
    message: str = ""


class Execute(Protocol):
    """Runs a module of this program, and waits for it."""

    def __call__(self, args: Sequence[str], log: Path, keep_output: bool = False) -> Ended:
        """Run ``python -m`` with these arguments.

        Args:
            args: Name of the module and its arguments.
            log: File that what it says is added to.
            keep_output: Return standard output, instead of adding it to the log.
        """
        ...


def execute(args: Sequence[str], log: Path, keep_output: bool = False) -> Ended:
    """Run a module of this program in a process of its own, and wait for it; see `Execute`."""
    make_folder(log.parent)
    with log.open("ab") as file:
        file.write(f"$ python -m {' '.join(args)}\n".encode())
        file.flush()
        begin = file.tell()
        made = subprocess.run(
            [sys.executable, "-m", *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if keep_output else file,
            stderr=file,
            check=False,
            pass_fds=_held,
            # Its log is to tell everything.
            env={name: value for name, value in os.environ.items() if name != QUIET},
        )
    output = made.stdout.decode(errors="replace") if keep_output else ""
    with log.open("rb") as file:
        file.seek(begin)
        said = file.read().decode(errors="replace")
    return Ended(made.returncode, output, last_words(said, made.returncode))


def last_words(said: str, status: int) -> str:
    """Return the line that says why a command failed; empty where it did not.

    Args:
        said: What it wrote to standard error.
        status: Its exit status.
    """
    if status == 0:
        return ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    ours = [found["message"] for line in lines if (found := _ERROR.fullmatch(line))]
    if ours:
        return ours[-1]
    died = f"stopped by signal {-status}" if status < 0 else f"exit status {status}"
    return f"{died}: {lines[-1]}" if lines else died


_held: tuple[int, ...] = ()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other studies out of a folder, also while a command outlives a study that was killed.

    Raises:
        UserError: A study is at work there.
    """
    global _held
    make_folder(folder)
    if fcntl is None:
        yield
        return
    with (folder / ".lock").open("ab") as file:
        _take(file, folder)
        # A lock belongs to the open file, which the commands inherit.
        _held = (file.fileno(),)
        try:
            yield
        finally:
            _held = ()


def _take(file: IO[bytes], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise UserError(
            f"a study, or a command that it started, is at work in {str(folder)!r}; wait, or give another --name."
        ) from error
