"""Programs under synchronization plans: the sequential program's outputs, whatever plan, transport and cut."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any, ClassVar

import pytest

from actorstream import Topology
from actorstream.connectors.source import Source
from actorstream.dgs import Program
from actorstream.dgs.optimizer import OPTIMIZERS
from actorstream.errors import DataError, OperatorError, RunError, WorkerDiedError
from actorstream.events.batch import Batch
from actorstream.runtime.dependency.single_events import DirectEvents
from tests.integration.programs import (
    Barrier,
    Dies,
    Echoes,
    KeyedCounters,
    Refuses,
    Singly,
    Stops,
    Sum,
    Tagged,
    Value,
    ValueBarrier,
    job_of,
    operation_streams,
    question,
    random_plan,
    run,
    sequential,
    value_streams,
)

WAYS = [("local", 1), ("shm", 1), ("shm", 2), ("shm", 4)]


def optimized(name: str, ask: Any) -> Any:
    module, _, function = OPTIMIZERS[name].partition(":")
    return getattr(import_module(module), function)(ask)


@pytest.mark.parametrize("optimizer", ["sequential", "balanced", "communication"])
@pytest.mark.parametrize(("transport", "workers"), WAYS)
def test_sums_between_barriers_are_those_of_the_sequential_program(
    transport: str, workers: int, optimizer: str
) -> None:
    streams = value_streams(random.Random(workers), 2, 3_000, 40)
    plan = optimized(optimizer, question(ValueBarrier(), streams, 2))
    job = job_of(ValueBarrier, streams, plan, transport=transport, workers=workers, batch_size=256)
    assert run(job) == sequential(ValueBarrier(), streams)  # all from one worker, so in its order


@pytest.mark.parametrize(("transport", "workers"), WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_random_plans_give_the_outputs_of_the_sequential_program(
    transport: str, workers: int, seed: int
) -> None:
    check_random_plan(transport, workers, seed)


class Adds(ValueBarrier):
    """Its workers wait for no state."""

    additive: ClassVar = ["value"]


@pytest.mark.parametrize("wait", ["park", "spin"])
@pytest.mark.parametrize("cls", [ValueBarrier, Adds])
def test_events_that_come_one_by_one_and_workers_that_spin_change_nothing(
    cls: type[Program], wait: str
) -> None:
    streams = value_streams(random.Random(7), 2, 400, 60)
    sources: dict[str, type] = {"barriers": Singly, "values": Singly}
    for optimizer in ("balanced", "communication"):
        plan = optimized(optimizer, question(cls(), streams, 2))
        job = job_of(cls, streams, plan, transport="shm", workers=2, wait=wait, sources=sources)
        assert run(job) == sequential(cls(), streams)


@pytest.mark.parametrize("cls", [ValueBarrier, Adds])
def test_events_by_themselves_pass_the_channel_to_a_worker_beside_their_source(
    cls: type[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    offered, offer = [], DirectEvents.offer

    def noted(direct: DirectEvents, time: int, batch: Batch, entered: int) -> bool:
        found = offer(direct, time, batch, entered)
        offered.extend([time] if found else [])
        return found

    monkeypatch.setattr(DirectEvents, "offer", noted)
    streams = value_streams(random.Random(8), 2, 200, 20)
    plan = optimized("balanced", question(cls(), streams, 2))
    sources: dict[str, type] = {"barriers": Singly, "values": Singly}
    job = job_of(cls, streams, plan, transport="local", workers=1, sources=sources)
    assert run(job) == sequential(cls(), streams)
    assert offered  # the last stream of all, if no other, waits for nothing


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "workers"), WAYS)
@pytest.mark.parametrize("seed", range(4, 100))
def test_many_more_random_plans_do(transport: str, workers: int, seed: int) -> None:
    check_random_plan(transport, workers, seed)


def check_random_plan(transport: str, workers: int, seed: int) -> None:
    """Counters with ties within and between streams; small hand-overs, and small budgets now and then."""
    chance = random.Random(seed)
    streams = operation_streams(chance, chance.choice((20, 400)))
    plan = random_plan(chance, question(KeyedCounters(), streams, 8))
    sizes = {"batch_size": chance.choice((1, 16, 1000)), "edge_bytes": chance.choice((5_000, 1 << 22))}
    job = job_of(KeyedCounters, streams, plan, transport=transport, workers=workers, **sizes)
    found, expected = run(job), sequential(KeyedCounters(), streams)
    assert Counter(found) == Counter(expected)
    if len(plan.workers) == 1:
        assert found == expected


@pytest.mark.parametrize(("transport", "workers"), WAYS)
def test_streams_of_one_file_may_come_one_after_the_other(transport: str, workers: int) -> None:
    """By partitions that one replica reads, and by a field of the rows; with less room than one of them takes."""
    plain = value_streams(random.Random(3), 3, 2_000, 25)
    values = [
        [Tagged(str(number), each.ts, each.value) for each in events]  # type: ignore[attr-defined]
        for number, events in enumerate(plain["values"])
    ]
    expected = sequential(ValueBarrier(), plain)
    sizes: dict[str, Any] = {
        "transport": transport,
        "workers": workers,
        "batch_size": 100,
        "edge_bytes": 9_000,
    }
    plan = optimized("balanced", question(ValueBarrier(), plain, 3))
    assert run(job_of(ValueBarrier, plain, plan, replicas={"values": 1}, **sizes)) == expected
    streams = {"barriers": plain["barriers"], "values": values}
    assert run(job_of(ValueBarrier, streams, plan, field="stream", **sizes)) == expected


@pytest.mark.parametrize(("transport", "workers"), WAYS)
def test_times_that_decrease_are_an_error_that_names_both_rows(transport: str, workers: int) -> None:
    streams = value_streams(random.Random(1), 2, 500, 5)
    last = streams["values"][1][-1]
    streams["values"][1].append(Value(last.ts - 3, 1))  # type: ignore[attr-defined]
    rows = len(streams["values"][1])
    plan = optimized("balanced", question(ValueBarrier(), streams, 2))
    job = job_of(ValueBarrier, streams, plan, transport=transport, workers=workers, batch_size=64)
    text = rf"'values/1': row {rows - 1} has time \d+, row {rows - 2} before it \d+"
    with pytest.raises((DataError, RunError), match=text):
        run(job)


class TwoShards(Source):
    """Rows of the streams "a" and "b" in each of two partitions. Nobody reads them before the start."""

    def partitions(self) -> list[str]:
        return ["0", "1"]

    def events(self) -> Iterator[Tagged]:
        for time in range(100):
            yield Tagged("ab"[time % 2], time, time)


@pytest.mark.parametrize("transport", ["local", "shm"])
def test_a_stream_that_two_replicas_bring_ends_the_run(transport: str) -> None:
    topology = Topology()
    topology.actor("barriers", "memory-source", items=[Barrier(50)], event=Barrier)
    topology.actor("values", TwoShards, replicas=2, stream="stream", streams=["a", "b"])
    inputs = [{"from": name, "order": "dependency"} for name in ("barriers", "values")]
    topology.actor("sums", ValueBarrier, inputs, batches=False)
    topology.actor("out", "memory-sink", ["sums"])
    text = r"rows of value@values/[ab] come from several replicas .*\(replicas = 1\)"
    with pytest.raises((DataError, RunError), match=text):
        topology.run(transport=transport, workers=2)


@pytest.mark.parametrize(("transport", "workers"), WAYS)
@pytest.mark.parametrize(("program", "text"), [(Refuses, "thirteen"), (Stops, "StopIteration")])
def test_an_update_that_raises_ends_the_run_and_names_the_event(
    program: type[ValueBarrier], text: str, transport: str, workers: int
) -> None:
    streams = value_streams(random.Random(2), 2, 500, 5)
    streams["values"][1][300] = Value(streams["values"][1][300].ts, 13)  # type: ignore[attr-defined, index]
    plan = optimized("balanced", question(program(), streams, 2))
    job = job_of(
        program, streams, plan, keys={"batches": False}, transport=transport, workers=workers, batch_size=64
    )
    with pytest.raises(OperatorError, match=text) as caught:
        run(job)
    assert "value=13" in str(caught.value) and "program" in str(caught.value)


def test_a_worker_of_a_plan_that_is_killed_ends_the_run() -> None:
    streams = value_streams(random.Random(2), 2, 500, 5)
    streams["values"][1][300] = Value(streams["values"][1][300].ts, 13)  # type: ignore[attr-defined, index]
    plan = optimized("balanced", question(Dies(), streams, 2))
    job = job_of(Dies, streams, plan, keys={"batches": False}, transport="shm", workers=2, batch_size=64)
    with pytest.raises(WorkerDiedError, match="killed by signal 9"):
        run(job)


QUIET_AT, LAST = 5, 60
POLLS = 40


class Quiet(Source):
    """One barrier, then nothing; it ends when all values were worked on, or when it was asked often enough."""

    outputs: ClassVar[dict[str, Any]] = {"default": Barrier}
    beats: ClassVar[bool] = True
    seen: ClassVar[list[int]] = []
    """How many outputs there were at each look."""

    def __init__(self) -> None:
        self.asked = 0

    async def read(self, max_rows: int) -> Batch | None:
        self.asked += 1
        if self.asked == 1:
            return Batch.of_columns(Barrier, {"ts": [QUIET_AT]})
        self.seen.append(len(Heard.found))
        if len(Heard.found) > 2 * LAST or (not self.beats and self.asked > POLLS):
            return None
        return Batch.of_columns(Barrier, {"ts": []})

    def lower_bound(self, now_ns: int) -> int | None:
        return LAST + 1 if self.beats and self.asked else None


class Heard(Echoes):
    """Notes what it has put out."""

    found: ClassVar[list[int]] = []

    def update(self, state: Any, event: Any, tag: Any) -> Sum | None:
        self.found.append(event.ts)
        return super().update(state, event, tag)


@pytest.mark.parametrize("beats", [True, False])
def test_a_quiet_source_holds_up_what_depends_on_it_unless_it_has_heartbeats(
    beats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Quiet, "beats", beats)
    monkeypatch.setattr(Quiet, "seen", [])
    monkeypatch.setattr(Heard, "found", [])
    streams = {"barriers": [[Barrier(QUIET_AT)]], "values": [[Value(ts, 1) for ts in range(1, LAST + 1)]] * 2}
    plan = optimized("balanced", question(Heard(), streams, 2))
    job = job_of(Heard, streams, plan, sources={"barriers": Quiet}, heartbeat_every="5ms")
    found = run(job)
    assert Counter(found) == Counter(sequential(Echoes(), streams))
    before = 2 * (QUIET_AT - 1) + 1  # what the barrier's own time allows
    assert (max(Quiet.seen) == 2 * LAST + 1) if beats else (max(Quiet.seen) == before)


class Waiting(Source):
    """One value of a stream, then nothing until the barrier's sum is out. What it promises, it says only when asked."""

    outputs: ClassVar[dict[str, Any]] = {"default": Value}
    waiting: ClassVar[list[asyncio.Event]] = []
    """Of each stream: set once it waits, with all its promises of before behind it."""
    answered: ClassVar[asyncio.Event]

    def partitions(self) -> list[str]:
        return ["000", "001"]

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        self.origin, self.asked = int(partitions[0]), 0

    async def read(self, max_rows: int) -> Batch | None:
        self.asked += 1
        if self.asked == 1:
            return Batch.of_columns(Value, {"ts": [1], "value": [self.origin + 1]})
        self.waiting[self.origin].set()
        await asyncio.wait_for(self.answered.wait(), 60)
        return None

    def lower_bound(self, now_ns: int) -> int | None:
        return QUIET_AT + 1 if all(each.is_set() for each in self.waiting) else None


