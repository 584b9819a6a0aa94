"""Signs of life between the processes of an analysis: who dies in the middle of it says nothing."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from torch.distributed import DistError, Store

from lit_transformer.errors import UserError

BEAT_SECONDS = 2.0
"""How often a process shows that it lives."""

SILENCE_SECONDS = 60.0
"""After so long without a sign, a process counts as gone."""


@contextlib.contextmanager
def beating(store: Store, key: str) -> Iterator[None]:
    """Count a key of the store up now and then, from a thread of its own: an evaluation may take minutes.

    The thread ends with the context, and holds nothing but the store.

    Args:
        store: The store that all processes share.
        key: Of this process.
    """
    stop = threading.Event()

    def beat() -> None:
        # Without the store there is nobody left to show it to; the main thread finds that out by itself.
        with contextlib.suppress(DistError, RuntimeError):
            # A connection of its own, which a main thread that waits for an answer does not hold up. Where torch
            # (before 2.8) gives none, the store itself lets one thread at a time ask.
            own = store.clone() if hasattr(store, "clone") else store
            while True:
                own.add(key, 1)
                if stop.wait(BEAT_SECONDS):
                    return

    thread = threading.Thread(target=beat, name="analysis-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        # One that asks a machine that is gone is not waited for; it is a daemon.
        thread.join(timeout=2 * BEAT_SECONDS)


class Watch:
    """Watches the signs of life of other processes.

    Args:
        store: The store that all processes share.
        keys: Of each other process, by its number.
    """

    def __init__(self, store: Store, keys: dict[int, str]) -> None:
        self._store, self._keys = store, keys
        self._counts = dict.fromkeys(keys, -1)
        self._silent = dict.fromkeys(keys, 0.0)
        self._looked = time.monotonic()

    def look(self) -> None:
        """Look at the others, if it is time to.

        Raises:
            UserError: One has shown no sign of life for too long.
        """
        passed = time.monotonic() - self._looked
        if passed < BEAT_SECONDS / 2:
            return
        self._looked += passed
        for rank, key in self._keys.items():
            count = self._store.add(key, 0)
            # Time in which this process stood still, as after Ctrl-Z, is no silence of the others.
            self._silent[rank] = 0.0 if count != self._counts[rank] else self._silent[rank] + min(passed, BEAT_SECONDS)
            self._counts[rank] = count
            if self._silent[rank] > SILENCE_SECONDS:
                raise UserError(
                    f"process {rank} of the analysis (the first is 0) has shown no sign of life for "
                    f"{SILENCE_SECONDS:.0f} seconds; what was evaluated is kept: run the same command again and it "
                    "goes on from there."
                )
