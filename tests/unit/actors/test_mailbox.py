from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actorstream.actors.mailbox import Entry, Mailbox


class Sender:
    """Someone who waits for credit."""

    def __init__(self, name: object = "") -> None:
        self.name, self.gone = name, False

    def done(self) -> bool:
        return self.gone


def entry(message: object, size: int, source: object = None) -> Entry:
    return (message, size, None, source)


def test_credit_is_taken_by_an_offer_and_comes_back_by_a_release() -> None:
    mailbox = Mailbox(100)
    assert mailbox.offer(entry("a", 60), 60)
    assert not mailbox.offer(entry("b", 60), 60)
    mailbox.queue.popleft()
    mailbox.release(60)
    assert mailbox.offer(entry("b", 60), 60)
    assert [message for message, *_ in mailbox.queue] == ["b"]


def test_a_refused_offer_changes_nothing() -> None:
    mailbox = Mailbox(100)
    mailbox.offer(entry("a", 90), 90)
    before = mailbox.statistics()
    assert not mailbox.offer(entry("b", 20), 20)
    assert mailbox.statistics() == before


def test_a_message_larger_than_the_capacity_is_admitted_alone() -> None:
    mailbox = Mailbox(10)
    assert mailbox.offer(entry("huge", 1000), 1000)
    assert not mailbox.offer(entry("next", 1), 1)


def test_nobody_overtakes_a_sender_that_waits() -> None:
    mailbox = Mailbox(100)
    mailbox.offer(entry("a", 90), 90)
    mailbox.wait(entry("large", 50), Sender())
    assert not mailbox.offer(entry("small", 1), 1)


def test_those_who_wait_are_admitted_in_their_order_while_credit_lasts() -> None:
    mailbox = Mailbox(100)
    mailbox.offer(entry("a", 100), 100)
    for name, size in (("b", 40), ("c", 40), ("d", 40)):
        mailbox.wait(entry(name, size), Sender(name))
    assert mailbox.admit() == []
    mailbox.queue.popleft()
    mailbox.release(100)
    assert [sender.name for sender in mailbox.admit()] == ["b", "c"]
    assert [message for message, *_ in mailbox.queue] == ["b", "c"]


def test_a_sender_that_gives_up_leaves_the_line_once() -> None:
    mailbox = Mailbox(10)
    mailbox.offer(entry("a", 10), 10)
    sender = Sender()
    mailbox.wait(entry("b", 5), sender)
    assert mailbox.withdraw(sender)
    assert not mailbox.withdraw(sender)
    assert mailbox.admit() == []


def test_what_a_sender_that_has_given_up_wanted_to_send_is_not_let_in() -> None:
    mailbox = Mailbox(10)
    mailbox.offer(entry("a", 10), 10)
    first, second = Sender(), Sender()
    mailbox.wait(entry("b", 5), first)
    mailbox.wait(entry("c", 5), second)
    first.gone = True
    mailbox.queue.popleft()
    mailbox.release(10)
    assert mailbox.admit() == [second]
    assert [message for message, *_ in mailbox.queue] == ["c"]


def test_a_closed_mailbox_hands_back_what_is_left_and_takes_nothing_more() -> None:
    mailbox = Mailbox(10)
    mailbox.offer(entry("a", 10), 10)
    sender = Sender()
    mailbox.wait(entry("b", 5), sender)
    left, waiters = mailbox.close()
    assert ([message for message, *_ in left], waiters) == (["a"], [sender])
    assert not mailbox.offer(entry("c", 1), 1)
    assert mailbox.statistics().bytes == 0


def test_statistics_tell_bytes_messages_and_waiters() -> None:
    mailbox = Mailbox(10)
    mailbox.offer(entry("a", 8), 8)
    mailbox.force(entry("signal", 0))
    mailbox.wait(entry("b", 5), Sender())
    statistics = mailbox.statistics()
    assert (statistics.messages, statistics.bytes, statistics.capacity, statistics.waiting) == (2, 8, 10, 1)
    assert statistics.peak_bytes == 8


operations = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), st.integers(1, 60)),
        st.tuples(st.just("take"), st.just(0)),
        st.tuples(st.just("give up"), st.integers(0, 5)),
    ),
    max_size=60,
)


@given(operations)
def test_a_mailbox_agrees_with_its_model(steps: list[tuple[str, int]]) -> None:
    """The model: one line of all senders; the front of it is in the mailbox as far as credit goes."""
    capacity, mailbox, number = 100, Mailbox(100), 0
    inside: list[tuple[int, int]] = []
    line: list[tuple[int, int]] = []
    senders: dict[int, Sender] = {}

    def settle() -> None:
        while line and (not inside or sum(size for _, size in inside) + line[0][1] <= capacity):
            inside.append(line.pop(0))

    for step, value in steps:
        if step == "offer":
            number += 1
            if not mailbox.offer(entry(number, value), value):
                senders[number] = Sender(number)
                mailbox.wait(entry(number, value), senders[number])
            line.append((number, value))
        elif step == "take" and mailbox.queue:
            message, size, *_ = mailbox.queue.popleft()
            mailbox.release(size)
            mailbox.admit()
            assert (message, size) == inside.pop(0)
        elif step == "give up" and line:
            assert mailbox.withdraw(senders[line.pop(value % len(line))[0]])
            mailbox.admit()
        settle()
        assert [message for message, *_ in mailbox.queue] == [name for name, _ in inside]
        assert mailbox.used == sum(size for _, size in inside)
        assert [sender.name for _, sender in mailbox.waiting] == [name for name, _ in line]
