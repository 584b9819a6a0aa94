from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from torch.distributed import DistNetworkError, HashStore, TCPStore

from lit_transformer.errors import FirstProcessGoneError, UserError
from lit_transformer.importance import heartbeat
from lit_transformer.importance.dealing import Dealer, StoreDealer


def test_one_process_works_in_order() -> None:
    done: list[int] = []
    told: list[dict[str, Any]] = []
    dealer = Dealer()

    def work(number: int) -> None:
        done.append(number)
        dealer.say({"name": str(number)})

    dealer.deal(3, work, told.append)
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

            dealer.deal(pieces, work, lambda news: told[dealer.rank].append(news["name"]))
            gathered.append(sorted(dealer.gather(mine)))

    Together(3).run(process)
    assert sorted(done) == [(round_, number) for round_ in range(2) for number in range(pieces)]
    assert sorted(told[0]) == sorted(f"{round_}/{number}" for round_, number in done)
    assert told[1] == told[2] == []
    assert gathered == [list(range(pieces))] * 6


def test_pieces_are_begun_in_their_order() -> None:
    begun: list[int] = []
    Together(1).run(lambda dealer: dealer.deal(4, begun.append, lambda _: None))
    assert begun == [0, 1, 2, 3]


def test_nobody_leaves_before_all_is_done() -> None:
    slow, left = threading.Event(), threading.Event()

    def process(dealer: StoreDealer) -> None:
        def work(number: int) -> None:
            if number == 0:
                assert not left.wait(timeout=0.5)
                slow.set()

        dealer.deal(2, work, lambda _: None)
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
        dealer.deal(1, lambda _: None, lambda _: None)
    assert "\n" not in str(told.value)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(heartbeat, "SILENCE_SECONDS", 0.5)


def beats() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "heartbeat" in thread.name]


@pytest.mark.usefixtures("impatient")
class TestSignsOfLife:
    @pytest.mark.parametrize("beaten", [False, True])
    @pytest.mark.parametrize("rank", [0, 2])
    def test_another_process_that_is_gone_is_told_in_one_line(self, rank: int, beaten: bool) -> None:
        store = HashStore()
        dealers = [StoreDealer(store, number, 3, lambda mine: [mine]) for number in range(3)]
        if beaten:
            with dealers[1].alive():
                pass
        # It took a piece of work with it.
        store.add("analysis/1/next", 1)
        with dealers[2 - rank].alive(), dealers[rank].alive(), pytest.raises(UserError) as told:
            dealers[rank].deal(2, lambda _: None, lambda _: None)
        expected = (
            r"process 1 of the analysis \(the first is 0\) has shown no sign of life .* run the same command again"
        )
        assert re.match(expected, str(told.value))
        assert "\n" not in str(told.value)

    def test_one_that_is_long_at_work_is_waited_for(self) -> None:
        def process(dealer: StoreDealer) -> None:
            with dealer.alive():
                dealer.deal(2, lambda number: time.sleep(1.2 * (number == 0)), lambda _: None)
                done.append(dealer.rank)

        done: list[int] = []
        Together(2).run(process)
        assert sorted(done) == [0, 1]

    def test_what_beats_ends_with_the_analysis(self) -> None:
        dealer = StoreDealer(HashStore(), 0, 2, lambda mine: [mine])
        for error in (None, KeyboardInterrupt, UserError("x")):
            with contextlib.suppress(KeyboardInterrupt, UserError), dealer.alive():
                assert beats()
                if error is not None:
                    raise error
            assert beats() == []

    def test_nobody_is_left_to_beat_for(self) -> None:
        server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        dealer = StoreDealer(TCPStore("127.0.0.1", server.port, is_master=False), 1, 2, lambda mine: [mine])
        with dealer.alive():
            while not server.num_keys():
                time.sleep(0.02)
            del server
            deadline = time.monotonic() + 20
            while beats():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            with pytest.raises(FirstProcessGoneError):
                dealer.deal(1, lambda _: None, lambda _: None)

    def test_the_time_in_which_one_stood_still_is_no_silence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [0.0]
        monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now[0])
        watch = heartbeat.Watch(HashStore(), {1: "beat"})
        for _ in range(4):
            now[0] += 1000.0
            watch.look()


def test_a_gathering_that_fails_is_told_in_one_line() -> None:
    def closed(mine: list[Any]) -> list[list[Any]]:
        raise RuntimeError("Connection closed by peer\nC++ stack trace")

    with pytest.raises(FirstProcessGoneError, match="Connection closed by peer"):
        StoreDealer(HashStore(), 1, 2, closed).gather([1])
    with pytest.raises(UserError, match=r"^another process of the analysis is gone.*Connection closed by peer\)\.$"):
        StoreDealer(HashStore(), 0, 2, closed).gather([1])
