"""Runs of the TPCx-BB queries for benchmarks, and what the simulator is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from actorstream.scheduling import SCHEDULES
from actorstream.scheduling.base import UNBOUNDED
from benchmarks import tpcx_bb
from benchmarks.suites.tpcx_bb import ORDERED
from benchmarks.tpcx_bb import BATCH_SIZE, OBSERVED, QUERIES, SMALL, topology
from benchmarks.tpcx_bb_models import Models
from benchmarks.tpcx_bb_stages import (
    Cost,
    between,
    chain,
    costs,
    imbalance,
    own_cost,
    pooled_stages,
    stages,
)
from benchmarks.worker_simulation import Simulation

TABLE_1 = {
    "q1": ["source", "stateless", "keyed", "keyed", "stateful"],
    "q2": ["source", "stateless", "keyed", "stateless", "keyed", "stateful"],
    "q3": ["source", "stateless", "keyed", "stateless", "keyed", "stateful"],
    "q4": ["source", "stateless", "keyed", "stateless", "stateful"],
    "q15": ["source", "stateless", "keyed"],
}
"""The paper's table 1, stateless neighbours as one; Q3 looks up categories later, and keeps its best at the end."""


def report(
    query: str, rows: int, row_ns: float, turn_ns: float, size: int, speed: float = 1.0
) -> dict[str, Any]:
    """Of a run in which every actor passes on half of its rows."""
    actors, seen_in, seen_out, came = {}, {}, {}, rows
    for actor, kind in chain(QUERIES[query]):
        out = rows if kind == "source" else came // 2
        worked = (row_ns * came + turn_ns * rows / size) / 1e9
        actors[actor] = [
            {"execute_s": worked / 2, "transfer_s": worked / 4},
            {"execute_s": worked / 4, "transfer_s": 0},
        ]
        seen_in[actor], seen_out[actor] = (0 if kind == "source" else came), out
        came = out
    return {"actors": actors, "events_in": seen_in, "events_out": seen_out, "throughput_eps": speed}


@pytest.mark.parametrize("query", TABLE_1)
def test_a_chain_is_that_of_table_1(query: str) -> None:
    kinds = [kind for _, kind in chain(QUERIES[query])]
    assert [
        kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind or kind != "stateless"
    ] == (TABLE_1[query])


@pytest.mark.parametrize("query", QUERIES)
def test_a_topology_without_order_has_one_replica_of_each_actor(query: str) -> None:
    plain, ordered = (topology(QUERIES[query], number, each) for number, each in ((1, False), (2, True)))
    assert {table.get("replicas", 1) for table in plain.values()} == {1}
    assert "'serial'" not in str(plain)
    assert "'serial'" in str(ordered)
    assert {table.get("replicas", 1) for table in ordered.values()} == {1, 2}
    assert all(Path(table["path"]).exists() for table in plain.values() if "path" in table)


def test_costs_of_rows_and_of_jumbo_tuples_are_told_apart() -> None:
    large, small = (report("q1", 1 << 20, 40.0, 30_000.0, size) for size in (BATCH_SIZE, SMALL))
    for cost in costs("q1", large, small):
        assert cost.row_ns == pytest.approx(40.0, rel=1e-3)
        assert cost.turn_ns == pytest.approx(30_000.0, rel=1e-3)
    assert [cost.selectivity for cost in costs("q1", large, small)] == [1.0, *[0.5] * 6, 1.0]


def test_noise_does_not_make_costs_negative() -> None:
    large, small = report("q1", 1 << 20, 40.0, 30_000.0, BATCH_SIZE), report("q1", 1 << 20, 4.0, 0.0, SMALL)
    assert all(cost.row_ns > 0 and cost.turn_ns == 0 for cost in costs("q1", large, small))
    assert all(cost.row_ns > 0 for cost in costs("q1", small, large))


def test_stateless_neighbours_are_one_stage_and_the_lock_is_what_differs() -> None:
    found = [
        Cost("in", "source", 5.0, 1000.0, 1.0),
        Cost("a", "stateless", 10.0, 1000.0, 0.5),
        Cost("b", "stateless", 20.0, 2000.0, 0.5),
        Cost("c", "keyed", 30.0, 0.0, 1.0),
        Cost("d", "stateful", 40.0, 0.0, 1.0),
    ]
    locked = stages(found, locked=True, partitions=1, slower={})
    assert [(each.name, each.cost_ns, each.selectivity, each.limit, each.turn_ns) for each in locked] == [
        ("in", 5.0, 1.0, 1, 1000.0),
        ("a", 20.0, 0.25, UNBOUNDED, 3000.0),
        ("c", 30.0, 1.0, 1, 0.0),
        ("d", 40.0, 1.0, 1, 0.0),
    ]
    assert [each.pooled for each in locked] == [False, True, True, True]
    free = stages(found, locked=False, partitions=100, slower={"c": 2.0})
    assert [each.name for each in free] == ["a", "c", "d"]
    assert (free[1].limit, free[1].cost_ns, free[0].turn_ns) == (100, 60.0, 0.0)
    found_more = [
        Simulation(free, SCHEDULES["ct"], workers).run(500_000).throughput_eps for workers in (1, 2, 8)
    ]
    assert found_more[0] < found_more[1] < found_more[2]


