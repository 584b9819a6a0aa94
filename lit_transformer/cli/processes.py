"""What a command on several processes does when one of them ends before the others."""

from __future__ import annotations

import gc
import re
import signal
import sys
from typing import Any

# What gloo, the store and NCCL say of a process that is gone; the first gives it a plain RuntimeError.
_LOST = re.compile(r"Connection (closed|reset) by peer|Broken pipe|Failed to recv|recvValue failed|remote process exit")


def lost_connection(error: BaseException) -> str | None:
    """Return what to say of the loss of another process of the same command; None for an error that is none."""
    # An error of the store is a RuntimeError too. Where no process group was ever asked for, there is none to lose.
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not isinstance(error, RuntimeError):
        return None
    if not (distributed.is_initialized() or isinstance(error, distributed.DistError)):
        return None
    found = _LOST.search(str(error))
    return f"another process of this command has ended ({found[0]}); what it said last tells why" if found else None


def end_launched(launcher: Any) -> None:
    """End the processes that this one has started for the same command, when it ends before its time.

    They would wait for it, or say at length that it is gone, when it has said why.

    Args:
        launcher: Of the Trainer's strategy, or None.
    """
    started = getattr(launcher, "procs", None)
    if not started:
        return
    # As Lightning does after Ctrl-C: a process within a collective answers no other signal.
    launcher.kill(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    for process in started:
        process.wait()
    # Lightning watches this list, and would kill this process too before it has said what is wrong.
    started.clear()


def leave_process_group() -> None:
    """End the threads of the process group while Python is whole.

    A thread of gloo that still holds a tensor while the interpreter ends aborts the process after all its work is done;
    Lightning leaves the group by itself on GPUs only.
    """
    # A command that only prints its help has not loaded torch.
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        # What still refers to the group, such as the reducer of the wrapped model, would keep its threads.
        gc.collect()
        distributed.destroy_process_group()
