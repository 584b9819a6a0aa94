"""A terminal of 80 columns to write to, and what it was sent."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest

REDRAWN = re.compile(r"\r|\x1b\[\d*A|\x1b\[2K|\x1b\[\?25[hl]")
STYLED = re.compile(r"\x1b\[[\d;]*m")
COLOURED = re.compile(r"\x1b\[(?:[\d;]*;)?(?:[349][0-7]|[34]8)[;m]")


class Shown:
    """What a terminal was sent.

    Args:
        file: What writes to it.
    """

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.text = ""

    @property
    def lines(self) -> list[str]:
        """The lines that were drawn, one after another, without styles."""
        return [line for line in re.split(r"\n|" + REDRAWN.pattern, STYLED.sub("", self.text)) if line.strip()]


@contextlib.contextmanager
def pseudo_terminal(monkeypatch: pytest.MonkeyPatch, term: str = "xterm-256color") -> Iterator[Shown]:
    """Open a terminal; what it was sent is there when it is closed.

    Args:
        monkeypatch: Sets the environment that tells what it is.
        term: ``TERM``.
    """
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", term)
    ours, theirs = pty.openpty()
    parts: list[bytes] = []

    def read() -> None:
        # The end of what a terminal was sent is an error on Linux.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                parts.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as file:
        shown = Shown(file)
        try:
            yield shown
        finally:
            file.flush()
            file.close()
            reader.join(timeout=10)
            os.close(ours)
    shown.text = b"".join(parts).decode().replace("\r\n", "\n")