@pytest.mark.parametrize("query", QUERIES)
def test_more_partitions_are_less_even(query: str) -> None:
    for operator, few in imbalance(query, 2).items():
        assert 1.0 <= few <= imbalance(query, 64)[operator]
    assert set(imbalance(query, 2)) == set(QUERIES[query].keyed)


def test_the_fastest_run_says_what_operators_cost() -> None:
    models = Models(0.0, 1_000_000)
    models.small = lambda query: report(query, 1 << 20, 100.0, 0.0, SMALL)  # type: ignore[assignment]
    models.remember("q1", report("q1", 1 << 20, 100.0, 0.0, BATCH_SIZE, speed=2.0))
    slow = models.throughput("q1", "lp", 2)
    models.remember("q1", report("q1", 1 << 20, 10_000.0, 0.0, BATCH_SIZE, speed=1.0))
    assert models.throughput("q1", "lp", 2) == slow
    models.remember("q1", report("q1", 1 << 20, 10.0, 0.0, BATCH_SIZE, speed=3.0))
    assert models.throughput("q1", "lp", 2) > 5 * slow


@pytest.mark.parametrize(
    "deploy",
    [
        {"schedule": "lp", "threads": 1},
        *({"ordered": True, "workers": 2, "transport": "shm", **how} for how in ORDERED.values()),
    ],
)
def test_a_short_run_sees_every_row_behind_the_last_operator(deploy: dict[str, Any]) -> None:
    ran = tpcx_bb.run("q1", 0.1, **deploy)
    rate, mean, p99 = tpcx_bb.figures(ran)
    assert rate > 0
    assert mean > 0
    assert p99 > 0


def scheduled(
    query: str, called: set[str], pooled: Mapping[str, float] = MappingProxyType({})
) -> dict[str, Any]:
    """The report of a run with a schedule: actors that are called directly by the one before, and of whose kernels so much is
    left to threads. Of the 60 ns or so of a row 20 are kernels."""
    actors: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for number, actor in enumerate([*dict(chain(QUERIES[query])), OBSERVED]):
        if actor not in called:
            turns = 100 + number
            own = {
                "turns": turns,
                "cost_ns": 60.0 + number,
                "kernel_ns": 20.0,
                "pooled_ns": pooled.get(actor, 0.0),
                "selectivity": 1.0,
                "wait_out_s": 0.0,
                "worklist_max": 1000,
            }
        actors[actor] = [own]
    rows = {chain(QUERIES[query])[0][0]: 1 << 20}
    return {"actors": actors, "events_out": rows, "throughput_eps": 1e6}


def test_what_is_called_directly_is_one_stage_of_the_loop() -> None:
    of_chain = [actor for actor, _ in chain(QUERIES["q1"])]
    source, filtered = of_chain[0], of_chain[1]
    found = pooled_stages("q1", scheduled("q1", {filtered, *of_chain[3:5]}))
    assert [each.name for each in found] == [source, of_chain[2], *of_chain[5:], OBSERVED]
    assert not any(each.pooled for each in found)
    assert [each.limit for each in found] == [1, UNBOUNDED, *[1] * (len(found) - 2)]


def test_kernels_that_the_loop_leaves_to_threads_are_a_stage_behind_it() -> None:
    of_chain = [actor for actor, _ in chain(QUERIES["q1"])]
    source, last = of_chain[0], of_chain[-1]
    called = set(of_chain[1:-1])
    found = pooled_stages("q1", scheduled("q1", called, {source: 15.0, last: 20.0}))
    assert [each.name for each in found] == [source, f"{source} kernels", last, f"{last} kernels", OBSERVED]
    assert [each.pooled for each in found] == [False, True, False, True, False]
    assert [each.cost_ns for each in found[:2]] == [45.0, 15.0]
    assert (found[3].limit, found[3].queue) == (1, 1)


def test_the_time_between_turns_is_what_is_missing_on_one_worker() -> None:
    measured = scheduled("q15", set())
    worked = own_cost(pooled_stages("q15", measured))
    rows, heads = 1 << 20, len(chain(QUERIES["q15"])) + 1
    turns = sum(100 + number for number in range(heads))
    measured["throughput_eps"] = 1e9 / (worked + 40_000 * turns / rows)
    assert between("q15", measured) == pytest.approx(40_000)
    measured["throughput_eps"] = 1e12
    assert between("q15", measured) == 0.0
