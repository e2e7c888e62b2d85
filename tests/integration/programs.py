"""Programs for the tests of dependency order, and jobs that run them under a given synchronization plan."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.memory import MemorySink, MemorySource
from actorstream.dgs import Program, Tag, Tags, by, every
from actorstream.dgs.dependence import Dependence
from actorstream.dgs.optimizer.base import Question
from actorstream.dgs.plan import PlanWorker, SynchronizationPlan
from actorstream.dgs.sequential import InputStream, run_sequentially
from actorstream.dgs.tags import ImplementationTag
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.launch.run import run_embedded, run_job
from actorstream.placement import place
from actorstream.plan.compile import make_job
from actorstream.plan.fuse import fusible
from actorstream.plan.job import Job
from actorstream.topology.dependency import DependencyPlan, PlannedStream, PlannedTag, PlannedTreeWorker
from actorstream.topology.graph import Edge, Graph, GraphActor
from actorstream.topology.load import load_deploy

Streams = Mapping[str, Sequence[Sequence[Event]]]
"""Input -> its streams, each a list of events."""


class Value(Event, event_time="ts"):
    ts: int
    value: int


class Barrier(Event, event_time="ts"):
    ts: int


class Tagged(Event, event_time="ts"):
    """A value that names its stream."""

    stream: str
    ts: int
    value: int


class Sum(Event):
    ts: int
    sum: int
    count: int


class ValueBarrier(Program):
    """On a barrier: sum and number of the values since the barrier before it."""

    class State(msgspec.Struct):
        sum: int = 0
        count: int = 0

    tags: ClassVar = {"barriers": "barrier", "values": "value"}

    def __init__(self, batches: bool = True) -> None:
        self.batches = batches

    def depends(self, one: Tag, other: Tag) -> bool:
        return "barrier" in (one.name, other.name)

    def update(self, state: State, event: Value | Barrier, tag: Tag) -> Sum | None:
        if isinstance(event, Value):
            state.sum += event.value
            state.count += 1
            return None
        found = Sum(event.ts, state.sum, state.count)
        state.sum = state.count = 0
        return found

    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        if tag.name == "barrier" or not self.batches:
            return NotImplemented
        state.sum += int(batch["value"].sum())
        state.count += batch.rows
        return None

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        return self.State(left.sum + right.sum, left.count + right.count)


class Operation(Event, event_time="ts"):
    ts: int
    op: str
    key: int
    number: int


class Read(Event):
    key: int
    ts: int
    number: int
    count: int


class Counters(Program):
    """Figure 1 of the paper: "i" increments a key's counter, "r" reads and resets it."""

    class State(msgspec.Struct):
        counts: dict[int, int] = {}

    tags: ClassVar = {
        "events": by("op", {"i": "increment", "r": "read"}, key="key", keys=(0, 1, 2)),
        "more": by("op", {"i": "increment", "r": "read"}, key="key", keys=(0, 1, 2)),
    }

    def depends(self, one: Tag, other: Tag) -> bool:
        return one.key == other.key and "read" in (one.name, other.name)

    def update(self, state: State, event: Operation, tag: Tag) -> Iterator[Read]:
        if tag.name == "increment":
            state.counts[event.key] = state.counts.get(event.key, 0) + 1
        else:
            yield Read(event.key, event.ts, event.number, state.counts.pop(event.key, 0))

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        to_right = {key: n for key, n in state.counts.items() if self.tag("read", key) in right}
        to_left = {key: n for key, n in state.counts.items() if key not in to_right}
        return self.State(to_left), self.State(to_right)

    def join(self, left: State, right: State) -> State:
        for key, count in right.counts.items():
            left.counts[key] = left.counts.get(key, 0) + count
        return left


class KeyedCounters(Counters):
    """The same; what is left comes at the end."""

    def end(self, state: Counters.State) -> Iterator[Read]:
        for key in sorted(state.counts):
            yield Read(key, -1, -1, state.counts[key])


class Echoes(ValueBarrier):
    """Each value comes out as it is, too: every event has an output."""

    def __init__(self) -> None:
        super().__init__(batches=False)

    def update(self, state: Any, event: Value | Barrier, tag: Tag) -> Sum | None:
        return super().update(state, event, tag) or Sum(event.ts, event.value, -1)  # type: ignore[union-attr]