class Last(Source):
    """A barrier as soon as all streams wait."""

    outputs: ClassVar[dict[str, Any]] = {"default": Barrier}
    asked = 0

    async def read(self, max_rows: int) -> Batch | None:
        self.asked += 1
        if self.asked > 1:
            return None
        for each in Waiting.waiting:
            await each.wait()
        return Batch.of_columns(Barrier, {"ts": [QUIET_AT]})


class Answers(ValueBarrier):
    """Says when a sum is out."""

    def update(self, state: Any, event: Any, tag: Any) -> Sum | None:
        found = super().update(state, event, tag)
        if found is not None:
            Waiting.answered.set()
        return found


def test_a_join_asks_the_sources_beside_it_for_what_they_can_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waiting, "waiting", [asyncio.Event(), asyncio.Event()])
    monkeypatch.setattr(Waiting, "answered", asyncio.Event(), raising=False)
    streams = {"barriers": [[Barrier(QUIET_AT)]], "values": [[Value(1, 1)], [Value(1, 2)]]}
    plan = optimized("balanced", question(Answers(), streams, 2))
    sources = {"barriers": Last, "values": Waiting}
    job = job_of(Answers, streams, plan, sources=sources, heartbeat_every="1h")
    assert run(job) == [Sum(QUIET_AT, 3, 2)]
