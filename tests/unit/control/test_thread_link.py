"""The control link between two threads: nothing is lost, and the end is heard after everything else."""

from __future__ import annotations

import asyncio
from threading import Thread

from actorstream.control.messages import Message, Started
from actorstream.control.thread_link import ThreadLink


def test_messages_come_in_order_and_once() -> None:
    left, right = ThreadLink.pair()
    sent: list[Message] = [Started(each) for each in range(5)]
    for each in sent:
        left.send(each)
    assert right.receive() == sent
    assert right.receive() == []
    assert left.receive() == []


def test_what_was_sent_before_the_end_comes_with_it_or_before() -> None:
    left, right = ThreadLink.pair()
    left.send(Started(1))
    left.close()
    assert not right.closed
    assert right.receive() == [Started(1)]
    assert right.closed


def test_nothing_is_sent_over_a_link_that_this_end_has_closed_or_knows_to_be_closed() -> None:
    left, right = ThreadLink.pair()
    left.close()
    left.send(Started(1))
    assert right.receive() == []
    right.send(Started(2))
    assert left.receive() == []


async def test_who_listens_late_hears_what_came_before() -> None:
    left, right = ThreadLink.pair()
    heard = asyncio.Event()
    left.send(Started(1))
    right.listen(asyncio.get_running_loop(), heard.set)
    await heard.wait()
    heard.clear()
    left.close()
    await heard.wait()
    assert right.receive() == [Started(1)]
    assert right.closed


async def test_who_has_left_is_not_called() -> None:
    left, right = ThreadLink.pair()
    calls: list[int] = []
    right.listen(asyncio.get_running_loop(), lambda: calls.append(1))
    right.leave()
    left.send(Started(1))
    left.close()
    await asyncio.sleep(0)
    assert not calls


def test_a_loop_that_has_ended_does_not_stop_the_other_end() -> None:
    left, right = ThreadLink.pair()
    loop = asyncio.new_event_loop()
    right.listen(loop, lambda: None)
    loop.close()
    left.send(Started(1))
    left.close()
    assert right.receive() == [Started(1)]


async def test_messages_of_another_thread_are_all_heard() -> None:
    count = 2000
    left, right = ThreadLink.pair()
    found: list[Message] = []
    ended = asyncio.Event()

    def heard() -> None:
        found.extend(right.receive())
        if right.closed:
            ended.set()

    def send() -> None:
        for each in range(count):
            left.send(Started(each))
        left.close()

    right.listen(asyncio.get_running_loop(), heard)
    sender = Thread(target=send)
    sender.start()
    await asyncio.wait_for(ended.wait(), 60)
    sender.join()
    assert found == [Started(each) for each in range(count)]