class EchoedCounters(Counters):
    """Each increment comes out, too."""

    def update(self, state: Any, event: Operation, tag: Tag) -> Iterator[Read]:
        yield from super().update(state, event, tag)
        if tag.name == "increment":
            yield Read(event.key, event.ts, event.number, -1)


class EndedCounters(EchoedCounters, KeyedCounters):
    """With what is left at the end."""


class Dies(ValueBarrier):
    """Its process is killed at the value 13."""

    def update(self, state: Any, event: Value | Barrier, tag: Tag) -> Sum | None:
        if isinstance(event, Value) and event.value == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().update(state, event, tag)


class Refuses(ValueBarrier):
    """Raises at the value 13."""

    def update(self, state: Any, event: Value | Barrier, tag: Tag) -> Sum | None:
        if isinstance(event, Value) and event.value == 13:
            raise ValueError("thirteen")
        return super().update(state, event, tag)


class Stops(ValueBarrier):
    """Raises StopIteration at the value 13; answers any number of rows."""

    def update(self, state: Any, event: Value | Barrier, tag: Tag) -> list[Sum]:  # type: ignore[override]
        if isinstance(event, Value) and event.value == 13:
            next(iter(()))
        found = super().update(state, event, tag)
        return [] if found is None else [found]


def value_streams(chance: random.Random, streams: int, rows: int, barriers: int) -> Streams:
    """Value streams that share times with each other and with the barriers."""
    step = max(1, rows // max(1, barriers))
    found: list[list[Event]] = []
    for _ in range(streams):
        time, events = 0, list[Event]()
        for _ in range(chance.randint(rows // 2, rows)):
            time += chance.choice((0, 1, 1, 2))
            events.append(Value(time, chance.randint(-5, 100)))
        found.append(events)
    return {"barriers": [[Barrier(step * (number + 1)) for number in range(barriers)]], "values": found}


def operation_streams(chance: random.Random, rows: int) -> Streams:
    number, found = 0, dict[str, list[list[Event]]]()
    for name in ("events", "more"):
        time, events = 0, list[Event]()
        for _ in range(rows):
            time += chance.choice((0, 0, 1, 3))
            number += 1
            op = "r" if chance.random() < 0.1 else "i"
            events.append(Operation(time, op, chance.randint(0, 2), number))
        found[name] = [events]
    return found


def sequential(program: Program, streams: Streams) -> list[Event]:
    """What the program puts out, run by `update` alone."""
    inputs = [InputStream(name, events) for name, parts in streams.items() for events in parts]
    return [output.event for output in run_sequentially(program, inputs)]


def tags_of(program: Program, streams: Streams) -> list[ImplementationTag]:
    taggings = program.taggings()
    return [
        ImplementationTag(tag, f"{name}/{number}")
        for name, parts in streams.items()
        for number in range(len(parts))
        for tag in taggings[name].tags()
    ]


def question(program: Program, streams: Streams, workers: int) -> Question:
    tags = tags_of(program, streams)
    return Question(
        Dependence(tags, program.depends),
        rates={tag: 1.0 if tag.tag.name in ("barrier", "read") else 100.0 for tag in tags},
        types=program.state_types(),
        workers=workers,
    )


def random_plan(chance: random.Random, ask: Question) -> SynchronizationPlan:
    """A valid plan with some tags higher up than they would have to be."""

    def below(tags: list[ImplementationTag]) -> PlanWorker:
        taken = [tag for tag in tags if chance.random() < 0.3]
        while True:
            groups = ask.dependence.components([tag for tag in tags if tag not in taken])
            if len(groups) > 1 or len(taken) >= len(tags) - 1:
                break
            taken.append(chance.choice([tag for tag in tags if tag not in taken]))
        if len(groups) < 2:
            return PlanWorker(tuple(tags))
        chance.shuffle(groups)
        cut = chance.randint(1, len(groups) - 1)
        left, right = (
            sorted(tag for group in half for tag in group) for half in (groups[:cut], groups[cut:])
        )
        return PlanWorker(tuple(taken), children=(below(left), below(right)))

    return SynchronizationPlan(below(list(ask.dependence.tags)))


class Singly(MemorySource):
    """Gives its events by themselves."""

    def read(self, max_rows: int) -> Any:
        batch = super().read(1)
        return None if batch is None else batch.events()[0]


class SinglyCsv(CsvSource):
    """Gives the rows of its files by themselves."""

    def read(self, max_rows: int) -> Any:
        batch = super().read(1)
        return None if batch is None else batch.events()[0] if batch.rows else batch


def job_of(
    cls: type[Program],
    streams: Streams,
    plan: SynchronizationPlan,
    *,
    keys: dict[str, Any] | None = None,
    replicas: Mapping[str, int] | None = None,
    field: str = "",
    sources: Mapping[str, type] | None = None,
    **deploy: Any,
) -> Job:
    """The job that runs a program on a plan: each input from a source of as many replicas as it has streams.

    replicas: of sources that have fewer. field: tells the streams of "values", which come as one partition, one after
    the other. sources: that are another class than a list."""
    program = cls(**(keys or {}))
    settings = load_deploy(None, (), **{"transport": "local", "workers": 1, **deploy})
    tags = tags_of(program, streams)
    actors: dict[str, GraphActor] = {}
    edges: list[Edge] = []
    for rank, (name, parts) in enumerate(streams.items()):
        items = {f"{number:03}": list(events) for number, events in enumerate(parts)}
        event = next(type(each) for events in parts for each in events)
        count = (replicas or {}).get(name, len(parts))
        if field and name == "values":
            items, count = {"0": [each for events in parts for each in events]}, 1
        made = (sources or {}).get(name)
        listed = made is None or issubclass(made, MemorySource)
        keep: dict[str, Any] = {"items": items, "event": event} if listed else {}
        source = GraphActor(name, "source", made or MemorySource, "source", keep, count)
        actors[name] = source
        source.outputs = {"default": Schema.of(event)}
        edges.append(Edge(rank, name, "default", "program", rank, name, "shuffle", order="dependency"))
    node = actors["program"] = GraphActor(
        "program", "program", cls, "operator", dict(keys or {}), len(plan.workers)
    )
    node.inputs, node.input_schemas = list(edges), [actors[name].outputs["default"] for name in streams]
    node.outputs = {"default": Schema.of(cls.output_types({}, [])["default"])}
    edges.append(Edge(len(edges), "program", "default", "out", 0, "program", "global"))
    sink = actors["out"] = GraphActor("out", "memory-sink", MemorySink, "sink", {}, 1)
    sink.inputs, sink.input_schemas = [edges[-1]], [node.outputs["default"]]
    graph = Graph("programs", actors, edges)
    numbers = {tag: number for number, tag in enumerate(tags)}
    planned = DependencyPlan(
        actor="program",
        optimizer="test",
        streams=[
            PlannedStream(name=f"{name}/{number}", input=name, field=field, value=str(number))
            if field and name == "values"
            else PlannedStream(name=f"{name}/{number}", input=name, partition=number)
            for name, parts in streams.items()
            for number in range(len(parts))
        ],
        tags=[
            PlannedTag(
                name=tag.tag.name,
                key=tag.tag.key,
                stream=list(dict.fromkeys(t.stream for t in tags)).index(tag.stream),
            )
            for tag in tags
        ],
        workers=[
            PlannedTreeWorker(
                tags=[numbers[tag] for tag in worker.tags],
                state=worker.state,
                parent=plan.parents.get(number, 0),
                children=plan.children(number),
                process=(number - 1) % settings.workers,
            )
            for number, worker in enumerate(plan.workers, 1)
        ],
    )
    placed = place(graph, settings, direct=fusible)
    return make_job(graph, msgspec.structs.replace(placed, dependencies=[planned]))


def run(job: Job) -> list[Event]:
    """What reaches the sink."""
    if job.processes > 1:
        return run_job(job)["out"]
    return asyncio.run(run_embedded(job))["out"]


class Each(Event):
    at: int
    sum: int


class SumOfEach(Program):
    """The sum of the values of each ten microseconds, at the ticks between them."""

    class State(msgspec.Struct):
        sum: int = 0

    tags: ClassVar = {"values": "value", "ten": every("10us")}

    def depends(self, one: Tag, other: Tag) -> bool:
        return "ten" in (one.name, other.name)

    def update(self, state: State, event: Any, tag: Tag) -> Each | None:
        if tag.name == "value":
            state.sum += event.value
            return None
        found = Each(event.time, state.sum)
        state.sum = 0
        return found

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        return self.State(left.sum + right.sum)

    def end(self, state: State) -> Each:
        return Each(-1, state.sum)
