"""The bytes of frames that C makes and reads are those that transports/network/message.py draws."""

from __future__ import annotations

import random
from typing import Any
from weakref import ref

import numpy as np
import pytest

from actorstream.events.jumbo import JumboTuple
from actorstream.native.address import address_of
from actorstream.native.channel import ENTRY, Entry
from actorstream.native.frames import (
    entry_frame,
    following,
    pack_frame,
    received_jumbo,
    unpack_frame,
    unpack_run,
)
from actorstream.transports.base import Frame
from actorstream.transports.network.message import FRAME, HEAD, PREFIX, WHOLE

UNSIGNED = ("nbytes", "schema")
SIGNED = ("rows", "first", "producer", "sequence", "serial", "piece", "pieces", "barrier")
TIMES = ("min_time", "max_time", "min_entry", "max_entry", "began")
NAMES = (*UNSIGNED, *SIGNED, *TIMES)
COMMON = bytes(range(PREFIX))


def drawn(draw: random.Random) -> Frame:
    values = {name: draw.choice([0, 1, 2**64 - 1, draw.getrandbits(64)]) for name in UNSIGNED}
    values |= {
        name: draw.choice([0, -1, 2**63 - 1, -(2**63), draw.getrandbits(62)]) for name in (*SIGNED, *TIMES)
    }
    return Frame(draw.randrange(1, 5), None, **values)


def test_the_bytes_of_a_frame_are_those_that_struct_packs() -> None:
    draw = random.Random(1)
    for _ in range(500):
        frame, flags, credit = drawn(draw), draw.randrange(256), tuple(draw.getrandbits(64) for _ in range(3))
        seq, ack, channel, length = (
            draw.getrandbits(64),
            draw.getrandbits(64),
            draw.getrandbits(32),
            2**32 - 1,
        )
        made = pack_frame(COMMON, frame, flags, seq, ack, channel, length, *credit)
        assert len(made) == WHOLE.size
        assert made[:PREFIX] == COMMON[:6] + bytes((frame.kind, flags)) + COMMON[8:]
        assert HEAD.unpack_from(made)[8:] == (seq, ack, channel, length)
        assert FRAME.unpack_from(made, HEAD.size) == (*(getattr(frame, name) for name in NAMES), *credit)


def test_a_frame_that_was_packed_is_read_as_it_was_wherever_it_begins() -> None:
    draw = random.Random(2)
    for at in (0, 3, 8):
        frame = drawn(draw)
        packet = bytes(at) + pack_frame(COMMON, frame, 0, 1, 2, 3, 4, 5, 6, 7)
        again, credit = unpack_frame(Frame, frame.kind, memoryview(packet), at + HEAD.size)
        assert (again.kind, again.payload, credit) == (frame.kind, None, (5, 6, 7))
        assert [getattr(again, name) for name in NAMES] == [getattr(frame, name) for name in NAMES]


@pytest.mark.parametrize("waited", [0, 1, 77])
def test_the_frame_of_an_entry_has_its_fields_and_when_work_on_its_rows_began(waited: int) -> None:
    draw = random.Random(waited)
    for _ in range(100):
        numbers = {name: draw.getrandbits(32) for name in ("epoch", "piece", "pieces", "arena", "generation")}
        numbers |= {name: draw.getrandbits(63) for name in ("sequence", "serial", "offset", "first", "rows")}
        numbers |= {name: draw.choice([0, 2**64 - 1, draw.getrandbits(64)]) for name in ("schema", "bytes")}
        times = {
            name: draw.choice([0, -(2**63), 2**63 - 1]) for name in ("min_time", "max_time", "min_entry")
        }
        entry = Entry(
            kind=draw.randrange(1, 6),
            flags=waited << 1 | 1,
            max_entry=draw.getrandbits(60),
            producer_and_loan=draw.getrandbits(64),
            **numbers,
            **times,
        )
        frame, flags, offset, arena = entry_frame(Frame, ENTRY.pack(*entry))
        assert (flags, offset, arena) == (entry.flags, entry.offset, entry.arena)
        same = (
            "kind",
            "schema",
            "sequence",
            "serial",
            "piece",
            "pieces",
            "first",
            "rows",
            *times,
            "max_entry",
            "producer",
        )
        assert all(getattr(frame, name) == getattr(entry, name) for name in same)
        assert (frame.nbytes, frame.payload, frame.barrier) == (entry.bytes, None, 0)
        assert frame.began == (entry.max_entry + (waited - 1) * 1000 if waited else 0)
    for size in (0, ENTRY.size - 1, ENTRY.size + 1):
        with pytest.raises(ValueError, match="an entry has 128 bytes"):
            entry_frame(Frame, bytes(size))


