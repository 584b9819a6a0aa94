"""Deals whole evaluations out to the processes of a run."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from torch.distributed import DistNetworkError, DistStoreError, Store

from lit_transformer.errors import FirstProcessGoneError, UserError
from lit_transformer.importance.heartbeat import Watch, beating

POLL_SECONDS = 0.05
"""How often a process that has nothing to do looks at the store."""

News = Callable[[dict[str, Any]], None]


class Dealer:
    """Runs pieces of work on the one process there is, in their order."""

    rank = 0
    size = 1

    def deal(self, count: int, work: Callable[[int], None], news: News) -> None:
        """Run each piece of work once, on whichever process is free.

        Args:
            count: Number of pieces.
            work: Does the piece with this number.
            news: Told what the processes `say`, on the first process only.
        """
        self._news = news
        for number in range(count):
            work(number)

    def alive(self) -> contextlib.AbstractContextManager[None]:
        """Return a context within which the other processes know that this one lives, whatever it is at."""
        return contextlib.nullcontext()

    def say(self, news: dict[str, Any]) -> None:
        """Tell the first process something, as plain types; to be called within `deal`."""
        self._news(news)

    def gather(self, mine: list[Any]) -> list[Any]:
        """Return the lists of all processes one after another, the same on each."""
        return mine


class StoreDealer(Dealer):
    """Deals through the store of the process group, so that a process that is free takes the next piece.

    Waiting processes look at the store now and then: within a collective they would run into its timeout, because an
    evaluation may take longer than that.

    Args:
        store: The store that all processes share.
        rank: Number of this process.
        size: How many there are.
        gather: From the list of this process to the lists of all, in the order of their numbers.
        name: Prefix of the keys of this analysis, the same on all processes and new for each.
    """

    def __init__(
        self, store: Store, rank: int, size: int, gather: Callable[[list[Any]], list[list[Any]]], name: str = "analysis"
    ) -> None:
        self.rank, self.size = rank, size
        self._store, self._gather, self._name = store, gather, name
        self._round = 0

    def deal(self, count: int, work: Callable[[int], None], news: News) -> None:
        """Run each piece of work once, on whichever process is free, and return when all are done.

        Raises:
            FirstProcessGoneError: The first process is gone.
            UserError: Another one is gone, which does not show that it is `alive`.
        """
        self._round += 1
        self._news, self._heard = news, 0
        with _store_errors():
            while (number := self._store.add(self._key("next"), 1) - 1) < count:
                work(number)
                self._store.add(self._key("done"), 1)
                self._listen()
            watch = Watch(self._store, {rank: self._beat(rank) for rank in range(self.size) if rank != self.rank})
            while self._store.add(self._key("done"), 0) < count:
                self._listen()
                watch.look()
                time.sleep(POLL_SECONDS)
            self._listen()

    def alive(self) -> contextlib.AbstractContextManager[None]:
        """Return a context within which the other processes know that this one lives, whatever it is at."""
        return beating(self._store, self._beat(self.rank))

    def say(self, news: dict[str, Any]) -> None:
        """Tell the first process something; others leave it in the store."""
        if self.rank == 0:
            self._news(news)
        else:
            with _store_errors():
                # Under its own number and before the count that announces it.
                place = self._store.add(self._key("claimed"), 1)
                self._store.set(self._key(f"said/{place}"), json.dumps(news))

    def gather(self, mine: list[Any]) -> list[Any]:
        """Return the lists of all processes one after another, the same on each.

        Raises:
            FirstProcessGoneError: The first process is gone.
            UserError: Another one is gone.
        """
        try:
            return [item for part in self._gather(mine) for item in part]
        except RuntimeError as error:
            raise (_gone(error) if self.rank else _another_gone(error)) from error

    def _listen(self) -> None:
        if self.rank:
            return
        claimed = self._store.add(self._key("claimed"), 0)
        while self._heard < claimed and self._store.check([key := self._key(f"said/{self._heard + 1}")]):
            self._heard += 1
            self._news(json.loads(self._store.get(key)))
            self._store.delete_key(key)

    def _beat(self, rank: int) -> str:
        return f"{self._name}/beat/{rank}"

    def _key(self, name: str) -> str:
        return f"{self._name}/{self._round}/{name}"


@contextlib.contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except (DistStoreError, DistNetworkError) as error:
        raise _gone(error) from error


def _gone(error: Exception) -> FirstProcessGoneError:
    return FirstProcessGoneError(
        "the first process of the analysis is gone; what was evaluated is kept: run the same command again and it goes "
        f"on from there ({str(error).splitlines()[0]})."
    )


def _another_gone(error: Exception) -> UserError:
    """Return what the first process says when it is told that another one has gone."""
    return UserError(
        "another process of the analysis is gone; what was evaluated is kept: run the same command again and it goes "
        f"on from there ({str(error).splitlines()[0]})."
    )
