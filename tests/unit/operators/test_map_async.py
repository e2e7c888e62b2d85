"""map-async: many calls in flight over real sockets, results in the order of the events, bounded, and cancelled."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream import Event, MapAsync, Topology, map_async
from actorstream.errors import ConfigurationError, OperatorError
from actorstream.events.event import EventTime
from actorstream.plan.compile import read_job
from tests.integration.parts import Collect, Number, Numbers

TOTAL = 200


class Answer(Event):
    value: int
    text: str


class Server(threading.Thread):
    """A TCP server that answers lines, each on a connection of its own; it waits until `together` questions are open
    (or all `total` have been asked), and answers these from the last one back to the first."""

    def __init__(self, together: int, total: int = TOTAL) -> None:
        super().__init__(daemon=True)
        self.together, self.total = together, total
        self.open: list[tuple[bytes, asyncio.Future[None]]] = []
        self.asked = self.most = 0
        self.port = 0
        self.listening, self.stopping = threading.Event(), None
        self.start()
        self.listening.wait()

    def run(self) -> None:
        asyncio.run(self.serve())

    async def serve(self) -> None:
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.listening.set()
        await self.stopping.wait()
        server.close()

    def stop(self) -> None:
        assert self.stopping is not None
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.join()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = await reader.readline()
        if not question:
            return
        self.asked += 1
        mine: asyncio.Future[None] = self.loop.create_future()
        self.open.append((question, mine))
        self.most = max(self.most, len(self.open))
        if len(self.open) == self.together or self.asked == self.total:
            self.loop.create_task(self.answer_back())
        await mine
        writer.write(b"answer " + question)
        await writer.drain()
        writer.close()

    async def answer_back(self) -> None:
        while self.open:
            self.open.pop()[1].set_result(None)
            await asyncio.sleep(0)


async def ask(port: int, value: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{value}\n".encode())
        return (await reader.readline()).decode().strip()
    finally:
        writer.close()


class Asks(MapAsync):
    """Asks the server about each number; one that is no multiple of 7 has one answer, others none or two."""

    def __init__(self, port: int, **keys: Any) -> None:
        super().__init__(**keys)
        self.port = port

    async def call(self, event: Number) -> Answer | list[Answer] | None:
        text = await ask(self.port, event.value)
        if event.value % 7 == 0:
            return [Answer(event.value, text)] * 2 if event.value % 2 else None
        return Answer(event.value, text)


def answers(values: range) -> list[tuple[int, str]]:
    found = []
    for value in values:
        times = 1 if value % 7 else 2 * (value % 2)
        found += [(value, f"answer {value}")] * times
    return found


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = Server(getattr(request, "param", 10))
    yield server
    server.stop()


def run(server: Server, *, batch_size: int = 64, transport: str = "local", **keys: Any) -> list[Any]:
    topology = Topology("asks")
    asked = topology.source(Numbers, count=TOTAL).through(Asks, port=server.port, **keys)
    asked.into(Collect, name="sink")
    return list(topology.run(transport=transport, workers=2, batch_size=batch_size)["sink"])


class TestOrderAndBounds:
    @pytest.mark.parametrize("batch_size", [1, 64])
    @pytest.mark.parametrize("transport", ["local", "shm"])
    def test_results_come_in_the_order_of_the_events_whoever_is_answered_first(
        self, server: Server, transport: str, batch_size: int
    ) -> None:
        found = run(server, transport=transport, batch_size=batch_size, max_in_flight=10)
        assert found == answers(range(TOTAL))
        assert server.most == 10, "as many as may be are in flight, also from batches of one row"

    def test_no_more_are_in_flight_than_allowed(self) -> None:
        server = Server(together=3)
        try:
            assert run(server, max_in_flight=3) == answers(range(TOTAL))
            assert server.most == 3
        finally:
            server.stop()

    def test_unordered_results_go_on_as_they_come(self, server: Server) -> None:
        found = run(server, max_in_flight=10, ordered=False)
        assert sorted(found) == sorted(answers(range(TOTAL)))
        assert found != answers(range(TOTAL)), "the server answers the last question first"

    def test_in_serial_order_any_number_of_replicas_gives_the_sequence_of_one(self) -> None:
        server = Server(together=1)
        topology = Topology("asks")
        asked = topology.source(Numbers, count=TOTAL).by("group").through(Asks, port=server.port, replicas=3)
        asked.ordered("serial").into(Collect, name="sink")
        try:
            found = list(topology.run(transport="local", workers=2, batch_size=32)["sink"])
        finally:
            server.stop()
        assert found == answers(range(TOTAL))


class Refused(Exception):
    pass


CANCELLED: list[int] = []


@map_async(max_in_flight=8)
async def fragile(event: Number) -> Number:
    """Fails at every tenth event."""
    await asyncio.sleep(0)
    if event.value % 10 == 3:
        raise Refused(str(event.value))
    return event


@map_async(max_in_flight=8)
async def endless(event: Number) -> Number:
    """Only the fourth event comes to an end, and not to a good one."""
    if event.value == 3:
        raise Refused("3")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        CANCELLED.append(event.value)
        raise
    return event


async def doubled(event: Number) -> Number:
    await asyncio.sleep(0)
    return Number(event.value * 2, event.group)


def not_async(event: Number) -> Number:
    return event


class TestErrors:
    def test_one_that_fails_is_skipped_or_made_a_dead_letter_and_the_others_go_on(self) -> None:
        topology = Topology("fragile")
        good = topology.source(Numbers, count=50).through(fragile, on_error="dead-letter")
        good.into(Collect, name="good")
        good.dead.into(Collect, name="dead")
        result = topology.run(transport="local")
        assert [value for value, _ in result["good"]] == [value for value in range(50) if value % 10 != 3]
        errors = [error for _, error, _ in result["dead"]]
        assert errors == [f"Refused: {value}" for value in range(3, 50, 10)]

    def test_one_that_fails_ends_the_run_by_default_and_says_which_it_was(self) -> None:
        topology = Topology("fragile")
        topology.source(Numbers, count=50).through(fragile, name="fragile").into(Collect)
        with pytest.raises(OperatorError, match=r"fragile.*Refused: 3") as raised:
            topology.run(transport="local")
        assert "value=3" in str(raised.value)

    def test_what_is_in_flight_is_cancelled_when_the_run_is_aborted(self) -> None:
        CANCELLED.clear()
        topology = Topology("endless")
        topology.source(Numbers, count=50).through(endless, ordered=False).into(Collect)
        with pytest.raises(OperatorError, match="Refused: 3"):
            topology.run(transport="local")
        assert sorted(CANCELLED) == [0, 1, 2, 4, 5, 6, 7]

    def test_one_that_takes_too_long_has_failed(self) -> None:
        topology = Topology("slow")
        slow = topology.source(Numbers, count=3).through(
            endless, timeout=timedelta(milliseconds=1), on_error="dead-letter"
        )
        slow.into(Collect, name="good")
        slow.dead.into(Collect, name="dead")
        result = topology.run(transport="local")
        assert list(result["good"]) == []
        told = "TimeoutError: the call took longer than timeout = 1 ms"
        assert [error for _, error, _ in result["dead"]] == [told] * 3

    def test_one_that_takes_too_long_ends_the_run_and_says_nothing_of_the_others_in_flight(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        topology = Topology("slow")
        topology.source(Numbers, count=5).through(
            endless, name="slow", timeout=timedelta(seconds=0.001)
        ).collect()
        with pytest.raises(OperatorError, match=r"slow.*the call took longer than timeout = 1 ms") as raised:
            topology.run(transport="local")
        assert "value=0" in str(raised.value)
        gc.collect()  # asyncio tells of a task whose error nobody asked for when it is freed
        assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


class TestInATopologyFile:
    FILE = """
