"""Programs from a topology, as a user runs them: by `Topology.run` and by the command line."""

from __future__ import annotations

import asyncio
import csv
import os
import random
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.source import Source
from actorstream.dgs import Program, Tag, Tags
from actorstream.errors import ConfigurationError
from actorstream.events.batch import Batch
from actorstream.launch.run import run_job
from actorstream.plan.compile import compile_job
from actorstream.testing import NotTheSame, verify
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.processes import launched
from tests.integration.programs import (
    Barrier,
    Each,
    Sum,
    SumOfEach,
    Tagged,
    Value,
    ValueBarrier,
    sequential,
    value_streams,
)

STREAMS = value_streams(random.Random(8), 2, 800, 12)
EXPECTED = sequential(ValueBarrier(), STREAMS)


def topology(plan: str, cls: type[Program] = ValueBarrier) -> Topology:
    found = Topology("sums")
    barriers = found.actor("barriers", "memory-source", items=STREAMS["barriers"][0], event=Barrier)
    values = found.actor(
        "values",
        "memory-source",
        items={f"{number:03}": part for number, part in enumerate(STREAMS["values"])},
        event=Value,
        replicas=2,
    )
    inputs = [{"from": each.source, "order": "dependency"} for each in (barriers, values)]
    found.actor("sum", cls, inputs, plan=plan)
    found.actor("out", "memory-sink", ["sum"])
    return found


@pytest.mark.parametrize("plan", ["reference", "sequential", "balanced", "communication"])
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("local", 2), ("shm", 2), ("shm", 4)])
def test_a_topology_with_a_program_runs_on_any_plan(transport: str, workers: int, plan: str) -> None:
    result = topology(plan).run(transport=transport, workers=workers, batch_size=100)
    assert result["out"] == EXPECTED
    assert sum(each["in"] for each in result.report["actors"]["sum"]) == sum(
        len(events) for parts in STREAMS.values() for events in parts
    )


class Lies(ValueBarrier):
    """Its `update_batch` does not do what `update` does."""

    def update_batch(self, state: Any, batch: Batch, tag: Any) -> Any:
        return NotImplemented if tag.name == "barrier" else None


@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2)])
def test_a_stream_that_a_field_tells_goes_on_though_another_replica_has_ended(
    transport: str, workers: int
) -> None:
    """Any replica of the source may bring any stream: a worker waits for what all of them promise."""
    short = [Tagged("north", time, 1) for time in range(20)]
    long = [Tagged("south", time, 1) for time in range(3_000)]
    marks = [Barrier(time) for time in range(10, 3_001, 10)]
    found = Topology("sums")
    barriers = found.actor("barriers", "memory-source", items=marks, event=Barrier)
    parts = {"0": short, "1": long}
    values = found.actor("values", "memory-source", items=parts, event=Tagged, replicas=2, stream="stream")
    inputs = [{"from": each.source, "order": "dependency"} for each in (barriers, values)]
    found.actor("sum", ValueBarrier, inputs, plan_workers=2)
    found.actor("out", "memory-sink", ["sum"])
    result = found.run(transport=transport, workers=workers, batch_size=10)
    plain = [[Value(each.ts, each.value) for each in part] for part in (short, long)]
    assert result["out"] == sequential(ValueBarrier(), {"barriers": [marks], "values": plain})


@pytest.mark.parametrize("first", ["short", "long"])
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2)])
def test_ticks_go_on_though_another_replica_of_the_source_has_ended(
    transport: str, workers: int, first: str
) -> None:
    """Any replica of the source may bring any stream, so ticks follow the rows of all of them."""
    short = [Tagged("north", time, 1) for time in range(5)]
    long = [Tagged("south", time, 1) for time in range(3_000)]
    found = Topology("sums")
    parts = {"0": short, "1": long} if first == "short" else {"0": long, "1": short}
    values = found.actor(
        "values", "memory-source", items=parts, event=Tagged, replicas=2, stream="stream", time_unit="us"
    )
    found.actor("sum", SumOfEach, [{"from": values.source, "order": "dependency"}], plan_workers=1)
    found.actor("out", "memory-sink", ["sum"])
    result = found.run(transport=transport, workers=workers, batch_size=10)
    assert result["out"] == [Each(at, 15 if at == 10 else 10) for at in range(10, 3_000, 10)] + [Each(-1, 10)]


