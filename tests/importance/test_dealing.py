from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from torch.distributed import DistNetworkError, HashStore

from lit_transformer.errors import FirstProcessGoneError
from lit_transformer.importance.dealing import Dealer, StoreDealer


def test_one_process_works_in_order() -> None:
    done: list[int] = []
    told: list[dict[str, Any]] = []
    dealer = Dealer()

    def work(number: int) -> None:
        done.append(number)
        dealer.say({"name": str(number)})

    dealer.deal([1.0, 3.0, 2.0], work, told.append)
    assert done == [0, 1, 2]
    assert [news["name"] for news in told] == ["0", "1", "2"]
    assert dealer.gather([1, 2]) == [1, 2]


class Together:
    """Runs dealers in threads, as if each were a process."""

    def __init__(self, size: int) -> None:
        store, barrier = HashStore(), threading.Barrier(size, timeout=20)
        parts: list[list[Any]] = [[] for _ in range(size)]

        def gather(rank: int) -> Callable[[list[Any]], list[list[Any]]]:
            def gathered(mine: list[Any]) -> list[list[Any]]:
                parts[rank] = mine
                barrier.wait()
                found = list(parts)
                barrier.wait()
                return found

            return gathered

        self.dealers = [StoreDealer(store, rank, size, gather(rank)) for rank in range(size)]

    def run(self, function: Callable[[StoreDealer], None]) -> None:
        threads = [threading.Thread(target=function, args=(dealer,)) for dealer in self.dealers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("pieces", [0, 1, 7])
def test_every_piece_is_done_once_and_told_to_the_first(pieces: int) -> None:
    done: list[tuple[int, int]] = []
    told: dict[int, list[str]] = {0: [], 1: [], 2: []}
    gathered: list[list[int]] = []

    def process(dealer: StoreDealer) -> None:
        for round_ in range(2):
            mine: list[int] = []

            def work(number: int, round_: int = round_, mine: list[int] = mine) -> None:
                done.append((round_, number))
                mine.append(number)
                dealer.say({"name": f"{round_}/{number}"})

            dealer.deal([1.0] * pieces, work, lambda news: told[dealer.rank].append(news["name"]))
            gathered.append(sorted(dealer.gather(mine)))

    Together(3).run(process)
    assert sorted(done) == [(round_, number) for round_ in range(2) for number in range(pieces)]
    assert sorted(told[0]) == sorted(f"{round_}/{number}" for round_, number in done)
    assert told[1] == told[2] == []
    assert gathered == [list(range(pieces))] * 6


def test_the_dearest_is_begun_first() -> None:
    begun: list[int] = []
    Together(1).run(lambda dealer: dealer.deal([1.0, 3.0, 2.0, 3.0], begun.append, lambda _: None))
    assert begun == [1, 3, 2, 0]


def test_nobody_leaves_before_all_is_done() -> None:
    slow, left = threading.Event(), threading.Event()

    def process(dealer: StoreDealer) -> None:
        def work(number: int) -> None:
            if number == 0:
                assert not left.wait(timeout=0.5)
                slow.set()

        dealer.deal([2.0, 1.0], work, lambda _: None)
        assert slow.is_set()
        left.set()

    Together(2).run(process)
    assert left.is_set()


def test_a_first_process_that_is_gone_is_told_in_one_line() -> None:
    class Gone(HashStore):
        def add(self, *_: Any) -> int:
            raise DistNetworkError("Connection was likely closed.\nC++ stack trace")

    dealer = StoreDealer(Gone(), 1, 2, lambda mine: [mine])
    with pytest.raises(
        FirstProcessGoneError, match=r"the first process of the analysis is gone.*Connection was likely closed"
    ) as told:
        dealer.deal([1.0], lambda _: None, lambda _: None)
    assert "\n" not in str(told.value)


def test_a_gathering_that_fails_is_told_by_all_but_the_first() -> None:
    def closed(mine: list[Any]) -> list[list[Any]]:
        raise RuntimeError("Connection closed by peer")

    with pytest.raises(FirstProcessGoneError, match="Connection closed by peer"):
        StoreDealer(HashStore(), 1, 2, closed).gather([1])
    with pytest.raises(RuntimeError, match=r"^Connection closed by peer$"):
        StoreDealer(HashStore(), 0, 2, closed).gather([1])
