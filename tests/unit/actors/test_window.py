from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from actorstream.actors.window import ReceiveWindow, SendWindow


class Sender:
    """Someone who waits for credit."""

    def __init__(self, size: int = 0) -> None:
        self.size, self.gone = size, False

    def done(self) -> bool:
        return self.gone


def test_a_message_larger_than_the_window_goes_alone() -> None:
    window = SendWindow(100)
    assert window.take(500)
    assert not window.take(1)
    window.give(500)
    assert window.take(1)


def test_nobody_overtakes_a_sender_that_waits_for_credit() -> None:
    window = SendWindow(100)
    window.take(90)
    large = Sender()
    window.wait(50, large)
    assert not window.take(1)
    window.give(40)
    assert window.admit() == [large]


def test_what_a_sender_that_has_given_up_wanted_to_send_takes_no_credit() -> None:
    window = SendWindow(100)
    window.take(90)
    first, second = Sender(), Sender()
    window.wait(50, first)
    window.wait(60, second)
    first.gone = True
    window.give(90)
    assert window.admit() == [second]
    assert window.outstanding == 60


def test_credit_comes_back_in_quarters() -> None:
    window = ReceiveWindow(100)
    for _ in range(6):
        assert window.accept(10)
    assert [window.processed(10) for _ in range(3)] == [False, False, True]
    assert window.settle() == 30


def test_all_credit_comes_back_to_a_sender_that_needs_it() -> None:
    window = ReceiveWindow(100)
    window.accept(10)
    window.accept(5)
    assert not window.need()
    assert not window.processed(10)
    assert window.processed(5)
    assert window.settle() == 15
    assert not window.needed


def test_a_need_for_what_is_processed_already_is_met_at_once() -> None:
    window = ReceiveWindow(100)
    window.accept(10)
    window.processed(10)
    assert window.need()
    assert window.settle() == 10
    assert not window.need()


def test_a_sender_without_credit_is_caught() -> None:
    window = ReceiveWindow(100)
    assert window.accept(90)
    assert not window.accept(20)


def test_those_who_wait_can_withdraw_or_be_sent_away() -> None:
    window = SendWindow(10)
    window.take(10)
    a, b, c = Sender(), Sender(), Sender()
    for sender in (a, b, c):
        window.wait(5, sender)
    assert window.withdraw(b)
    assert not window.withdraw(b)
    assert window.drain() == [a, c]


@given(st.lists(st.integers(1, 300), min_size=1, max_size=50), st.data())
def test_whatever_the_interleaving_every_message_arrives_in_order_and_none_without_credit(
    sizes: list[int], data: st.DataObject
) -> None:
    sender, receiver = SendWindow(100), ReceiveWindow(100)
    there: deque[int | str] = deque()  # sizes and needs on their way
    back: deque[int] = deque()  # credit on its way
    queue: deque[int] = deque()
    offered, arrived, processed = list(sizes), [], []
    while len(processed) < len(sizes):
        choices = []
        if offered:
            choices.append("send")
        if there:
            choices.append("arrive")
        if queue:
            choices.append("process")
        if back:
            choices.append("credit")
        assert choices, "deadlock"
        step = data.draw(st.sampled_from(choices))
        if step == "send":
            size = offered.pop(0)
            if sender.take(size):
                there.append(size)
            else:
                sender.wait(size, Sender(size))
                if len(sender.waiting) == 1 and sender.starved:
                    there.append("need")
        elif step == "arrive":
            item = there.popleft()
            if isinstance(item, int):
                assert receiver.accept(item)
                arrived.append(item)
                queue.append(item)
            elif receiver.need():
                back.append(receiver.settle())
        elif step == "process":
            size = queue.popleft()
            processed.append(size)
            if receiver.processed(size):
                back.append(receiver.settle())
        else:
            sender.give(back.popleft())
            there.extend(waiter.size for waiter in sender.admit())
            if sender.starved:
                there.append("need")
    assert processed == arrived == sizes
