"""Operators that merge inputs of one process are called past their channels, and give what they give behind channels."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream.metrics.counters import Counter
from actorstream.plan.compile import compile_job
from actorstream.runtime.build import build_units
from actorstream.runtime.fast_paths.merged_edge import FEW_ROWS, MergedEdge
from actorstream.runtime.operator_unit import OperatorUnit
from actorstream.runtime.schedule.kernel_chain import KernelChain
from actorstream.runtime.unit import Status
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from actorstream.topology.plan import LONGEST_CHAIN
from actorstream.transports.base import FrameKind
from tests.integration.parts import Collect, Numbers, numbers
from tests.unit.runtime.fast_paths.chained import Ran, end_of
from tests.unit.runtime.fast_paths.test_read_chain import LATER, STEPS, WINDOWS, columns_of, source, table

AGGREGATES = {"rows": "count()", "least": "min(number)", "sum": "sum(number)", "last": "max(share)"}
"""The order in which rows come changes none of these, not even by a rounding error."""


class Merged:
    """Runs of a topology whose unions are called past their channels, and of the same topology where they are not. `passed`: rows
    that went past a channel."""

    def __init__(self, drawn: dict[str, Any], folder: Path, rows: int, seed: int, batch_size: Any) -> None:
        self.passed = 0

        def counted(edge: MergedEdge, rows: int) -> None:
            self.passed += rows
            count(edge, rows)

        count = MergedEdge._count
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MergedEdge, "_count", counted)
            self.past = Ran(*topology_of(drawn, folder, rows, seed), batch_size=batch_size)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("actorstream.plan.compile.merged_calls", lambda *given: frozenset())
            self.through = Ran(*topology_of(drawn, folder, rows, seed), batch_size=batch_size)
        for ran in (self.past, self.through):
            ran.rows = [sorted(each) for each in ran.rows]


def topology_of(drawn: dict[str, Any], folder: Path, rows: int, seed: int) -> tuple[Topology, list[Any]]:
    """One or two sources, a branch or two of each, a union of all, or of unions of them, and what takes the rows in."""
    topology = Topology("merged")
    out: list[Any] = []
    keys: dict[str, Any] = {"on_error": "dead-letter", "bad": False}
    if drawn["disorder"]:
        keys["max_out_of_orderness"] = timedelta(milliseconds=drawn["slack"])
    if drawn["idle"]:
        keys["idle_timeout"] = timedelta(hours=1)
    branches = []
    for number, form in enumerate(drawn["forms"]):
        (folder / str(number)).mkdir(exist_ok=True)
        columns = columns_of(rows, seed + number, drawn["disorder"])
        stream = source(_Named(topology, f"in{number}"), form, folder / str(number), columns, **keys)
        for branch, steps in enumerate(drawn["branches"]):
            made = stream
            for at, (kind, given_keys) in enumerate(steps):
                name = f"step{number}-{branch}-{at}"
                made = made.through(kind, name=name, on_error="dead-letter", **given_keys)
                out.append(made["dead"].collect())
            branches.append(made)
    if drawn["nested"] and len(branches) > 2:
        branches = [branches[0].through("union", *branches[1:-1], name="inner"), branches[-1]]
    stream = branches[0].through("union", *branches[1:], name="both") if len(branches) > 1 else branches[0]
    chosen = {name: AGGREGATES[name] for name in drawn["aggregates"]}
    if drawn["join"]:
        stream = stream.through("static-join", name="joined", table=table(folder, 3), on="number", how="left")
    end = end_of(stream, drawn, chosen)
    return topology, [end.collect(), end["late"].collect(), *out]


class _Named:
    """A topology whose next source has another name."""

    def __init__(self, topology: Topology, name: str) -> None:
        self._topology, self._name = topology, name

    def source(self, *given: Any, name: str, **keys: Any) -> Any:
        return self._topology.source(*given, name=self._name, **keys)


SAME_FIELDS = [step for step in STEPS if step[0] == "filter"] + [*STEPS[2:4]]
"""Steps whose rows have the fields of those that come to them."""


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, Any]:
    steps = st.lists(st.sampled_from(SAME_FIELDS), min_size=1, max_size=2, unique_by=str)
    return {
        "forms": draw(st.lists(st.sampled_from(["batches", "rows", "csv"]), min_size=1, max_size=2)),
        "branches": draw(st.lists(steps, min_size=1, max_size=3)),
        "nested": draw(st.booleans()),
        "join": draw(st.booleans()),
        "end": draw(st.sampled_from(["windows", "whole", "reduce"])),
        "window": draw(st.sampled_from(WINDOWS)),
        "key": draw(st.sampled_from([[], ["number"], ["text"], ["text", "number"]])),
        "aggregates": draw(st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, unique=True)),
        "disorder": draw(st.sampled_from([0, 300])),
        "slack": draw(st.sampled_from([200, 300])),
        "idle": draw(st.booleans()),
    }


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(topologies(), st.integers(1, 500), st.integers(0, 99), st.sampled_from([7, 100, 400, "auto"]))
def test_unions_past_their_channels_give_what_they_give_behind_them(
    tmp_path: Path, drawn: dict[str, Any], rows: int, seed: int, batch_size: Any
) -> None:
    ran = Merged(drawn, tmp_path, rows, seed, batch_size)
    assert (ran.past.rows, ran.past.beside) == (ran.through.rows, ran.through.beside)
    assert ran.past.counts == ran.through.counts


PLAIN: dict[str, Any] = {
    "forms": ["batches", "batches"],
    "branches": [[STEPS[0]]],
    "nested": False,
    "join": False,
    "end": "windows",
    "window": WINDOWS[0],
    "key": ["text"],
    "aggregates": list(AGGREGATES),
    "disorder": 0,
    "slack": 300,
    "idle": False,
}
SHAPES = {
    "two sources": {},
    "two branches of one source": {"forms": ["batches"], "branches": [[STEPS[0]], [STEPS[9]]]},
    "sources and branches": {"branches": [[], [STEPS[9]]], "end": "whole"},
    "unions of unions": {"branches": [[STEPS[0]], [STEPS[9]]], "nested": True, "end": "reduce"},
    "a map that changes the event time": {"forms": ["csv", "csv"], "branches": [[LATER]]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_batches_go_past_the_channels(shape: str, tmp_path: Path) -> None:
    ran = Merged(PLAIN | SHAPES[shape], tmp_path, 3000, 1, 200)
    came = sum(taken for taken, _ in ran.past.counts["both"])
    # small batches of that shape wait in a channel, and how many come behind them there is up to when a turn ends
    assert ran.passed >= (came if shape != "sources and branches" else 1)
    assert ran.past.rows == ran.through.rows
    assert ran.past.counts == ran.through.counts


# -- when they may not


class Turns:
    """A worker that no loop runs: two sources, a filter behind each, a union of both, and what takes its rows."""

    def __init__(self, *, table: str = "", **deploy: Any) -> None:
        topology = Topology("two")
        one, other = (
            topology.source(Numbers, name=f"source{each}", count=1).through(
                "filter", name=f"some{each}", where="value >= 0"
            )
            for each in range(2)
        )
        stream = one.through("union", other, name="both")
        if table:
            schema = {"value": "int", "weight": "int"}
            topology.source("csv-source", name="rows", path=table, schema=schema)
            stream = stream.through("static-join", name="joined", table="rows", on="value", how="left")
        stream = stream.through("map", name="more", set={"value": "value + 1"})
        (stream.shuffle() if deploy else stream).into(Collect, name="out")
        sets = [f"deploy.{key}={value}" for key, value in deploy.items()]
        job = compile_job(topology.spec(), load_deploy(None, sets, transport="local", workers=1))
        self.worker = Worker(job, 0, None, None)
        self.worker.turn_ns = 1 << 60  # no turn ends because the machine is busy
        self.worker.units = build_units(self.worker)
        heads = {unit.head.name: unit for unit in self.worker.units}
        self.sources = [heads["source0"], heads["source1"]]
        self.union = heads["both"]
        assert isinstance(self.union, OperatorUnit)
        self.members = {each.name: each for unit in self.worker.units for each in unit.members}

    def push(self, source: int, first: int, rows: int = FEW_ROWS) -> None:
        self.sources[source].head.forward(numbers(np.arange(first, first + rows)))

    def mark(self, source: int, kind: FrameKind, barrier: int = 0) -> None:
        for lane in self.sources[source].lanes:
            lane.control(kind, barrier)

    @property
    def out(self) -> list[int]:
        """The first of each 64 values that have come out."""
        return [row[0] - 1 for row in self.members["out"].actor.rows][::FEW_ROWS]  # type: ignore[attr-defined]

    def waiting(self) -> list[int]:
        return [lane.channel.waiting() for lane in self.union.in_lanes]  # type: ignore[attr-defined]


@pytest.fixture
def ran_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[KernelChain]]:
    """The chains that have taken a batch, in order."""
    found: list[KernelChain] = []
    run = KernelChain.run

    def noted(chain: KernelChain, batch: Any) -> bool:
        done = run(chain, batch)
        if done:
            found.append(chain)
        return done

    monkeypatch.setattr(KernelChain, "run", noted)
    yield found


def test_a_batch_of_either_source_is_one_call_through_the_union(ran_by: list[KernelChain]) -> None:
    turns = Turns()
    turns.push(0, 0)
    turns.push(1, 1000)
    assert turns.out == [0, 1000]
    assert [[each.name for each in chain.members] for chain in ran_by] == [
        ["some0", "both", "more"],
        ["some1", "both", "more"],
    ]
    turns.union.settle()
    assert [turns.members[name].events_in for name in ("some0", "some1", "both", "more")] == [
        64,
        64,
        128,
        128,
    ]


def test_rows_behind_a_barrier_wait_until_it_has_come_by_every_input() -> None:
    turns = Turns()
    turns.push(0, 0)
    turns.mark(0, FrameKind.BARRIER, 1)
    turns.push(0, 1000)
    assert turns.out == [0], "the barrier waits in the channel"
    turns.union.step()
    turns.sources[0].flush()
    turns.union.step()
    turns.push(0, 2000)
    assert turns.out == [0], "the union waits for the barrier of the other source"
    turns.push(1, 3000)
    assert (turns.out, turns.union.barrier) == ([0, 3000], 0)
    turns.mark(1, FrameKind.BARRIER, 1)
    turns.push(1, 4000)
    for unit in (turns.union, *turns.sources, turns.union):
        unit.step() if unit is turns.union else unit.flush()
    assert turns.union.barrier == 1
    assert sorted(turns.out) == [0, 1000, 2000, 3000, 4000]
    turns.push(0, 5000)
    assert turns.out[-1] == 5000


def test_small_batches_gather_in_the_channel_and_rows_follow_those_that_wait_there() -> None:
    turns = Turns()
    turns.members["some0"].forward(numbers(np.arange(FEW_ROWS - 1)))
    turns.push(0, 1000)
    assert turns.out == []
    turns.push(1, 2000)
    assert turns.out == [2000]
    turns.union.step()
    turns.sources[0].flush()
    turns.union.step()
    assert turns.waiting() == [0, 0]
    assert turns.members["out"].events_in == 3 * FEW_ROWS - 1
    turns.push(0, 3000)
    assert turns.waiting() == [0, 0]


def test_a_chain_through_the_union_begins_when_the_tables_behind_it_are_complete(
    tmp_path: Path, ran_by: list[KernelChain]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("value,weight\n1,2\n")
    turns = Turns(table=str(path))
    turns.push(0, 0)
    assert (turns.out, ran_by) == ([], [])
    (rows,) = (unit for unit in turns.worker.units if unit not in (*turns.sources, turns.union))
    rows.control(FrameKind.END, 0)
    while turns.union.static is not None:
        turns.union.step()
    turns.union.step()
    turns.push(0, 1000)
    assert turns.out == [0, 1000]
    assert [each.name for each in ran_by[-1].members] == ["some0", "both", "joined", "more"]


def test_rows_wait_in_the_channel_while_an_output_of_the_union_is_full() -> None:
    turns = Turns(edge_bytes=4096)
    while not turns.union.blocked:
        turns.push(0, 0)
    assert turns.waiting() == [0, 0]
    turns.push(0, 1000)
    turns.push(1, 2000)
    assert turns.waiting() == [1, 1]


def test_without_pipelining_and_with_a_schedule_all_batches_go_by_channels() -> None:
    for deploy in ({"pipelining": "false"}, {"schedule": "ct"}):
        turns = Turns(**deploy)
        assert not turns.worker.job.merged


def test_the_time_in_which_producers_call_the_union_is_no_waiting_and_its_batches_are_counted() -> None:
    turns = Turns()
    turns.union.step()
    turns.push(0, 0)
    turns.push(1, 64)
    for unit in (*turns.sources, turns.union):
        unit.settle()
        unit.publish()
    row = turns.worker.job.counters
    heads = [turns.members[name].id for name in ("source0", "source1", "both")]
    assert [row.value(each, Counter.JUMBO_OUT) for each in heads] == [1, 1, 0]
    assert row.value(heads[2], Counter.JUMBO_IN) == 2
    assert row.value(heads[2], Counter.EVENTS_IN) == 128


def test_a_long_line_of_unions_is_cut_so_that_calls_are_not_too_deep() -> None:
    topology = Topology("line")
    stream = topology.source(Numbers, name="first", count=5000)
    for number in range(LONGEST_CHAIN + 8):
        other = topology.source(Numbers, name=f"source{number}", count=number)
        stream = stream.through("union", other, name=f"union{number}")
    out = stream.collect()
    job = compile_job(topology.spec(), load_deploy(None, (), transport="local", workers=1))
    past = {each.id for each in job.plan.channels if each.id in job.merged}
    names = [each.actor for each in job.plan.replicas]
    cut = [
        names[each.consumer]
        for each in job.plan.channels
        if each.id not in past and "union" in names[each.consumer]
    ]
    assert 0 < len(cut) < 6
    topology.run(transport="local", workers=1)
    assert len(out) == 5000 + sum(range(LONGEST_CHAIN + 8))


def test_what_waits_for_the_union_is_handed_over_at_the_end_of_a_turn() -> None:
    turns = Turns()
    turns.members["some0"].forward(numbers(np.arange(8)))
    turns.members["some0"].forward(numbers(np.arange(8)))
    assert turns.waiting() == [1, 0]
    turns.union.step()
    turns.sources[0].settle_turn(Status.READY)
    turns.union.step()
    turns.push(0, 0)
    assert turns.members["out"].events_in == 2 * 8 + FEW_ROWS


def test_a_source_reads_as_few_rows_as_what_is_made_behind_the_union_allows() -> None:
    turns = Turns()
    assert turns.sources[0].row_budget is None
    topology = Topology("wide")
    rows = [topology.source(Numbers, name=f"source{each}", count=1) for each in range(2)]
    texts = (
        rows[0].through("union", rows[1], name="both").through("map", set={"text": "str(value) + str(group)"})
    )
    texts.collect()
    worker = Worker(
        compile_job(topology.spec(), load_deploy(None, (), transport="local", workers=1)), 0, None, None
    )
    sources = [unit for unit in build_units(worker) if "source" in unit.head.name]
    assert [unit.row_budget.rows for unit in sources if unit.row_budget] == [1, 1]
