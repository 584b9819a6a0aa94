"""What a terminal is shown, and whether: progress and messages on standard error, results on standard output.

Where ``--quiet`` was given nothing is shown but translations, warnings and errors. Colours, and lines that are drawn
again, are for terminals alone; ``NO_COLOR`` takes the colours away and ``TERM=dumb`` both.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Not before Lightning: Python keeps the first of two equal unions, and with rich.progress loaded Lightning's
    # `int | float` is `float | int`, which makes of --trainer.limit_val_batches 1 the whole split, 1.0.
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

QUIET = "LIT_TRANSFORMER_QUIET"
"""Environment variable that stands for ``--quiet``, also in the processes that a command starts."""

REFRESHES_PER_SECOND = 2.0


def is_quiet() -> bool:
    """Whether ``--quiet`` was given."""
    return bool(os.environ.get(QUIET))


def is_first_process() -> bool:
    """Whether this is the first of all processes, on any node, by what started it; it alone shows what is for all."""
    told = os.environ
    if "RANK" in told:
        return told["RANK"] == "0"
    node = told.get("NODE_RANK", told.get("GROUP_RANK"))
    if node is not None or "LOCAL_RANK" in told:
        return (node or "0", told.get("LOCAL_RANK", "0")) == ("0", "0")
    return told.get("SLURM_PROCID", "0") == "0"


def is_live() -> bool:
    """Whether a line on standard error can be drawn again."""
    # Not what rich says: FORCE_COLOR makes a terminal of a log file to it.
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def console(stderr: bool = False) -> Console:
    """Return what prints tables and text, to standard output unless asked otherwise; silent where nothing is shown."""
    from rich.console import Console

    # With emoji, ":sa:" in the name of a component would become one.
    return Console(stderr=stderr, emoji=False, markup=False, highlight=False, quiet=is_quiet())


def say(text: object) -> None:
    """Print a line of results, such as a path, to standard output, unless nothing is to be shown."""
    if not is_quiet():
        print(text)


def tell(text: str) -> None:
    """Print a line of progress to standard error, unless nothing is to be shown."""
    if not is_quiet():
        # Nobody may read it any more, which is no reason to stop training.
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def live_progress(*columns: ProgressColumn) -> Progress:
    """Return a progress display on standard error that goes away when it is stopped.

    Args:
        columns: What it shows.
    """
    from rich.progress import Progress

    return Progress(
        *columns,
        console=console(stderr=True),
        refresh_per_second=REFRESHES_PER_SECOND,
        transient=True,
        expand=True,
        # What is printed meanwhile comes above the display; but not on standard error, if a file is to get it.
        redirect_stdout=sys.stdout.isatty(),
    )