def test_the_reference_calls_update_alone_and_verify_holds_batches_to_it() -> None:
    assert topology("reference", Lies).run(batch_size=100)["out"] == EXPECTED
    plans = {"actors.sum.plan": ["reference", "sequential"]}
    with pytest.raises(NotTheSame, match="plan"):
        verify(lambda: topology("sequential", Lies), vary=plans, workers=[1], runs=3)
    assert verify(lambda: topology("sequential"), vary=plans, workers=[1], runs=3).same


def test_an_actor_behind_a_program_may_have_a_replica_beside_each_worker_of_its_plan(tmp_path: Path) -> None:
    tree = tmp_path / "tree.toml"
    leaves = (f'[[children]]\ntags = ["value@values/{each}"]\nprocess = {each}\n' for each in range(2))
    tree.write_text('tags = ["barrier"]\n' + "".join(leaves))
    found = topology(str(tree))
    found.actor("beside", "memory-sink", [{"from": "sum", "route": "forward"}], replicas="auto")
    job = compile_job(found.spec(), load_deploy(None, (), transport="shm", workers=2))
    workers = {
        name: [each.worker for each in job.plan.replicas if each.actor == name] for name in ("sum", "beside")
    }
    assert workers["beside"] == workers["sum"] == [0, 0, 1]
    result = found.run(transport="shm", workers=2, batch_size=100)
    assert result["beside"] == result["out"] == EXPECTED
    sent = {
        name: sum(each.get("sent_bytes", 0) for each in rows)
        for name, rows in result.report["actors"].items()
    }
    assert (
        sent["values"] == 0 < sent["sum"]
    )  # each leaf is where its stream arrives; states and requests travel


