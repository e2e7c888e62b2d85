"""Rows that are encoded and sent by one call: the same bytes as by two, and nothing sent where they are refused."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from actorstream import Batch, Event
from actorstream.errors import BrokenError
from actorstream.events.jumbo import JumboTuple, to_bytes
from actorstream.events.schema import Schema
from actorstream.events.sending import piece
from actorstream.native.arena import Arena
from actorstream.native.channel import Entry, ReceiveRing, SendRing, channel_size, lay_out_channel
from actorstream.native.memory import ControlMemory
from actorstream.native.piece import NativePieceSender, piece_sender

PLAN, PRODUCER, SLOTS = 11, 3, 4
MOST = 1 << 20


class Reading(Event):
    """Columns of both kinds, with nulls."""

    key: int
    value: float
    name: str
    note: str | None


SCHEMA = Schema.of(Reading)
ROWS = 1000
NAMES = [f"name {row % 17}" for row in range(ROWS)]
NOTES = [None if row % 3 else f"note {row}" for row in range(ROWS)]
READINGS = Batch.of(
    {"key": np.arange(ROWS), "value": np.arange(ROWS) / 8, "name": NAMES, "note": NOTES}, event=Reading
)


@dataclass
class Channel:
    """Both ends of a channel and the sender's arena."""

    arena: Arena
    sender: SendRing
    receiver: ReceiveRing
    send: NativePieceSender

    def sent(self, batch: Batch, sequence: int = 0, serial: int = 0) -> bool:
        return self.send(*piece(batch, SCHEMA), sequence, serial, 5, 6, 0)

    def received(self) -> tuple[Entry, bytes]:
        fields = self.receiver.peek()
        assert fields is not None
        jumbo = JumboTuple(self.receiver.borrow(self.arena))
        self.receiver.consume()
        taken = Batch.from_jumbo(SCHEMA, jumbo)
        return Entry._make(fields), to_bytes(taken, plan=PLAN)


def channel(budget: int = MOST, most: int = MOST, limit: int = MOST, slots: int = SLOTS) -> Channel:
    memory = ControlMemory(channel_size(slots, 2 * slots, 1))
    lay_out_channel(memory, 0, slots, 2 * slots, 1, PLAN)
    arena = Arena.create(limit, 1)
    sender, receiver = SendRing(memory, 0, plan=PLAN, budget=budget), ReceiveRing(memory, 0, plan=PLAN)
    send = piece_sender(sender, arena, SCHEMA.fingerprint, PRODUCER, PLAN, most)
    return Channel(arena, sender, receiver, send)


@pytest.fixture
def ends() -> Iterator[Channel]:
    ends = channel()
    yield ends
    gc.collect()
    ends.sender.reap()
    assert ends.arena.statistics().in_use == 0


@pytest.mark.parametrize(
    "batch",
    [
        READINGS,
        READINGS.slice(17, 100),
        READINGS.take(np.arange(0, ROWS, 7)),
        READINGS.slice(100, 500).take(np.arange(499, -1, -3)),
        READINGS.slice(3, 1),
    ],
    ids=["all", "a run", "a selection", "a selection of a run", "one"],
)
def test_rows_arrive_as_the_bytes_that_encoding_makes_of_them(ends: Channel, batch: Batch) -> None:
    assert ends.sent(batch, sequence=9, serial=1 << 40)
    entry, data = ends.received()
    assert data == to_bytes(batch, plan=PLAN)
    assert (entry.kind, entry.rows, entry.first, entry.sequence, entry.serial) == (
        *(1, batch.rows, 0, 9),
        1 << 40,
    )
    assert (entry.min_entry, entry.max_entry, entry.producer) == (5, 6, PRODUCER)
    assert (entry.schema, entry.bytes) == (SCHEMA.fingerprint, len(data))


def test_no_credit_sends_nothing_and_leaves_no_block_behind() -> None:
    ends = channel(slots=1)
    assert ends.sent(READINGS)
    used = ends.arena.statistics().in_use
    assert not ends.sent(READINGS)
    assert ends.arena.statistics().in_use == used
    ends.received()
    gc.collect()
    assert ends.sent(READINGS)


def test_rows_of_too_many_bytes_and_those_that_the_arena_cannot_hold_are_left_to_the_caller() -> None:
    size = len(to_bytes(READINGS))
    assert not channel(most=size).sent(READINGS)
    assert channel(most=size + 1).sent(READINGS)
    full = channel(limit=size // 2)
    assert not full.sent(READINGS)
    assert full.receiver.waiting() == 0


def test_rows_of_more_columns_than_a_call_takes_are_left_to_the_caller() -> None:
    columns = {f"c{number}": np.arange(4) for number in range(65)}
    wide = Batch.of(columns)
    ends = channel()
    send = piece_sender(ends.sender, ends.arena, wide.schema.fingerprint, PRODUCER, PLAN, MOST)
    assert not send(*piece(wide, wide.schema), 0, 0, 0, 0, 0)
    narrow = wide.select(list(columns)[:64])
    send = piece_sender(ends.sender, ends.arena, narrow.schema.fingerprint, PRODUCER, PLAN, MOST)
    assert send(*piece(narrow, narrow.schema), 0, 0, 0, 0, 0)


def test_sending_to_a_consumer_that_has_closed_is_an_error() -> None:
    ends = channel()
    ends.receiver.close()
    with pytest.raises(BrokenError, match="the other side has closed"):
        ends.sent(READINGS)
    assert ends.arena.statistics().in_use == 0
