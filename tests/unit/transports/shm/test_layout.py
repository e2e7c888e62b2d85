"""The control memory of a plan: where its rings begin, and what many channels take."""

from __future__ import annotations

from itertools import pairwise

import pytest

from actorstream.native.channel import channel_size, lay_out_channel
from actorstream.native.memory import ControlMemory
from actorstream.transports.base import Channel
from actorstream.transports.shm.layout import ControlLayout


def channels(count: int) -> list[Channel]:
    return [Channel(number, 0, 1, number, number, slots=16, budget=4 << 20) for number in range(count)]


def test_the_lines_of_a_sender_and_of_a_receiver_lie_in_no_pair_of_lines() -> None:
    """Processors fetch lines of 64 bytes in pairs; channel.h says that a ring begins at such a pair."""
    layout = ControlLayout.of(3, channels(5), 70)
    places = layout.channels.values()
    assert [place.ring % 128 for place in places] == [0] * 5
    assert all(place.line + 64 <= place.ring for place in places)
    sizes = [channel_size(place.slots, place.returns, place.frontiers) for place in places]
    ends = sorted((place.line, place.ring + size) for place, size in zip(places, sizes))
    assert all(end <= line for (_, end), (line, _) in pairwise(ends))


def test_a_ring_that_does_not_begin_at_a_pair_of_lines_is_refused() -> None:
    memory = ControlMemory(1 << 16)
    with pytest.raises(ValueError):
        lay_out_channel(memory, 64, 4, 8, 1, 1)
    lay_out_channel(memory, 128, 4, 8, 1, 1)
    memory.close()


def test_a_channel_takes_less_where_there_are_many() -> None:
    few, many = ControlLayout.of(2, channels(4), 64), ControlLayout.of(2, channels(128 * 128), 64)
    assert few.channels[0].returns == 4096
    assert many.channels[0].returns == 64
    assert many.size < 128 * 128 * 3000