@pytest.mark.parametrize("name", ["rows", "schema"])
@pytest.mark.parametrize("value", [2**70, "text"])
def test_a_value_that_no_field_holds_is_refused(name: str, value: object) -> None:
    frame = Frame(1)
    setattr(frame, name, value)
    with pytest.raises((OverflowError, TypeError)):
        pack_frame(COMMON, frame, 0, 0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("at", [-1, 1, 2**40])
def test_fields_beyond_the_packet_are_not_read(at: int) -> None:
    with pytest.raises(ValueError, match="bytes at"):
        unpack_frame(Frame, 1, bytes(FRAME.size), at)


def test_a_channel_of_more_than_32_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        pack_frame(COMMON, Frame(1), 0, 0, 0, 2**32, 0, 0, 0, 0)


def jumbo(value: int, rows: int = 5) -> bytes:
    """Bytes like those of a jumbo tuple of so many rows."""
    return bytes(16) + rows.to_bytes(8, "little", signed=True) + bytes([value]) * 96


def message(
    seq: int,
    flags: int = 0,
    body: bytes = b"",
    length: int | None = None,
    channel: int = 7,
    credit: tuple[int, int, int] = (0, 0, 0),
    **fields: int,
) -> bytes:
    frame = Frame(fields.pop("kind", 1), None, sequence=seq, **fields)
    nbytes = len(body) if length is None else length
    made = pack_frame(COMMON, frame, flags, seq, seq + 4, channel, nbytes, *credit)
    return made + body + bytes(-len(body) & 7)


def run_of(packet: Any, at: int = 0, seq: int = 5, bodies: list[Any] | None = None) -> Any:
    return unpack_run(Frame, JumboTuple, True, packet, at, COMMON, seq, bodies or [])


def test_a_run_ends_where_the_numbers_do_not_go_on() -> None:
    packet = message(5) + message(6, body=jumbo(1)) + message(7, flags=1, length=120) + message(9)
    groups, end, count, nbytes, ack, used = run_of(memoryview(packet), bodies=[jumbo(2), jumbo(3)])
    assert (end, count, nbytes, ack, used) == (len(packet) - WHOLE.size, 3, 240, 11, 1)
    ((channel, flags, credit, frames),) = groups
    assert (channel, flags, credit) == (7, 0, (0, 0, 0))
    assert [each.sequence for each in frames] == [5, 6, 7]
    assert [each.payload and each.payload.root().tobytes() for each in frames] == [None, jumbo(1), jumbo(2)]


def test_frames_share_a_group_as_long_as_they_have_one_channel_and_neither_flags_nor_credit() -> None:
    parts = [
        message(5),
        message(6, body=jumbo(1)),
        message(7, channel=8),
        message(8, channel=8, credit=(3, 2, 1)),
        message(9, channel=8),
        message(10, channel=8, flags=4, body=jumbo(2)),
        message(11, channel=8, flags=2, rows=3),
        message(12, channel=8),
    ]
    groups, end, *_ = run_of(b"".join(parts))
    assert end == len(b"".join(parts))
    assert [
        (channel, flags, credit, [each.sequence for each in frames])
        for channel, flags, credit, frames in groups
    ] == [
        (7, 0, (0, 0, 0), [5, 6]),
        (8, 0, (0, 0, 0), [7]),
        (8, 0, (3, 2, 1), [8, 9]),
        (8, 4, (0, 0, 0), [10]),
        (8, 2, (0, 0, 0), [11]),
        (8, 0, (0, 0, 0), [12]),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        message(6, flags=8),
        message(6, flags=3),
        message(6, flags=2, body=b"12345678"),
        message(6, flags=2, kind=4),
        message(6, flags=1, length=120),
        message(6, length=1),
        message(6, length=2**32 - 1),
        message(6, body=jumbo(1), kind=4),
        message(6, body=b"few bytes"),
        message(6, rows=1),
        message(6, first=1),
        message(6, nbytes=2**30 + 1),
        message(6, body=jumbo(1), schema=1, rows=6),
        message(6, body=jumbo(1), schema=1, rows=1, first=5),
        message(6, body=jumbo(1), schema=1, rows=2**63 - 1, first=2**63 - 1),
        message(6, body=jumbo(1, rows=-1), schema=1),
        message(6, body=jumbo(1), rows=-1),
        message(6, body=jumbo(1), first=-1),
        message(6)[:-1],
        message(6)[:6] + b"\x10" + message(6)[7:],
        message(6)[:6] + b"\0" + message(6)[7:],
        b"?" + message(6)[1:],
        message(6)[:39] + b"?" + message(6)[40:],
        b"",
    ],
)
def test_what_must_be_looked_at_more_closely_is_in_no_run(wrong: bytes) -> None:
    _, end, count, *_ = run_of(message(5) + wrong, bodies=[bytes(30)])
    assert (count, end) == (1, WHOLE.size)