name = "file"
[actors.numbers]
type = "tests.integration.parts:Numbers"
count = 20
[actors.doubled]
type = "map-async"
function = "FUNCTION"
max_in_flight = 4
inputs = ["numbers"]
[actors.again]
type = "tests.unit.operators.test_map_async:fragile"
on_error = "skip"
inputs = ["doubled"]
[actors.sink]
type = "tests.integration.parts:Collect"
inputs = ["again"]
"""

    def write(self, folder: Path, function: str) -> Path:
        path = folder / "topology.toml"
        path.write_text(
            self.FILE.replace("FUNCTION", f"{__name__}:{function}").replace(
                "tests.unit.operators.test_map_async", __name__
            )
        )
        return path

    def test_a_function_and_a_decorated_class_are_named_as_types(self, tmp_path: Path) -> None:
        job = read_job(self.write(tmp_path, "doubled"), transport="local")
        assert job.graph.actors["doubled"].outputs["default"].names() == ("value", "group")
        assert job.graph.actors["again"].cls is fragile

    def test_a_function_that_awaits_nothing_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match=r"awaits nothing.*an async def"):
            read_job(self.write(tmp_path, "not_async"), transport="local")


class Timed(Event):
    ts: EventTime
    value: int


class Marked(Event):
    name: str
    weight: float


class Waits(MapAsync):
    outputs: ClassVar[dict[str, Any]] = {"default": Timed}

    async def call(self, event: Timed) -> Timed:
        await asyncio.Event().wait()
        return event


class Context:
    """What `on_start` and `on_batch` ask of their surroundings."""

    settles = False

    def __init__(self) -> None:
        from actorstream.events.schema import Schema

        self.input = "in"
        self.inputs = {"in": Schema.of(Timed), "other": Schema.of(Marked)}
        self.emitted: list[Any] = []
        self.timers: list[str] = []

    def emit(self, item: Any, to: str) -> None:
        self.emitted.append(item)

    def set_timer(self, name: str, after: Any, every: Any) -> None:
        self.timers.append(name)


async def in_flight_again(actor: Waits) -> list[tuple[str, Any]]:
    """Stops an actor; input and event of what is in flight in one that goes on from its snapshot."""
    snapshot = actor.snapshot()
    await actor.on_stop()
    again = Waits()
    again._bind(Context())  # type: ignore[arg-type]
    again.restore(snapshot)
    await again.on_start()
    found = [(flight.input, flight.event) for flight in again._flights]
    await again.on_stop()
    return found


async def test_what_is_in_flight_is_in_the_snapshot_and_holds_back_the_promise_of_its_time() -> None:
    from actorstream.events.batch import Batch

    actor = Waits()
    actor._bind(Context())  # type: ignore[arg-type]
    actor.on_start()
    await actor.on_batch(Batch.of_events(Timed, [Timed(40, 1), Timed(30, 2)]))
    assert actor.promise(100) == 30
    assert actor.promise(20) == 20
    assert [event for _, event in await in_flight_again(actor)] == [Timed(40, 1), Timed(30, 2)]


class Second(MapAsync):
    """Answers all events but the second."""

    async def call(self, event: Timed) -> Timed:
        if event.value == 2:
            await asyncio.Event().wait()
        return event


async def test_rows_that_have_gone_do_not_hold_back_the_promise_of_those_of_their_batch_in_flight() -> None:
    from actorstream.events.batch import Batch

    actor = Second(ordered=False)
    actor._bind(Context())  # type: ignore[arg-type]
    actor.on_start()
    await actor.on_batch(Batch.of_events(Timed, [Timed(30, 1), Timed(40, 2)]))
    while not actor._may_send():
        await asyncio.sleep(0)
    assert actor.promise(100) == 30
    actor._send()
    assert actor.promise(100) == 40
    await actor.on_stop()


async def test_events_in_flight_come_back_as_the_class_of_their_input() -> None:
    from actorstream.events.batch import Batch

    actor = Waits()
    context = Context()
    actor._bind(context)  # type: ignore[arg-type]
    actor.on_start()
    await actor.on_batch(Batch.of_events(Timed, [Timed(40, 1)]))
    context.input = "other"
    await actor.on_batch(Batch.of_events(Marked, [Marked("a", 2.5)]))
    assert await in_flight_again(actor) == [("in", Timed(40, 1)), ("other", Marked("a", 2.5))]


def test_a_timeout_of_nothing_is_refused() -> None:
    async def waits(event: Number) -> Number:
        return event

    [problem] = MapAsync.check({"function": waits, "timeout": timedelta(0)}, [], Path())
    assert str(problem).startswith("timeout: is 0 s; allowed: a duration longer than 0")
