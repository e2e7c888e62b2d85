"""The simulated pool: known throughputs are met, limits are kept, everything comes out."""

from __future__ import annotations

import pytest

from actorstream.scheduling import SCHEDULES
from actorstream.scheduling.base import Heuristic
from benchmarks.worker_simulation import Simulation, Stage

KINDS = list(SCHEDULES.values())
CHAIN = [Stage("a", 20.0), Stage("b", 50.0, selectivity=0.5), Stage("c", 60.0)]
"""Costs 20 + 50 + 0.5 * 60 = 100 ns a tuple of the ingress."""


@pytest.mark.parametrize("kind", KINDS)
def test_one_worker_gets_through_what_the_costs_allow(kind: type[Heuristic]) -> None:
    found = Simulation(CHAIN, kind, 1).run(20_000_000)
    assert found.throughput_eps == pytest.approx(1e7, rel=0.1)
    assert found.busy == pytest.approx(1.0, rel=0.01)
    assert found.worker_time == pytest.approx({"a": 0.2, "b": 0.5, "c": 0.3}, rel=0.01)


@pytest.mark.parametrize("kind", [SCHEDULES["ct"], SCHEDULES["lp"]])
@pytest.mark.parametrize("workers", [2, 4, 16])
def test_stateless_operators_scale_with_the_workers(kind: type[Heuristic], workers: int) -> None:
    found = Simulation(CHAIN, kind, workers, queue=1 << 20).run(20_000_000)
    assert found.throughput_eps == pytest.approx(workers * 1e7, rel=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stateful_operator_bounds_the_throughput(kind: type[Heuristic]) -> None:
    stages = [Stage("a", 20.0), Stage("state", 40.0, limit=1)]
    found = Simulation(stages, kind, 8).run(10_000_000)
    assert found.throughput_eps == pytest.approx(1e9 / 40, rel=0.1)


def test_the_interpreters_lock_bounds_python_hooks() -> None:
    stages = [Stage("a", 1.0), Stage("python", 50.0, locked=1.0)]
    found = Simulation(stages, SCHEDULES["ct"], 4).run(4_000_000)
    assert found.throughput_eps == pytest.approx(1e9 / 50, rel=0.1)


def test_operators_of_the_loop_are_run_by_one_worker_only() -> None:
    stages = [Stage("a", 10.0, pooled=False), Stage("b", 10.0, pooled=False), Stage("c", 5.0)]
    found = Simulation(stages, SCHEDULES["ct"], 4).run(8_000_000)
    assert found.throughput_eps == pytest.approx(1e9 / 20, rel=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_at_a_rate_that_is_kept_up_with_latency_is_short(kind: type[Heuristic]) -> None:
    found = Simulation(CHAIN, kind, 2, rate=5e6).run(4_000_000)
    assert found.throughput_eps == pytest.approx(5e6, rel=0.05)
    assert found.latency_p99_ns < 50e6


def test_pulling_keeps_latency_lower_than_pushing() -> None:
    """Section 7.1: LP is the best for latency, ET and QST the worst, when the ingress always has more."""
    latency = {
        name: Simulation(CHAIN, kind, 4, queue=1 << 19).run(20_000_000).latency_mean_ns
        for name, kind in SCHEDULES.items()
    }
    assert latency["lp"] < latency["et"]
    assert latency["lp"] < latency["qst"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("selectivity", [0.0, 50.0])
def test_one_slot_and_any_selectivity_come_to_an_end(
    kind: type[Heuristic], workers: int, selectivity: float
) -> None:
    stages = [Stage("a", 10.0, selectivity), Stage("b", 1.0, limit=1)]
    found = Simulation(stages, kind, workers, batch=1, queue=1, window=1).run(500)
    assert found.throughput_eps > 0


@pytest.mark.parametrize(("workers", "slices"), [(1, 2), (2, 5)])
def test_under_lp_latency_is_some_slices_though_the_source_is_cheap(workers: int, slices: int) -> None:
    """With two workers the last operator is the bottleneck, and what may wait before it comes on top."""
    stages = [
        Stage("source", 20, limit=1, pooled=False),
        Stage("filter", 50, 0.3),
        Stage("state", 300, limit=1),
    ]
    run = Simulation(stages, SCHEDULES["lp"], workers, batch=4096, slice_ns=2_000_000, queue=1 << 14)
    assert run.run(5_000_000).latency_p99_ns < slices * 2_000_000


def test_what_a_worker_spends_between_turns_is_taken_from_its_throughput_and_not_from_the_costs() -> None:
    stages = [Stage("a", 100.0, limit=1)]
    plain = Simulation(stages, SCHEDULES["ct"], 1, batch=1000, slice_ns=100_000).run(1_000_000)
    simulation = Simulation(stages, SCHEDULES["ct"], 1, batch=1000, slice_ns=100_000, between_ns=100_000)
    found = simulation.run(1_000_000)  # a turn is one jumbo tuple of 100 us
    assert found.throughput_eps == pytest.approx(plain.throughput_eps / 2, rel=0.05)
    assert simulation.operators[0].cost == pytest.approx(100.0, rel=0.01)


def test_who_waits_for_the_lock_or_for_work_has_to_be_woken() -> None:
    stages = [Stage("source", 10, pooled=False, locked=0.5), Stage("work", 10, locked=0.5)]
    rates = [
        Simulation(stages, SCHEDULES["ct"], 2, switch_ns=switch_ns).run(400_000).throughput_eps
        for switch_ns in (0.0, 50_000.0)
    ]
    assert rates[1] < rates[0]


def test_a_short_queue_holds_the_source_up_and_keeps_latency_short() -> None:
    found = []
    for queue in (1 << 17, 1 << 14):
        stages = [Stage("source", 1, pooled=False), Stage("work", 100, limit=1, queue=queue)]
        found.append(Simulation(stages, SCHEDULES["ct"], 2).run(4_000_000))
    assert found[1].latency_mean_ns < found[0].latency_mean_ns / 2
    assert found[1].throughput_eps == pytest.approx(found[0].throughput_eps, rel=0.2)


def test_the_outputs_of_a_turn_leave_jumbo_tuple_by_jumbo_tuple() -> None:
    """A turn of 10 ms, of 0.1 ms a jumbo tuple: what comes of the first one is not as old as the turn."""
    stages = [Stage("source", 100.0, limit=1, pooled=False), Stage("sink", 1.0, limit=1)]
    simulation = Simulation(stages, SCHEDULES["lp"], 2, batch=1000, slice_ns=10_000_000)
    assert simulation.run(1_000_000).latency_mean_ns < 10_000_000
