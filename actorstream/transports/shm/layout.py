"""Where things lie in the control memory of a fabric. Offsets only; it maps nothing.

    0      fabric header: magic u32 | version u32 | workers u32 | channels u32 | plan u64 | total bytes u64
    64     worker lines, 64 bytes each: pid u32 | state u32 (0 absent, 1 runs, 2 left)
    ...    doorbells, one a worker (doorbell.h)
    ...    channels: a line of 64 bytes, sender's state u32 (0 never opened, 1 open, 2 closed), which ends where the ring
           begins (channel.h): at a multiple of 128, so that its sender's and its receiver's line are in no pair of lines

Worker and channel lines have one writer each, the worker they belong to.
"""

from __future__ import annotations

import struct

import msgspec

from actorstream.native.channel import channel_size
from actorstream.native.doorbell import Doorbell
from actorstream.native.line import LINE
from actorstream.transports.base import Channel

HEADER = struct.Struct("<IIIIQQ")
MAGIC = 0x46535341  # "ASSF"
VERSION = 1
ABSENT, RUNS, LEFT = 0, 1, 2
UNOPENED, OPEN, CLOSED = 0, 1, 2
LEAST_RETURNS = 4096
"""Loans that a consumer can keep at least, where channels are few; beyond half of them received jumbo tuples are copied."""
ALL_RETURNS = 1 << 20
"""Loans of all channels, of which each has an equal share where they are many, but `FEWEST_RETURNS` at least. A loan takes 4
bytes of control memory, and 12 of its producer."""
FEWEST_RETURNS = 64


def power_of_two(least: int) -> int:
    """The smallest power of two that is not below `least`."""
    return 1 << (max(least, 1) - 1).bit_length()


def aligned(offset: int) -> int:
    """The next offset that shares no cache line, nor the pair that is fetched together, with what lies before."""
    return -(-offset // 128) * 128


class ChannelPlace(msgspec.Struct, frozen=True):
    """A channel's line, its ring behind the line, and the ring's dimensions."""

    line: int
    ring: int
    slots: int
    returns: int
    frontiers: int


class ControlLayout(msgspec.Struct, frozen=True):
    """Offsets in the control memory of all that the plan needs."""

    size: int
    bits: int
    bells: tuple[int, ...]
    channels: dict[int, ChannelPlace]

    @classmethod
    def of(cls, workers: int, channels: list[Channel], bits: int) -> ControlLayout:
        """Lays out doorbells of `bits` bits for the workers, and the channels."""
        at = aligned(LINE + LINE * workers)
        bell = aligned(Doorbell.size(bits))
        bells = tuple(at + bell * worker for worker in range(workers))
        at += bell * workers
        places = {}
        least = min(LEAST_RETURNS, max(FEWEST_RETURNS, ALL_RETURNS // max(len(channels), 1)))
        for channel in channels:
            slots = power_of_two(channel.slots)
            returns = power_of_two(max(4 * slots, least))
            ring = aligned(at + LINE)
            places[channel.id] = ChannelPlace(ring - LINE, ring, slots, returns, channel.frontiers)
            at = aligned(ring + channel_size(slots, returns, channel.frontiers))
        return cls(at, bits, bells, places)

    def worker_line(self, worker: int) -> int:
        """Offset of a worker's line."""
        return LINE + LINE * worker
