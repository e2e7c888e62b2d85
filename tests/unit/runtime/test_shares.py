"""An edge by key gives each consumer the rows of its keys, in order, whichever way they go: straight from the columns of a batch
to another process, or as a batch of their own."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.fields import WATERMARK
from actorstream.events.jumbo import decode, encode
from actorstream.events.schema import Schema
from actorstream.plan.edge_schemas import EdgeSchemas
from actorstream.runtime.framing import Framing
from actorstream.runtime.output import RoutedEdge
from actorstream.runtime.routing import make_router
from actorstream.runtime.send_lane import SendLane
from actorstream.transports.base import Channel, Frame, ReceiveChannel, SendChannel
from actorstream.transports.local import local_channel
from actorstream.transports.shm import ShmTransport

PLAN, CONSUMERS, BATCH_SIZE = 77, 3, 500


class Row(Event):
    """A number, and the key that says who gets it."""

    number: int
    key: str


class Wide(Event):
    """Rows of which some fields go on."""

    key: str
    more: float
    number: int


SCHEMA = Schema.of(Row)
SCHEMAS = EdgeSchemas(SCHEMA, SCHEMA.with_system((WATERMARK,)))
"""As of an edge to a consumer that looks at watermarks."""


class Bell:
    def ring(self, bit: int) -> None:
        """Nobody waits for it."""


class Bench:
    """A producer with a consumer in its own process and two in another one."""

    def __init__(self, slots: int) -> None:
        channels = [Channel(number, 0, 1, number, number, slots=slots) for number in range(CONSUMERS - 1)]
        self.fabric = ShmTransport.fabric(2, channels, PLAN)
        self.producer, self.consumer = ShmTransport(self.fabric, 0), ShmTransport(self.fabric, 1)
        own, self.local = local_channel(Channel(9, 0, 0, 1, 2, slots=slots), Bell(), Bell())
        self.senders: list[SendChannel] = [own, *map(self.producer.sender, channels)]
        self.receivers: list[ReceiveChannel] = [self.local, *map(self.consumer.receiver, channels)]
        self.blocked: list[SendLane] = []
        self.lanes = [self.lane(sender) for sender in self.senders]
        self.router = make_router("key", ("key",), 0, CONSUMERS, key_groups=64, batch_size=BATCH_SIZE)
        self.edge = RoutedEdge(
            make_router("key", ("key",), 0, CONSUMERS, key_groups=64, batch_size=BATCH_SIZE), self.lanes
        )
        self.expected: list[list[int]] = [[] for _ in range(CONSUMERS)]
        self.came: list[list[int]] = [[] for _ in range(CONSUMERS)]
        self.entered: set[tuple[int, int]] = set()
        self.behind: list[int] = []
        """Numbers of the rows that came with a watermark from another process."""

    def lane(self, sender: SendChannel) -> SendLane:
        remote = sender is not self.senders[0]
        framing = Framing(
            self.producer.arena if remote else None,
            encodes=remote,
            schemas=SCHEMAS,
            plan=PLAN,
            producer=0,
            unfit=lambda error: OperatorError("op", 0, str(error)),
        )
        return SendLane(sender, framing, batch_size=BATCH_SIZE, on_blocked=self.blocked.append)

    def push(self, batch: Batch) -> None:
        batch.entry_min, batch.entry_max = 5, 6
        for consumer, part in self.router(batch):
            self.expected[consumer] += part["number"].tolist()
        self.edge.push(batch)

    def take(self) -> None:
        """Takes all that was sent, and lets what waited follow."""
        for lane, receiver, came in zip(self.lanes, self.receivers, self.came):
            lane.clear()
            while (frame := receiver.peek()) is not None:
                came += self.rows(frame)["number"].tolist()
                self.entered.add((frame.min_entry, frame.max_entry))
                receiver.consume()
                lane.clear()

    def rows(self, frame: Frame) -> Batch:
        if isinstance(frame.payload, Batch):
            return frame.payload
        batch = decode(SCHEMAS.of(frame.schema), frame.payload)
        if WATERMARK in batch.carried():
            assert (batch.system[WATERMARK].data == batch["number"] + 1).all()
            self.behind += batch["number"].tolist()
        return batch

    def close(self) -> None:
        for end in (*self.receivers, *self.senders):
            end.close()
        gc.collect()
        self.fabric.close()


@pytest.fixture(params=[2, 64], ids=["few slots", "many slots"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(request.param)
    yield made
    made.close()


def columns(first: int, count: int) -> Batch:
    numbers = np.arange(first, first + count)
    return Batch.of_columns(Row, {"number": numbers, "key": [f"key {number % 97}" for number in numbers]})


def jumbo(first: int, count: int) -> Batch:
    return decode(SCHEMA, encode([columns(first, count)], None, SCHEMA, PLAN))


def events(first: int, count: int) -> Batch:
    return Batch.of_events(Row, columns(first, count).events())


def picked(first: int, count: int) -> Batch:
    """A filter's output: it takes every other row of a part of a batch, and leaves a field out."""
    numbers = np.arange(first - 5, first + 2 * count)
    keys = [f"key {number % 97}" for number in numbers]
    wide = Batch.of_columns(Wide, {"key": keys, "more": numbers / 2, "number": numbers})
    return wide.slice(3, 2 * count).take(np.arange(count) * 2).with_columns(event=Row)


