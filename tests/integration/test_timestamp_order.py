"""Timestamp order with what actors do: windows, rows without time, rows at the end, hooks that await, side inputs, and
diamonds whose rings hold one jumbo tuple."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.events.batch import Batch
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.deploy import DeploySpec
from tests.integration.parts import Collect
from tests.integration.test_timestamp_topologies import DEPLOYMENTS, in_rank_order, rows
from tests.integration.timestamp_parts import (
    KeepKey,
    Named,
    PassTicks,
    Plain,
    Renamed,
    Texts,
    Tick,
    Ticks,
    rows_of,
)

EVERYWHERE = pytest.mark.parametrize("deployment", [DEPLOYMENTS[0], DEPLOYMENTS[3], DEPLOYMENTS[4]], ids=str)
ONE_SLOT = {"workers": 2, "transport": "shm", "edge_bytes": 1, "pipelining": False}
WINDOWS: dict[str, dict[str, Any]] = {
    "tumbling": {"type": "tumbling", "size": "10ms"},
    "sliding": {"type": "sliding", "size": "20ms", "slide": "10ms"},
    "session": {"type": "session", "gap": "2ms"},
}


class AsyncCopy(Actor):
    async def on_event(self, event: Tick) -> Tick:
        import asyncio

        if event.n % 50 == 0:
            await asyncio.sleep(0)
        return event


class Totals(Actor):
    """Per key how many rows came, told at the end."""

    outputs: ClassVar[dict[str, Any]] = {"default": Plain}

    def __init__(self) -> None:
        self.state: dict[int, int] = {}

    def on_event(self, event: Tick) -> None:
        self.state[event.key] = self.state.get(event.key, 0) + 1

    def on_end(self) -> Iterator[Plain]:
        for key, count in self.state.items():
            yield Plain(key, count)


class Sides(Actor):
    """Rows of its first input, while the second, which is in no order, is only counted."""

    outputs: ClassVar[dict[str, Any]] = {"default": Tick}

    def __init__(self) -> None:
        self.state = 0

    def on_ticks(self, batch: Batch) -> Batch:
        return batch

    def on_side(self, batch: Batch) -> None:
        self.state += batch.rows


class TwoHooks(Actor):
    """One sequence of two inputs of different types."""

    outputs: ClassVar[dict[str, Any]] = {"default": Named}

    def on_left(self, event: Tick) -> Named:
        return Named(event.t, f"left {event.who}/{event.n}")

    def on_right(self, event: Named) -> Named:
        return Named(event.t, f"right {event.name}")


@EVERYWHERE
@pytest.mark.parametrize("window", sorted(WINDOWS))
def test_rows_of_windows_come_by_end_start_and_key_whatever_the_replicas(
    window: str, deployment: dict[str, Any]
) -> None:
    found = []
    for replicas in (1, 3):
        topology = Topology("windows")
        source = topology.source(Ticks, name="source", who=1, count=700, parts=2, span=150)
        windows = source.by("key").through(
            "aggregate",
            name="windows",
            replicas=replicas,
            key=["key"],
            window=WINDOWS[window],
            aggregates={"rows": "count()", "sum": "sum(n)"},
        )
        passed = windows.forward().through("map", name="passed", replicas=replicas, set={"rows": "rows"})
        passed.to_one().ordered("timestamp").into(Collect, name="sink")
        found.append(rows(topology, deployment))
    assert found[0] == found[1]
    assert found[0] == sorted(found[0], key=lambda row: (row[1], row[0], row[2]))
    size = 2 if window == "sliding" else 1
    assert sum(row[3] for row in found[0]) == 1400 * size


@EVERYWHERE
def test_rows_without_time_of_their_own_have_that_of_the_rows_they_come_from(
    deployment: dict[str, Any],
) -> None:
    topology = Topology("descent")
    first = topology.source(Ticks, name="first", who=1, count=300, parts=2, span=60)
    second = topology.source(Ticks, name="second", who=2, count=300, span=60)
    one = first.shuffle().through(Renamed, name="one", replicas=3)
    two = second.through(Renamed, name="two")
    one.to_one().ordered("timestamp").into(Collect, two.ordered("timestamp"), name="sink")
    expected = in_rank_order(rows_of(1, 300, 2, 60), rows_of(2, 300, 1, 60))
    assert rows(topology, deployment) == [(row[1], row[3]) for row in expected]


@EVERYWHERE
def test_texts_and_hooks_that_await_keep_the_order(deployment: dict[str, Any]) -> None:
    topology = Topology("texts")
    source = topology.source(Ticks, name="source", who=1, count=300, parts=2, span=60)
    awaited = source.by("key").through(AsyncCopy, name="awaited", replicas=2)
    texts = awaited.shuffle().through(Texts, name="texts", replicas=2)
    texts.to_one().ordered("timestamp").into(Collect, name="sink")
    expected = [(t, f"{who}/{part}/{n}") for t, who, part, n, _ in rows_of(1, 300, 2, 60)]
    assert rows(topology, deployment) == expected


def test_rows_of_the_end_come_last_replica_by_replica() -> None:
    found = []
    for deployment in DEPLOYMENTS:
        topology = Topology("end")
        source = topology.source(Ticks, name="source", who=1, count=300, span=60)
        totals = source.by("key").through(Totals, name="totals", replicas=3)
        totals.to_one().ordered("timestamp").into(Collect, name="sink")
        found.append(rows(topology, deployment))
    assert all(each == found[0] for each in found)
    assert sorted(found[0]) == sorted(Counter(row[4] for row in rows_of(1, 300, 1, 60)).items())


@EVERYWHERE
def test_inputs_of_two_types_are_one_sequence(deployment: dict[str, Any]) -> None:
    topology = Topology("types")
    first = topology.source(Ticks, name="first", who=1, count=200, span=60)
    second = topology.source(Ticks, name="second", who=2, count=200, span=60).through(Texts, name="texts")
    left, right = first.ordered("timestamp").named("left"), second.ordered("timestamp").named("right")
    left.through(TwoHooks, right, name="both").into(Collect, name="sink")
    expected = in_rank_order(rows_of(1, 200, 1, 60), rows_of(2, 200, 1, 60))
    assert rows(topology, deployment) == [
        (t, f"left 1/{n}" if who == 1 else f"right 2/{part}/{n}") for t, who, part, n, _ in expected
    ]


@EVERYWHERE
def test_a_side_input_stands_beside_the_sequence(deployment: dict[str, Any]) -> None:
    topology = Topology("side")
    first = topology.source(Ticks, name="first", who=1, count=200, span=60)
    second = topology.source(Ticks, name="second", who=2, count=200, span=60)
    side = topology.source(Ticks, name="aside", who=3, count=500, span=60, shuffled=40)
    both = first.ordered("timestamp").through("union", second.ordered("timestamp"), name="both")
    sides = both.ordered("timestamp").named("ticks").through(Sides, side.named("side"), name="sides")
    sides.into(Collect, name="sink")
    assert rows(topology, deployment) == in_rank_order(rows_of(1, 200, 1, 60), rows_of(2, 200, 1, 60))


@pytest.mark.parametrize("span", [1, 30, 4000])
@pytest.mark.parametrize("batch_size", [1, 5, 4096])
def test_a_diamond_with_rings_of_one_slot_and_a_branch_that_drops_everything_runs_to_the_end(
    span: int, batch_size: int
) -> None:
    """More ties than slots, on rings that hold one jumbo tuple; two merges of opposite ranks one after the other."""
    topology = Topology("diamond")
    source = topology.source(Ticks, name="source", who=1, count=400, parts=2, span=span)
    kept = source.through(PassTicks, name="kept")
    dropped = source.through(KeepKey, name="dropped")
    some = source.through(KeepKey, name="some", key=2).ordered("timestamp")
    one = kept.ordered("timestamp").through(PassTicks, dropped.ordered("timestamp"), name="one")
    two = dropped.ordered("timestamp").through(PassTicks, some, kept.ordered("timestamp"), name="two")
    one.ordered("timestamp").into(Collect, two.ordered("timestamp"), name="sink")
    found = rows(topology, {**ONE_SLOT, "batch_size": batch_size})
    given = rows_of(1, 400, 2, span)
    two_rows = in_rank_order([row for row in given if row[4] == 2], given)
    assert found == in_rank_order(given, two_rows)


def test_sources_and_merges_of_opposite_ranks_do_not_wait_for_each_other() -> None:
    topology = Topology("opposite")
    first = topology.source(Ticks, name="first", who=1, count=300, span=20).ordered("timestamp")
    second = topology.source(Ticks, name="second", who=2, count=300, span=20).ordered("timestamp")
    one = first.through(PassTicks, second, name="one")
    two = second.through(PassTicks, first, name="two")
    one.ordered("timestamp").into(Collect, two.ordered("timestamp"), name="sink")
    left, right = rows_of(1, 300, 1, 20), rows_of(2, 300, 1, 20)
    expected = in_rank_order(in_rank_order(left, right), in_rank_order(right, left))
    for batch_size in (1, 7, 64):
        assert rows(topology, {**ONE_SLOT, "batch_size": batch_size}) == expected


def test_a_plan_shows_which_inputs_are_in_timestamp_order() -> None:
    topology = Topology("shown")
    source = topology.source(Ticks, name="source", who=1)
    passed = source.shuffle().through(PassTicks, name="passed", replicas=2)
    passed.to_one().ordered("timestamp").into(Collect, name="sink")
    graph = compile_job(topology.spec(), DeploySpec()).graph
    hows = {edge.consumer: edge.how for edge in graph.edges}
    assert hows == {"passed": "shuffle, timestamp (implied)", "sink": "global, timestamp"}
