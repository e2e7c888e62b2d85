"""The bytes of frames that C makes and reads are those that transports/network/message.py draws."""

from __future__ import annotations

import random

import pytest

from actorstream.native.frames import pack_frame, unpack_frame, unpack_run
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


def message(seq: int, flags: int = 0, body: bytes = b"", length: int | None = None) -> bytes:
    made = pack_frame(
        COMMON, Frame(1, sequence=seq), flags, seq, 9, 7, len(body) if length is None else length, 3, 2, 1
    )
    return made + body + bytes(-len(body) & 7)


def test_a_run_ends_where_the_numbers_do_not_go_on() -> None:
    packet = message(5) + message(6, body=b"twelve bytes") + message(7, flags=1, length=99) + message(9)
    run, end = unpack_run(Frame, memoryview(packet), 0, COMMON, 5)
    assert end == len(packet) - WHOLE.size
    assert [(frame.sequence, *rest) for frame, *rest in run] == [
        (5, 0, 7, 9, (3, 2, 1), WHOLE.size, 0),
        (6, 0, 7, 9, (3, 2, 1), 2 * WHOLE.size, 12),
        (7, 1, 7, 9, (3, 2, 1), 3 * WHOLE.size + 16, 99),
    ]
    assert packet[2 * WHOLE.size :][:12] == b"twelve bytes"


@pytest.mark.parametrize(
    "wrong",
    [
        message(6, flags=8),
        message(6, flags=3),
        message(6, flags=2, body=b"12345678"),
        message(6, length=1),
        message(6, length=2**32 - 1),
        message(6)[:-1],
        message(6)[:6] + b"\x10" + message(6)[7:],
        message(6)[:6] + b"\0" + message(6)[7:],
        b"?" + message(6)[1:],
        message(6)[:39] + b"?" + message(6)[40:],
        b"",
    ],
)
def test_what_must_be_looked_at_more_closely_is_in_no_run(wrong: bytes) -> None:
    run, end = unpack_run(Frame, message(5) + wrong, 0, COMMON, 5)
    assert (len(run), end) == (1, WHOLE.size)


@pytest.mark.parametrize("at", [-1, 208, 2**40])
def test_a_run_that_begins_outside_its_packet_is_empty(at: int) -> None:
    assert unpack_run(Frame, message(5), at, COMMON, 5) == ([], at)