def looked_at(first: int, count: int) -> Batch:
    """The same after somebody has read a column of it."""
    batch = picked(first, count)
    assert len(batch["number"]) == count
    return batch


def half_made(first: int, count: int) -> Batch:
    """The same with a column of its own."""
    return picked(first, count).with_columns(number=np.arange(count) + first)


FORMS: dict[str, Callable[[int, int], Batch]] = {
    "columns": columns,
    "a run": lambda first, count: columns(first - 3, count + 3).slice(3, count),
    "a selection": lambda first, count: columns(first, 2 * count).take(np.arange(count)),
    "bytes": jumbo,
    "a run of bytes": lambda first, count: jumbo(first - 3, count + 3).slice(3, count),
    "events": events,
    "other columns": lambda first, count: columns(first, count).with_columns(number=np.arange(count)),
    "a run with a system column": lambda first, count: (
        columns(first - 3, count + 3).slice(3, count).with_system(_position=np.arange(count))
    ),
    "picked": picked,
    "picked and looked at": looked_at,
    "picked, with a column of its own": half_made,
}


@pytest.mark.parametrize("form", FORMS)
def test_each_consumer_gets_the_rows_of_its_keys_in_order(bench: Bench, form: str) -> None:
    for number, count in enumerate((300, 1, 7, 450, 2, 1000, 64)):
        bench.push(FORMS[form](1000 * number + 10, count))
        if number % 3 == 2:
            bench.take()
    bench.take()
    assert bench.came == bench.expected
    assert all(bench.came)
    assert bench.entered == {(5, 6)}


def test_rows_behind_their_watermark_bring_it_along_and_others_do_not(bench: Bench) -> None:
    for number, count in enumerate((300, 7, 450, 64)):
        batch = columns(1000 * number, count)
        if number % 2:
            batch = batch.with_system(_watermark=batch["number"] + 1)
        bench.push(batch.take(np.arange(0, count, 2)) if number == 3 else batch)
        bench.take()
    assert bench.came == bench.expected
    late = [*range(1000, 1007), *range(3000, 3064, 2)]
    elsewhere = {number for came in bench.came[1:] for number in came}
    assert sorted(bench.behind) == [number for number in late if number in elsewhere]
    assert bench.behind


def test_rows_of_one_key_go_to_one_consumer_and_none_to_the_others(bench: Bench) -> None:
    rows = columns(0, 200)
    for key in range(5):
        one = Batch.of_columns(Row, {"number": rows["number"], "key": [f"key {key}"] * 200})
        bench.push(one)
        bench.take()
    assert bench.came == bench.expected
    assert sum(map(len, bench.came)) == 1000


def test_a_key_that_is_no_text_is_an_error_that_sends_nothing(bench: Bench) -> None:
    wrong = Batch.of_columns(Schema.from_dict({"number": "int"}, name="Other"), {"number": np.arange(5)})
    with pytest.raises(Exception, match="Other"):
        bench.edge.push(wrong)
    assert all(receiver.peek() is None for receiver in bench.receivers)
