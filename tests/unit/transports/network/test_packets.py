"""Messages travel in packets: several small frames in one, large payloads behind it, and each is taken in once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from actorstream.errors import ConfigurationError
from actorstream.events.batch import Batch
from actorstream.events.jumbo import JumboTuple, encode
from actorstream.events.schema import Schema
from actorstream.native.arena import Arena
from actorstream.native.frames import following
from actorstream.testing.transport.check import pipes
from actorstream.transports.base import Channel, Frame, FrameKind
from actorstream.transports.network.exchange import Exchange
from actorstream.transports.network.send_channel import NetworkSendChannel

INLINE, PACKET_BYTES, FOLLOWING_BYTES = 16 << 10, 64 << 10, 256 << 10
SCHEMA = Schema.from_dict({"value": "int"}, name="Value")
CHANNELS = pipes((0, 1), (1, 0), slots=256, budget=16 << 20)


class Network:
    workers, plan, secret = 2, 1, b"secret"
    channels = {each.id: each for each in CHANNELS}  # noqa: RUF012


class Queue:
    """A port to another one in this process; `lossy`: what is sent is lost, as with a connection that is cut."""

    descriptor, is_drained = None, False
    inline, packet_bytes, following_bytes = INLINE, PACKET_BYTES, FOLLOWING_BYTES

    def __init__(self) -> None:
        self.other, self.lossy = self, False
        self.come: deque[tuple[Any, Sequence[Any]]] = deque()
        self.sent: list[tuple[bytes, int]] = []

    def send(self, peer: int, packet: bytes, bodies: Sequence[memoryview]) -> None:
        self.sent.append((packet, len(bodies)))
        if not self.lossy:
            self.other.come.append((memoryview(packet), bodies))

    def receive(self, *, expected: bool = False) -> tuple[Any, Sequence[Any]] | None:
        return self.come.popleft() if self.come else None


class Pair:
    """Two workers of one event loop that have greeted. `loses_greeting`: that of the first one is lost."""

    def __init__(self, *, loses_greeting: bool = False) -> None:
        self.ports = Queue(), Queue()
        self.ports[0].other, self.ports[1].other = self.ports[1], self.ports[0]
        self.ends = [Exchange(Network(), worker, self.ports[worker], trusted=False) for worker in (0, 1)]
        self.arena = Arena.create(1 << 26, 1)
        self.ports[0].lossy = loses_greeting
        for worker in (0, 1):
            self.ends[worker].greet(1 - worker)
        for end in self.ends * 2:
            end.poll()
        self.ports[0].lossy = False
        self.sender = self.ends[0].sender(CHANNELS[0])
        self.receiver = self.ends[1].receiver(CHANNELS[0])
        self.packets = len(self.ports[0].sent)

    def send(self, number: int, nbytes: int, sender: NetworkSendChannel | None = None) -> None:
        values = np.arange(nbytes // 8 - 16) + number
        jumbo = encode([Batch.of_columns(SCHEMA, {"value": values})], self.arena, SCHEMA)
        assert (sender or self.sender).send_nowait(
            Frame(
                FrameKind.DATA,
                jumbo,
                rows=jumbo.rows,
                nbytes=jumbo.nbytes,
                schema=SCHEMA.fingerprint,
                sequence=number,
            )
        )

    def received(self) -> list[int]:
        """The numbers of the frames that have come, whose rows must be those that were sent."""
        self.ends[1].poll()
        return self.taken()

    def taken(self) -> list[int]:
        """The numbers of the frames that were taken in."""
        found = []
        while (frame := self.receiver.peek()) is not None:
            assert isinstance(frame.payload, JumboTuple)
            column = frame.payload.column(SCHEMA, 0, frame.first, frame.rows).data
            assert np.array_equal(column, np.arange(frame.rows) + frame.sequence)
            found.append(frame.sequence)
            self.receiver.consume()
        return found

    def new_packets(self) -> list[tuple[bytes, int]]:
        return self.ports[0].sent[self.packets :]

    def close(self) -> None:
        for end in self.ends:
            end.close()


@pytest.fixture
async def pair() -> Any:
    made = Pair()
    yield made
    made.close()


async def test_a_frame_for_a_consumer_that_waits_is_sent_at_once(pair: Pair) -> None:
    pair.send(0, 1024)
    assert len(pair.new_packets()) == 1
    assert pair.received() == [0]


async def test_a_frame_that_takes_a_promise_with_it_is_sent_though_nobody_looks_at_the_doorbell(
    pair: Pair,
) -> None:
    pair.send(0, 1024)
    await asyncio.sleep(0)
    pair.sender.advance(0, 5, ring=False)
    pair.send(1, 1024)
    assert len(pair.new_packets()) == 1
    await asyncio.sleep(0)
    assert len(pair.new_packets()) == 2
    assert pair.received() == [0, 1]
    assert pair.receiver.frontier(0) == 5


async def test_a_worker_that_has_waited_takes_one_packet_and_the_others_before_it_sleeps_again(
    pair: Pair,
) -> None:
    for number in range(20):
        pair.send(number, 4096)
    pair.ends[0].poll()
    assert len(pair.ends[1].first()) == 1
    assert pair.taken() == [0]
    pair.ends[1].rest()
    assert pair.taken() == list(range(1, 20))


async def test_a_worker_that_sleeps_leaves_to_the_descriptor_what_comes_after_an_empty_look(
    pair: Pair,
) -> None:
    port = pair.ports[1]
    port.is_drained = True
    pair.send(0, 1024)
    pair.ends[1].rest()
    assert pair.taken() == []
    assert pair.received() == [0]


async def test_frames_for_a_consumer_that_has_work_share_packets_and_come_in_order(pair: Pair) -> None:
    for number in range(65):
        pair.send(number, 4096)
    pair.ends[0].poll()
    packets = pair.new_packets()
    assert len(packets) == 5  # the first frame, then sixteen at a time
    assert all(len(packet) <= PACKET_BYTES + INLINE for packet, _ in packets)
    assert pair.received() == list(range(65))


@pytest.mark.parametrize("size", [64 << 10, 100 << 10, 1 << 20])
async def test_large_payloads_follow_their_packet_from_where_they_lie(pair: Pair, size: int) -> None:
    for number in range(9):
        pair.send(number, size)
    pair.ends[0].poll()
    assert sum(bodies for _, bodies in pair.new_packets()) == 9
    for packet, bodies in pair.new_packets():
        assert len(following(packet)) == bodies
    assert pair.received() == list(range(9))


async def test_small_and_large_frames_mix_in_a_packet(pair: Pair) -> None:
    sizes = [4096, 64 << 10, 2048, 200 << 10, 136, 64 << 10, 9000]
    for number, size in enumerate(sizes):
        pair.send(number, size)
    pair.ends[0].poll()
    assert pair.received() == list(range(len(sizes)))


async def test_a_mark_takes_the_frames_before_it_along(pair: Pair) -> None:
    pair.send(0, 1024)
    pair.send(1, 1024)
    pair.sender.send_nowait(Frame(FrameKind.END))
    assert len(pair.new_packets()) == 2
    pair.ends[1].poll()
    kinds = []
    while (frame := pair.receiver.peek()) is not None:
        kinds.append(frame.kind)
        pair.receiver.consume()
    assert kinds == [FrameKind.DATA, FrameKind.DATA, FrameKind.END]


async def test_packets_of_a_cut_connection_are_sent_again_and_taken_in_once(pair: Pair) -> None:
    for number in range(40):
        pair.ports[0].lossy = number >= 17
        pair.send(number, 4096)
    pair.ends[0].poll()
    assert pair.received() == list(range(17))
    pair.ports[0].lossy = False
    pair.ends[0].links[1].resend()
    assert pair.received() == list(range(17, 40))


async def test_what_comes_while_a_packet_is_gathered_is_acknowledged_behind_it(pair: Pair) -> None:
    back = pair.ends[1].sender(CHANNELS[1])
    for number in range(2):
        pair.send(number, 1024, back)  # the second one waits for more
    pair.send(0, 1024)
    pair.ends[1].poll()
    pair.ends[1].flush(now=True)
    pair.ends[0].poll()
    assert pair.ends[0].links[1].unacknowledged == 0


async def test_what_overtakes_a_greeting_that_was_lost_is_taken_in_when_it_is_sent_again() -> None:
    pair = Pair(loses_greeting=True)
    for number, nbytes in enumerate((1024, 64 << 10, 4096)):
        pair.send(number, nbytes)
    pair.ends[0].poll()
    assert pair.received() == []
    assert not pair.ends[1].links[0].lost
    pair.ends[0].greet(1)
    pair.ends[0].links[1].resend()
    assert pair.received() == [0, 1, 2]
    pair.close()


async def test_a_payload_too_many_behind_a_packet_loses_the_peer(pair: Pair) -> None:
    pair.send(0, 64 << 10)
    packet, bodies = pair.ports[1].come.pop()
    pair.ports[1].come.append((packet, [*bodies, memoryview(bytes(8))]))
    pair.ends[1].poll()
    assert "payloads behind" in pair.ends[1].links[0].lost


async def test_an_end_whose_bit_the_doorbell_does_not_have_is_not_opened(pair: Pair) -> None:
    beyond = pair.ends[0].bell.bits
    message = f"end of channel 7: doorbell bit {beyond} is not one of.*allowed: 0 to {beyond - 1}"
    with pytest.raises(ConfigurationError, match=message):
        pair.ends[0].sender(Channel(7, 0, 1, beyond, 0))
    with pytest.raises(ConfigurationError, match=message):
        pair.ends[0].receiver(Channel(7, 1, 0, 0, beyond))
