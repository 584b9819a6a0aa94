from __future__ import annotations

import os
import signal
import threading

import pytest

from lit_transformer.console.signals import Terminated, ended_by_sigterm


def test_the_signal_ends_the_work_and_then_has_its_own_meaning_again() -> None:
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    done: list[str] = []

    def work() -> None:
        with ended_by_sigterm():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("work")

    with pytest.raises(Terminated):
        work()
    assert done == []
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_another_answer_to_the_signal_stays() -> None:
    answered: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: answered.append(number))
    try:
        with ended_by_sigterm():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert answered == [signal.SIGTERM]


def test_a_thread_can_answer_no_signal() -> None:
    def work() -> None:
        with ended_by_sigterm():
            done.append(True)

    done: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
