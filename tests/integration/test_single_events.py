"""Single events between processes go by themselves where they can: order, values, ends and errors stay as they are."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.connectors.sink import Sink
from actorstream.connectors.source import Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.topology.builder import Topology

DEPLOYMENTS = [
    pytest.param({}, id="park"),
    pytest.param({"wait": "spin"}, id="spin"),
    pytest.param({"edge_bytes": 1, "batch_size": 2}, id="one-jumbo"),
]
EVERYWHERE = pytest.mark.parametrize("deploy", DEPLOYMENTS)
APART: dict[str, Any] = {"transport": "shm", "workers": 2, "placement": "round-robin", "pipelining": False}
COUNT = 300


class Item(Event):
    number: int
    weight: float
    name: str


class Maybe(Event):
    number: int
    name: str | None


def item(number: int) -> Item:
    """Every seventh is too long to go by itself."""
    return Item(number, number / 8, "long " * 40 if number % 7 == 3 else "ü" * (number % 9))


def maybe(number: int) -> Maybe:
    return Maybe(number, None if number % 3 else "there")


def word(path: Path) -> memoryview:
    """Shared memory: how many events the sink has seen. Shape (1,), int64."""
    with path.open("a+b") as file:
        file.truncate(8)
        return memoryview(mmap.mmap(file.fileno(), 8)).cast("q")


class Singles(Source):
    """One event at a time, each as soon as the sink has seen the last; now and then several at once, or none."""

    def __init__(self, seen: str, count: int = COUNT) -> None:
        self.seen, self.count, self.sent = word(Path(seen)), count, 0

    def made(self, number: int) -> Any:
        return item(number)

    def read(self, max_rows: int) -> Batch | None:
        schema = self.outputs["default"]
        if self.seen[0] < self.sent and self.sent % 50:  # now and then it does not wait
            return Batch.of_events(schema, [])
        if self.sent >= self.count:
            return None
        rows = 3 if self.sent % 10 == 9 else 1
        first, self.sent = self.sent, self.sent + rows
        return Batch.of_events(schema, [self.made(number) for number in range(first, first + rows)])

    outputs: ClassVar[dict[str, Any]] = {"default": Item}


class Alone(Singles):
    """Single events are answered as they are."""

    def read(self, max_rows: int) -> Any:
        made = super().read(max_rows)
        return made.events()[0] if made is not None and made.rows == 1 else made


class MaybeSingles(Singles):
    outputs: ClassVar[dict[str, Any]] = {"default": Maybe}

    def made(self, number: int) -> Any:
        return maybe(number)


class Keep(Sink):
    """Keeps what it gets, in order, and says how much that is."""

    contract = Contract(one_stream=True, destination="caller")

    def __init__(self, seen: str, fails_at: int | None = None) -> None:
        self.seen, self.fails_at = word(Path(seen)), fails_at
        self.rows: list[tuple[Any, ...]] = []

    def on_event(self, event: Event) -> None:
        row = msgspec.structs.astuple(event)
        if row[0] == self.fails_at:
            raise ValueError(f"number {row[0]}")
        self.rows.append(row)
        self.seen[0] = len(self.rows)

    def collected(self) -> list[bytes]:
        return [msgspec.msgpack.encode(self.rows)]

    @classmethod
    def decode_collected(cls, schema: Schema, parts: list[bytes]) -> list[Any]:
        return [tuple(row) for part in parts for row in msgspec.msgpack.decode(part)]


class Twice(Actor):
    """Each event, and once more under a negative number."""

    def on_event(self, event: Item) -> Iterator[Item]:
        yield event
        yield Item(-event.number - 1, event.weight, event.name)


class KeepBatches(Keep):
    """The same by batches."""

    on_event = None  # type: ignore[assignment]

    def on_batch(self, batch: Batch) -> None:
        for event in batch.events():
            Keep.on_event(self, event)


@EVERYWHERE
@pytest.mark.parametrize(("source", "keep"), [(Singles, Keep), (Singles, KeepBatches), (Alone, Keep)])
def test_single_events_arrive_in_order_among_batches(
    deploy: dict[str, Any], keep: type[Keep], source: type[Singles], tmp_path: Path
) -> None:
    seen = str(tmp_path / "seen")
    topology = Topology("singles")
    topology.source(source, seen=seen).shuffle().into(keep, name="kept", seen=seen)
    result = topology.run(**APART, **deploy)
    sent = result.report["events_in"]["kept"]
    assert sent >= COUNT
    assert result["kept"] == [msgspec.structs.astuple(item(number)) for number in range(sent)]
    assert sum(result.report["latency_ms"].values()) > 0
    assert result.report["events_out"][source.__name__.lower()] == sent


@EVERYWHERE
def test_single_events_with_nulls_arrive_in_order(deploy: dict[str, Any], tmp_path: Path) -> None:
    seen = str(tmp_path / "seen")
    topology = Topology("nulls")
    topology.source(MaybeSingles, seen=seen).shuffle().into(Keep, name="kept", seen=seen)
    result = topology.run(**APART, **deploy)
    sent = result.report["events_in"]["kept"]
    assert result["kept"] == [msgspec.structs.astuple(maybe(number)) for number in range(sent)]


def test_operators_pass_single_events_on_from_worker_to_worker(tmp_path: Path) -> None:
    seen = str(tmp_path / "seen")
    topology = Topology("chain")
    stream = topology.source(Singles, seen=seen).shuffle().through(Twice)
    stream.shuffle().into(Keep, name="kept", seen=seen)
    result = topology.run(**{**APART, "workers": 3})
    sent = result.report["events_in"]["twice"]
    found = [row[0] for row in result["kept"]]
    assert found == [each for number in range(sent) for each in (number, -number - 1)]


@pytest.mark.parametrize(("source", "deploy"), [(Singles, {}), (Alone, {"wait": "spin"})])
def test_a_hook_that_raises_on_a_single_event_names_it(
    deploy: dict[str, Any], source: type[Singles], tmp_path: Path
) -> None:
    seen = str(tmp_path / "seen")
    topology = Topology("raises")
    topology.source(source, seen=seen).shuffle().into(Keep, name="kept", seen=seen, fails_at=5)
    with pytest.raises(OperatorError, match="number 5") as raised:
        topology.run(**APART, **deploy)
    assert "Item(number=5" in raised.value.event


class Strangers(Alone):
    """Answers one event of another class than it says."""

    def made(self, number: int) -> Any:
        return maybe(number) if number == 2 else item(number)


def test_an_event_of_another_class_than_the_source_says_is_refused_by_name(tmp_path: Path) -> None:
    seen = str(tmp_path / "seen")
    topology = Topology("strangers")
    topology.source(Strangers, seen=seen).shuffle().into(Keep, name="kept", seen=seen)
    with pytest.raises(OperatorError, match="Maybe") as raised:
        topology.run(**APART)
    assert raised.value.actor == "strangers"


def test_a_live_source_may_answer_one_event(tmp_path: Path) -> None:
    class Live(Alone):
        async def read(self, max_rows: int) -> Any:
            return super().read(max_rows)

    seen = str(tmp_path / "seen")
    topology = Topology("live")
    topology.source(Live, seen=seen, count=20).shuffle().into(Keep, name="kept", seen=seen)
    result = topology.run(workers=1)
    sent = result.report["events_in"]["kept"]
    assert sent >= 20
    assert result["kept"] == [msgspec.structs.astuple(item(number)) for number in range(sent)]
