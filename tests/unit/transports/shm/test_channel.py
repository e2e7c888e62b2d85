"""What the shared-memory channel does beyond the common rules: copies that must be, hoarding, ends that outlive."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.events.batch import Batch
from actorstream.events.jumbo import HeapBlock, decode, encode, from_bytes, to_bytes
from actorstream.events.schema import Schema
from actorstream.native.arena import Arena, Block
from actorstream.transports.base import Channel, Frame, FrameKind
from actorstream.transports.shm import ShmTransport

SCHEMA = Schema.from_dict({"number": "int"}, name="Number")
CHANNEL = Channel(0, 0, 1, 0, 0, slots=16)
PLAN = 77


class Pair:
    """Two workers in this process and one channel between them.

    channels: of the fabric, of which the first is `CHANNEL`."""

    def __init__(self, channels: int = 1) -> None:
        others = [Channel(number, 0, 1, 0, 0, slots=1, budget=1) for number in range(1, channels)]
        self.fabric = ShmTransport.fabric(2, [CHANNEL, *others], PLAN)
        self.producer = ShmTransport(self.fabric, 0)
        self.consumer = ShmTransport(self.fabric, 1)
        self.sender = self.producer.sender(CHANNEL)
        self.receiver = self.consumer.receiver(CHANNEL)

    def frame(self, first: int, rows: int = 8, arena: Arena | None = None) -> Frame:
        batch = Batch.of_columns(SCHEMA, {"number": np.arange(first, first + rows)})
        payload = encode([batch], arena or self.producer.arena, SCHEMA, PLAN)
        return Frame(FrameKind.DATA, payload, rows=rows, nbytes=payload.nbytes, schema=SCHEMA.fingerprint)

    def numbers(self) -> list[int]:
        frame = self.receiver.peek()
        assert frame is not None
        found = decode(SCHEMA, frame.payload)["number"].tolist()
        self.receiver.consume()
        return found

    def close(self) -> None:
        self.receiver.close()
        self.sender.close()
        self.fabric.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def test_a_payload_on_the_heap_is_copied_into_the_arena(pair: Pair) -> None:
    payload = from_bytes(to_bytes(Batch.of_columns(SCHEMA, {"number": np.arange(5)})), trusted=True)
    assert isinstance(payload.block, HeapBlock)
    assert pair.sender.send_nowait(Frame(FrameKind.DATA, payload, rows=5, nbytes=payload.nbytes))
    assert pair.numbers() == [0, 1, 2, 3, 4]


def test_a_block_of_a_foreign_arena_is_copied_into_the_own_one(pair: Pair) -> None:
    foreign = Arena.create(1 << 24, id=3)
    frame = pair.frame(10, arena=foreign)
    assert pair.sender.send_nowait(frame)
    assert frame.payload.block.arena_id == pair.producer.arena.id
    assert pair.numbers() == list(range(10, 18))


def test_bytes_that_are_not_trusted_stay_so_when_they_are_sent_on(pair: Pair) -> None:
    payload = from_bytes(to_bytes(Batch.of_columns(SCHEMA, {"number": np.arange(3)})))
    pair.sender.send_nowait(Frame(FrameKind.DATA, payload, rows=3, nbytes=payload.nbytes))
    pair.sender.send_nowait(pair.frame(0))
    seen = [pair.receiver.peek(ahead).payload.trusted for ahead in (0, 1)]  # type: ignore[union-attr]
    assert seen == [False, True]


@pytest.mark.parametrize(
    ("began", "arrives"),
    [(0, 0), (4_000_000, 5_000_000), (5_000_000, 5_000_000), (6_000_000, 6_000_000)],
    ids=["not yet", "before the last row came", "as the last row came", "later"],
)
def test_rows_that_were_taken_before_the_last_of_them_came_count_as_taken_when_it_came(
    pair: Pair, began: int, arrives: int
) -> None:
    frame = pair.frame(0)
    frame.min_entry, frame.max_entry, frame.began = 3_000_000, 5_000_000, began
    assert pair.sender.send_nowait(frame)
    arrived = pair.receiver.peek()
    assert arrived is not None and arrived.began == arrives


def test_a_refused_payload_is_not_copied(pair: Pair) -> None:
    while pair.sender.send_nowait(pair.frame(0)):
        pass
    gc.collect()
    before = pair.producer.arena.statistics().in_use
    payload = from_bytes(to_bytes(Batch.of_columns(SCHEMA, {"number": np.arange(3)})))
    assert not pair.sender.send_nowait(Frame(FrameKind.DATA, payload, rows=3, nbytes=payload.nbytes))
    assert pair.producer.arena.statistics().in_use == before


@pytest.mark.parametrize("at_once", [1, 16])
@pytest.mark.parametrize(("channels", "loans"), [(1, 4096), (2048, 512), (16_384, 64)])
def test_a_consumer_that_hoards_does_not_stop_its_producer(channels: int, loans: int, at_once: int) -> None:
    pair = Pair(channels)
    assert pair.fabric.layout.channels[0].returns == loans
    kept = []
    for number in range(0, 6000, at_once):  # more than there are loans
        for ahead in range(at_once):
            assert pair.sender.send_nowait(pair.frame(number + ahead, rows=1))
            kept.append(pair.receiver.peek(ahead))
        if at_once > 1:
            pair.receiver.consume_run(at_once)
        else:
            pair.receiver.consume()
        pair.sender.poll()
    assert {type(frame.payload.block) for frame in kept if frame} == {Block, HeapBlock}
    found = [int(decode(SCHEMA, frame.payload)["number"][0]) for frame in kept if frame]
    assert found == list(range(6000))
    kept.clear()
    for number in range(300):
        assert pair.sender.send_nowait(pair.frame(number, rows=1))
        assert pair.numbers() == [number]
        pair.sender.poll()
    pair.sender.send_nowait(pair.frame(0))
    assert isinstance(pair.receiver.peek().payload.block, Block)  # type: ignore[union-attr]
    pair.close()


def test_a_sender_that_closed_does_not_take_unread_blocks_away(pair: Pair) -> None:
    for number in range(3):
        pair.sender.send_nowait(pair.frame(number))
    pair.sender.send_nowait(Frame(FrameKind.END))
    pair.sender.close()
    arena = pair.producer.arena
    again = [arena.allocate(4096) for _ in range(50)]  # would land in the unread blocks if they were free
    for block in again:
        block.view()[:] = 255
    assert [pair.numbers()[0] for _ in range(3)] == [0, 1, 2]
    assert pair.sender.statistics()["sent"] == 4


def test_a_receiver_that_closes_gives_unread_blocks_back(pair: Pair) -> None:
    for number in range(3):
        pair.sender.send_nowait(pair.frame(number))
    pair.receiver.peek(1)
    pair.receiver.close()
    pair.sender.poll()
    assert pair.sender.statistics()["loans"] == 0
    assert pair.producer.arena.statistics().in_use == 0
    with pytest.raises(BrokenError):
        pair.sender.send_nowait(Frame(FrameKind.END))


def test_a_frame_of_an_unknown_arena_breaks_the_channel(pair: Pair) -> None:
    foreign = Arena.create(1 << 24, id=3)
    block = pair.frame(0, arena=foreign).payload.block
    from actorstream.native.channel import Entry

    pair.sender._ring.send(Entry(bytes=100, rows=8), block)
    with pytest.raises(BrokenError, match="arena 0x3"):
        pair.receiver.peek()


def test_a_worker_of_another_plan_cannot_open_a_channel(pair: Pair) -> None:
    pair.fabric.plan = 78
    stranger = ShmTransport(pair.fabric, 0)
    with pytest.raises(BrokenError, match="another plan"):
        stranger.sender(CHANNEL)


async def test_a_worker_of_another_plan_does_not_start(pair: Pair) -> None:
    pair.fabric.plan = 78
    stranger = ShmTransport(pair.fabric, 0)
    with pytest.raises(ConfigurationError, match="same plan"):
        await stranger.start()


def test_an_end_whose_bit_the_doorbell_does_not_have_is_not_opened(pair: Pair) -> None:
    beyond = pair.fabric.layout.bits
    message = f"channel 0: doorbell bit {beyond} is not one of.*allowed: 0 to {beyond - 1}"
    with pytest.raises(ConfigurationError, match=message):
        pair.producer.sender(Channel(0, 0, 1, beyond, 0))
    with pytest.raises(ConfigurationError, match=message):
        pair.consumer.receiver(Channel(0, 0, 1, 0, beyond))


def test_an_unknown_option_of_the_fabric_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'arena_bytes'"):
        ShmTransport.fabric(1, [], PLAN, arena_byte=1)


def test_consuming_nothing_is_an_error(pair: Pair) -> None:
    with pytest.raises(IndexError, match="nothing waits"):
        pair.receiver.consume()


def test_a_full_arena_says_what_uses_it() -> None:
    from actorstream.errors import ResourceError

    fabric = ShmTransport.fabric(1, [], PLAN, arena_bytes=1 << 20)
    worker = ShmTransport(fabric, 0)
    with pytest.raises(ResourceError, match="limit 1048576"):
        worker.arena.allocate(2 << 20)
    fabric.close()
