"""What a scheduler's signals do to work that is no loop of Lightning's."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytorch_lightning.utilities.exceptions import SIGTERMException


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does; Lightning sees to that in its own loops only.

    Raises:
        SIGTERMException: The signal came; it is a `SystemExit`.
    """

    def end(*_: Any) -> None:
        raise SIGTERMException

    # A program that uses the package may have its own answer to the signal.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
