"""The bytes of frames that C makes and reads are those that transports/network/message.py draws."""

from __future__ import annotations

import random

import pytest

from actorstream.native.frames import pack_frame, unpack_frame
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