@pytest.mark.parametrize("plan", ["sequential", "balanced"])
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2)])
@pytest.mark.parametrize("start", [0, 2**62, 2**63 - 10_000])
def test_ticks_come_once_and_before_all_else_of_their_time(
    transport: str, workers: int, plan: str, start: int
) -> None:
    found = Topology("ticks")
    streams = [[Value(event.ts + start, event.value) for event in part] for part in STREAMS["values"]]  # type: ignore[attr-defined]
    parts = {f"{number:03}": part for number, part in enumerate(streams)}
    values = found.actor(
        "values", "memory-source", items=parts, event=Value, replicas=2, event_time="ts", time_unit="us"
    )
    found.actor("sum", SumOfEach, [{"from": values.source, "order": "dependency"}], plan=plan)
    found.actor("out", "memory-sink", ["sum"])
    result = found.run(transport=transport, workers=workers, batch_size=50)
    times = [event.ts for part in streams for event in part]
    first, last = min(times), max(times)
    sums = [Each(tick, 0) for tick in range(first // 10 * 10 + 10, last + 1, 10)]
    assert [each.at for each in result["out"]] == [*(each.at for each in sums), -1]
    for each, before in zip(result["out"], [None, *result["out"]]):
        low = before.at if before is not None else first
        high = each.at if each.at >= 0 else last + 1
        expected = sum(event.value for part in streams for event in part if low <= event.ts < high)
        assert each.sum == expected


def test_the_inputs_of_a_program_come_on_different_transports_from_different_processes() -> None:
    deploy = load_deploy(None, (), transport="shm", workers=2, placement="round-robin")
    job = compile_job(topology("sequential").spec(), deploy)
    between = {(link.edge.producer, link.remote) for link in job.channels if link.edge.consumer == "sum"}
    assert between >= {("barriers", False), ("values", True)}
    assert run_job(job)["out"] == EXPECTED


def test_a_program_cannot_leave_events_out() -> None:
    found = topology("sequential")
    found.actors["sum"].on_error = "skip"
    with pytest.raises(ConfigurationError, match=r"on_error: is 'skip', and what an event"):
        found.run(transport="local", workers=1)


TOML = """
name = "sums"

[actors.barriers]
type = "csv-source"
path = "barriers.csv"
event = "tests.integration.programs:Barrier"

[actors.values]
type = "csv-source"
path = "values"
event = "tests.integration.programs:Value"
replicas = 2

[actors.sum]
type = "tests.integration.programs:ValueBarrier"
inputs = [{ from = "barriers", order = "dependency" }, { from = "values", order = "dependency" }]
plan = "balanced"

[actors.out]
type = "csv-sink"
inputs = ["sum"]
path = "sums.csv"
"""


def write(path: Path, events: Any) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(events[0].__struct_fields__)
        writer.writerows([getattr(each, name) for name in each.__struct_fields__] for each in events)


def test_the_command_line_runs_a_program_in_two_processes(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(TOML)
    (tmp_path / "values").mkdir()
    write(tmp_path / "barriers.csv", STREAMS["barriers"][0])
    for number, part in enumerate(STREAMS["values"]):
        write(tmp_path / "values" / f"{number}.csv", part)
    with launched(tmp_path, "topology.toml", "--workers", "2", "--transport", "shm") as run:
        status, _, err = run.wait()
    assert status == 0, err
    with (tmp_path / "sums.csv").open(newline="") as file:
        rows = [Sum(*map(int, row.values())) for row in csv.DictReader(file)]
    assert rows == EXPECTED


class Silent(Source):
    """A hundred values, then none. Promises a hundred more each time it is told that its promise has come, and ends then."""

    outputs: ClassVar[dict[str, Any]] = {"default": Value}

    def __init__(self, hears: int, time_unit: str) -> None:
        super().__init__(time_unit=time_unit)
        self.hears, self.done = hears, 0

    async def read(self, max_rows: int) -> Batch | None:  # type: ignore[override]
        while 0 < self.done < 500:
            await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
            self.done += 100
        if self.done:
            return None
        self.done = 100
        return Batch.of_events(self.row_schema(), [Value(time, 1) for time in range(100)])

    def lower_bound(self, now_ns: int) -> int:
        return self.done


class Counts(Program):
    """The number of values so far, behind each."""

    class State(msgspec.Struct):
        count: int = 0

    tags: ClassVar = {"values": "value"}

    def depends(self, one: Tag, other: Tag) -> bool:
        return True

    def update(self, state: State, event: Value, tag: Tag) -> Each:
        state.count += 1
        return Each(event.ts, state.count)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        return self.State(left.count + right.count)


class TellsAsync(Actor):
    """Tells the source when its promise has come."""

    def __init__(self, told: int) -> None:
        self.told = told

    def on_event(self, event: Each) -> Each:
        return event

    async def on_heartbeat(self, frontier: int) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        if frontier in range(100, 501, 100):
            os.write(self.told, b"x")


@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2)])
def test_an_async_hook_for_event_time_behind_a_program_is_called_though_no_row_comes(
    transport: str, workers: int
) -> None:
    hears, told = os.pipe()
    try:
        found = Topology("silent")
        values = found.actor("values", Silent, hears=hears, time_unit="us")
        found.actor("sum", Counts, [{"from": values.source, "order": "dependency"}], plan_workers=1)
        found.actor("tells", TellsAsync, ["sum"], told=told)
        found.actor("out", "memory-sink", ["tells"])
        result = found.run(transport=transport, workers=workers)
    finally:
        os.close(hears)
        os.close(told)
    assert result["out"] == [Each(at, at + 1) for at in range(100)]