@pytest.mark.parametrize("at", [-1, 208, 2**40])
def test_a_run_that_begins_outside_its_packet_is_empty(at: int) -> None:
    assert run_of(message(5), at) == ([], at, 0, 0, 0, 0)


def test_only_the_first_message_of_a_packet_says_that_payloads_follow() -> None:
    followed = bytearray(message(5) + message(6))
    followed[7] |= 8
    assert run_of(followed)[2] == 2
    followed[WHOLE.size + 7] |= 8
    assert run_of(followed)[2] == 1


@pytest.mark.parametrize("at", [0, 1, 8])
@pytest.mark.parametrize("length", [10, 64, 200])
def test_a_received_jumbo_tuple_lies_where_it_came_unless_it_cannot_be_read_there(
    at: int, length: int
) -> None:
    whole = np.arange(512, dtype=np.uint8)
    whole = whole[-address_of(whole) % 64 :]
    made = received_jumbo(JumboTuple, True, whole[at : at + length].data)
    stays = at % 8 == 0 and length >= 64
    assert (made.address == address_of(whole) + at) == stays
    assert made.address == made.block.address == address_of(made.root())
    assert made.root()[:length].tolist() == whole[at : at + length].tolist()
    assert not made.root()[length:].any()
    assert made.nbytes == made.block.nbytes == len(made.root()) == max(length, 64)
    assert not made.root().flags.writeable


def test_received_bytes_live_as_long_as_any_array_over_them() -> None:
    packet = np.arange(256, dtype=np.uint8)
    of_packet = ref(packet)
    made = received_jumbo(JumboTuple, True, packet)
    of_block, view = ref(made.block), made.root()[100:196].view(np.int64)[2:]
    del made, packet
    assert of_block() is not None
    assert view.view(np.uint8).tolist() == list(range(116, 196))
    del view
    assert of_block() is None
    assert of_packet() is None


def test_the_payloads_behind_a_packet_are_found_by_their_lengths() -> None:
    parts = [message(5, flags=9, length=300), message(6, body=jumbo(1)), message(7, flags=1, length=2**31)]
    packet = b"".join(parts)
    assert following(packet) == [300, 2**30]
    assert following(packet[:-1]) == [300, 2**30]
    assert following(packet[: WHOLE.size + 63]) == [300]
    assert following(message(5, flags=1, length=300)) == []
    assert following(b"") == []


def test_the_frames_of_a_type_without_slots_are_packed_and_read_as_well() -> None:
    class Other:
        kind = 3

        def __init__(self) -> None:
            for number, name in enumerate(NAMES):
                setattr(self, name, number)

    packed = pack_frame(COMMON, Other(), 0, 1, 2, 3, 0, 0, 0, 0)
    assert FRAME.unpack_from(packed, HEAD.size)[: len(NAMES)] == tuple(range(len(NAMES)))
    again, _ = unpack_frame(type("Open", (), {}), 3, packed, HEAD.size)
    assert [getattr(again, name) for name in (*NAMES, "kind", "payload")] == [*range(len(NAMES)), 3, None]


def test_a_frame_without_a_field_is_refused() -> None:
    frame = Frame(1)
    del frame.rows
    with pytest.raises(AttributeError):
        pack_frame(COMMON, frame, 0, 0, 0, 0, 0, 0, 0, 0)
