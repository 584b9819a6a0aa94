"""What a scheduler's signals do to work that is no loop of Lightning's."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Terminated(SystemExit):
    """SIGTERM ended the work."""


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does, but for Lightning's loops, which see to that themselves.

    Raises:
        Terminated: The signal came.
    """

    def end(*_: Any) -> None:
        # Lightning's own answer, which ends a loop between two steps, calls this one too.
        if signal.getsignal(signal.SIGTERM) is end:
            raise Terminated

    # A program that uses the package may have its own answer to the signal.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
