"""The two ends of a channel as Python sees them: typed errors, names of fields, orderly and disorderly ends."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

from actorstream.errors import BrokenError, ClosedError
from actorstream.native import channel
from actorstream.native.arena import Arena
from actorstream.native.channel import ENTRY, Entry, ReceiveRing, SendRing, channel_size, lay_out_channel
from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import ControlMemory, create_eventfd
from tests.native.unused_calls import await_empty

PLAN = 2**64 - 3


@pytest.fixture
def memory() -> Iterator[ControlMemory]:
    memory = ControlMemory(channel_size(4, 8, 1))
    lay_out_channel(memory, 0, 4, 8, 1, PLAN)
    yield memory
    memory.close()


def test_every_field_of_an_entry_arrives_as_it_was_sent(memory: ControlMemory) -> None:
    sender, receiver = SendRing(memory, 0, plan=PLAN, budget=100), ReceiveRing(memory, 0, plan=PLAN)
    sent = Entry(
        kind=3,
        flags=2**32 - 1,
        epoch=4,
        schema=2**64 - 1,
        sequence=5,
        serial=6,
        piece=7,
        pieces=8,
        bytes=9,
        first=-10,
        rows=11,
        min_time=-(2**63),
        max_time=2**63 - 1,
        min_entry=12,
        max_entry=13,
        producer_and_loan=14,
    )
    assert sender.send(sent)
    fields = receiver.peek()
    assert fields is not None
    got = Entry._make(fields)
    assert got._replace(producer_and_loan=14) == sent
    assert (got.producer, got.loan) == (14, channel.NO_LOAN)


def test_an_entry_is_128_bytes_as_the_header_draws_it() -> None:
    assert ENTRY.size == channel.ffi.sizeof("as_entry") == 128
    raw = ENTRY.pack(*Entry(producer_and_loan=3 | 4 << 32))
    entry = channel.ffi.from_buffer("as_entry *", raw)
    assert (entry.magic, entry.version, entry.kind, entry.pieces) == (channel.ENTRY_MAGIC, 1, 1, 1)
    assert (entry.max_time, entry.producer, entry.loan) == (-(2**63), 3, 4)


def test_an_end_of_another_plan_is_refused(memory: ControlMemory) -> None:
    for end in (
        lambda: SendRing(memory, 0, plan=1, budget=1),
        lambda: ReceiveRing(memory, 0, plan=1),
    ):
        with pytest.raises(BrokenError, match="another plan"):
            end()


def test_memory_without_a_channel_is_refused() -> None:
    memory = ControlMemory(4096)
    with pytest.raises(ValueError, match="receiving end of the channel at 0: nothing of this kind"):
        ReceiveRing(memory, 0, plan=0)
    with pytest.raises(ValueError, match="channel of 3 slots"):
        lay_out_channel(memory, 0, 3, 4, 0, 0)
    with pytest.raises(ValueError, match="channel of 8 slots, 4 returns"):
        lay_out_channel(memory, 0, 8, 4, 0, 0)
    memory.close()


def test_a_closed_end_answers_with_a_typed_error(memory: ControlMemory) -> None:
    sender, receiver = SendRing(memory, 0, plan=PLAN, budget=100), ReceiveRing(memory, 0, plan=PLAN)
    sender.close()
    receiver.close()
    for use in (lambda: sender.send(Entry()), sender.reap, receiver.peek, receiver.consume, receiver.waiting):
        with pytest.raises(ClosedError, match="closed"):
            use()


def test_sending_to_a_consumer_that_has_closed_fails_unless_all_was_consumed(memory: ControlMemory) -> None:
    sender, receiver = SendRing(memory, 0, plan=PLAN, budget=100), ReceiveRing(memory, 0, plan=PLAN)
    assert sender.send(Entry())
    assert not await_empty(sender)
    receiver.consume()
    receiver.close()
    assert await_empty(sender)
    with pytest.raises(BrokenError, match="the other side has closed"):
        sender.send(Entry())
    with pytest.raises(BrokenError, match="the other side has closed"):
        sender.admits(1)


def test_an_end_that_was_taken_over_says_so_and_changes_nothing(memory: ControlMemory) -> None:
    old, receiver = SendRing(memory, 0, plan=PLAN, budget=100), ReceiveRing(memory, 0, plan=PLAN)
    new = SendRing(memory, 0, plan=PLAN, budget=100)
    with pytest.raises(BrokenError, match="taken over"):
        old.send(Entry(sequence=1))
    old.advance(0, 99)
    assert new.send(Entry(sequence=2))
    fields = receiver.peek()
    assert fields is not None and Entry._make(fields).sequence == 2
    assert (receiver.waiting(), receiver.frontier()) == (1, -(2**63))


def test_damaged_entries_and_indices_are_reported_not_followed(memory: ControlMemory) -> None:
    sender, receiver = SendRing(memory, 0, plan=PLAN, budget=100), ReceiveRing(memory, 0, plan=PLAN)
    arena = Arena.create(1 << 20, 1)
    assert sender.send(Entry(), arena.allocate(1))
    fields = receiver.peek()
    assert fields is not None
    for offset in (2**40, 63, 64 * 1000, 2**64 - 64):
        receiver._entry.offset = offset
        with pytest.raises((BrokenError, ValueError), match="borrow from arena 1"):
            receiver.borrow(arena)
    entries = memory.words(512, 32)  # after 384 + one frontier word, rounded up to 128
    assert entries[0] & 0xFFFFFFFF == channel.ENTRY_MAGIC
    entries[0] = 0
    with pytest.raises(BrokenError, match="not a valid entry"):
        receiver.peek()
    memory.words(64, 1)[0] += 1000
    with pytest.raises(BrokenError, match="not a valid entry or index"):
        receiver.peek(2)


def test_an_end_that_is_dropped_unclosed_takes_nothing_from_its_reader(memory: ControlMemory) -> None:
    sender, receiver = SendRing(memory, 0, plan=PLAN, budget=100), ReceiveRing(memory, 0, plan=PLAN)
    arena = Arena.create(1 << 20, 1)
    assert sender.send(Entry(), arena.allocate(1))
    del sender
    assert receiver.peek() is not None
    receiver.borrow(arena).release()
    assert arena.statistics().blocks == 1


def test_a_promise_only_rises_and_rings_only_if_it_did(memory: ControlMemory) -> None:
    bell = Doorbell.create(8, -1)
    sender = SendRing(memory, 0, plan=PLAN, budget=100, peer=bell, peer_bit=5)
    receiver = ReceiveRing(memory, 0, plan=PLAN)
    seen = []
    for value in (3, 2, 3, 4):
        sender.advance(0, value)
        seen.append((receiver.frontier(), bell.collect()))
    assert seen == [(3, [5]), (3, []), (3, []), (4, [5])]


def test_a_producer_that_waits_for_credit_is_rung_when_half_is_free(memory: ControlMemory) -> None:
    bell = Doorbell.create(8, -1)
    sender = SendRing(memory, 0, plan=PLAN, budget=100)
    receiver = ReceiveRing(memory, 0, plan=PLAN, peer=bell, peer_bit=2)
    while sender.send(Entry(bytes=25)):
        pass
    rung = []
    for _ in range(4):
        receiver.consume()
        rung.append(bell.collect())
    assert rung == [[], [2], [], []]


def test_ends_and_doorbells_may_die_together_in_any_order(memory: ControlMemory) -> None:
    class Holder:
        """Keeps all in a cycle, which only the collector can break."""

    for _ in range(20):
        holder, eventfd = Holder(), create_eventfd()
        holder.me = holder  # type: ignore[attr-defined]
        holder.bell = Doorbell.create(2, eventfd)  # type: ignore[attr-defined]
        holder.memory = ControlMemory(channel_size(4, 8, 1))  # type: ignore[attr-defined]
        lay_out_channel(holder.memory, 0, 4, 8, 1, 0)  # type: ignore[attr-defined]
        holder.arena = Arena.create(1 << 20, 1)  # type: ignore[attr-defined]
        holder.sender = SendRing(holder.memory, 0, plan=0, budget=9, peer=holder.bell)  # type: ignore[attr-defined]
        holder.receiver = ReceiveRing(holder.memory, 0, plan=0, peer=holder.bell)  # type: ignore[attr-defined]
        assert holder.sender.send(Entry(), holder.arena.allocate(9))  # type: ignore[attr-defined]
        holder.peeked = holder.receiver.peek()  # type: ignore[attr-defined]
        holder.block = holder.receiver.borrow(holder.arena)  # type: ignore[attr-defined]
        holder.view = holder.block.view()  # type: ignore[attr-defined]
        holder.memory.close()  # type: ignore[attr-defined]
        del holder
        gc.collect()
        os.close(eventfd)


def test_waiting_for_the_doorbell_takes_a_row_only_if_its_channel_alone_rang() -> None:
    size = channel_size(8, 8, 1)
    memory = ControlMemory(2 * size, name="rows")
    eventfd = create_eventfd()
    bell = Doorbell.create(4, eventfd)
    ends = []
    for bit in (1, 2):
        lay_out_channel(memory, (bit - 1) * size, 8, 8, 1, 7)
        sender = SendRing(memory, (bit - 1) * size, plan=7, budget=1024, peer=bell, peer_bit=bit)
        ends.append((sender, ReceiveRing(memory, (bit - 1) * size, plan=7)))
    (first, taker), (second, other) = ends
    wait = taker.row_waiter(bell, 1)
    assert wait(0) == wait(1000) == 0
    assert first.send_row()
    assert wait(0) == channel.TAKEN
    assert taker.waiting() == 0 and first.is_empty()
    assert first.send_row() and second.send_row()
    assert sorted(bell.listed(wait(0))) == [1, 2]  # nothing is taken: the other may be older
    assert taker.take_row() and other.take_row()
    assert second.send_row()
    assert bell.listed(wait(1_000_000)) == [2]
    assert first.send(Entry(bytes=8))
    assert bell.listed(wait(0)) == [1] and taker.waiting() == 1  # it is no row
    for sender, receiver in ends:
        receiver.close()
        sender.close()
    bell.close()
    os.close(eventfd)
    memory.close()
