"""The baton as Python sees it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from actorstream.native import baton
from actorstream.native.baton import without_baton


@pytest.fixture(autouse=True)
def given_back() -> object:
    yield
    baton.give()
    assert not baton.is_held()


def elsewhere(what: Callable[[], None]) -> threading.Thread:
    """Runs it on a thread of its own."""
    thread = threading.Thread(target=what, daemon=True)
    thread.start()
    return thread


def test_who_takes_it_holds_it_until_he_gives_it() -> None:
    assert not baton.is_held()
    baton.take()
    baton.take()  # nothing: it is held
    assert baton.is_held()
    baton.give()
    baton.give()
    assert not baton.is_held()


def test_a_thread_without_it_may_lend_pass_and_reclaim_what_it_has_not() -> None:
    baton.lend()
    baton.pass_on()
    baton.reclaim()
    with without_baton():
        assert not baton.is_held()
    assert not baton.is_held()


@pytest.mark.parametrize("spin", [0, 50_000])
def test_another_thread_gets_it_while_it_is_lent_and_gives_it_back(spin: int) -> None:
    baton.spin(spin)
    held: list[bool] = []

    def other() -> None:
        baton.take()
        held.append(baton.is_held())
        baton.give()

    baton.take()
    thread = elsewhere(other)
    with without_baton():
        thread.join()
    assert baton.is_held()
    assert held == [True]


def test_who_passes_it_lets_a_waiting_thread_go_first() -> None:
    order: list[str] = []
    before = baton.statistics().waits
    waiting = threading.Event()

    def other() -> None:
        waiting.set()
        baton.take()
        order.append("other")
        baton.give()

    baton.spin(1_000_000)
    baton.take()
    thread = elsewhere(other)
    waiting.wait()
    while "other" not in order:
        baton.pass_on()
    order.append("first")
    baton.give()
    thread.join()
    assert order == ["other", "first"]
    assert baton.statistics().waits > before


def test_it_comes_back_though_the_native_code_raises() -> None:
    baton.take()
    with pytest.raises(ZeroDivisionError), without_baton():
        _ = 1 // 0
    assert baton.is_held()


def test_no_other_thread_is_between_a_take_and_a_give() -> None:
    count = 0

    def add() -> None:
        nonlocal count
        for _ in range(500):
            baton.take()
            seen = count
            baton.statistics()  # gives the interpreter's lock up, but not the baton
            count = seen + 1
            baton.give()

    threads = [elsewhere(add) for _ in range(4)]
    for thread in threads:
        thread.join()
    assert count == 2000


def test_a_fork_while_another_thread_holds_it_leaves_it_free_in_the_child() -> None:
    taken, enough = threading.Event(), threading.Event()

    def other() -> None:
        baton.take()
        taken.set()
        enough.wait()
        baton.give()

    thread = elsewhere(other)
    taken.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends a child that hangs
        baton.take()
        os._exit(0 if baton.is_held() else 1)
    enough.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_fork_by_the_thread_that_holds_it_leaves_it_held_in_both() -> None:
    baton.take()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        held = baton.is_held()
        baton.give()
        thread = elsewhere(baton.take)
        thread.join()
        os._exit(0 if held else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert baton.is_held()
