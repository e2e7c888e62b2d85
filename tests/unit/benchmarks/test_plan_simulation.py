"""Simulated plans: every event is worked on once, time adds up, and what waits for states is told from what does not."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.plan_simulation import Costs, Simulation
from benchmarks.plan_speedup import APPS, load

PER, WINDOWS = 1_000, 12
COSTS = Costs(make=2.0, row=10.0, slice=1_000.0, message=5_000.0, hop=2_500.0, join=4_000.0)


@pytest.mark.parametrize("app", APPS)
def test_one_core_takes_what_its_work_costs(app: str) -> None:
    ran = Simulation(load(app, PER), 1, COSTS, WINDOWS).run()
    rows, synchronizing = 2 * PER * WINDOWS, WINDOWS * (2 if app == "page_view_join" else 1)
    values = rows * (COSTS.make + COSTS.row) + synchronizing * COSTS.join
    least = rows / (values + 2 * WINDOWS * COSTS.slice) * 1e9
    most = rows / values * 1e9
    assert least * 0.95 < ran.rate < most and not ran.joins


@pytest.mark.parametrize("app", APPS)
@pytest.mark.parametrize("cores", [2, 3, 8])
def test_all_synchronizing_events_come_to_their_end(app: str, cores: int) -> None:
    ran = Simulation(load(app, PER), cores, COSTS, WINDOWS).run()
    assert len(ran.latencies) == WINDOWS * (2 if app == "page_view_join" else 1)


def test_the_same_costs_give_the_same_run() -> None:
    first, second = (Simulation(load("rule_fraud", PER), 4, COSTS, WINDOWS).run() for _ in range(2))
    assert first.rate == second.rate and first.latencies.tolist() == second.latencies.tolist()


def test_messages_that_take_long_slow_down_who_waits_for_states_and_not_who_adds() -> None:
    slow = Costs(make=2.0, row=10.0, slice=1_000.0, message=5_000.0, hop=200_000.0, join=4_000.0)
    for app, factor in (("value_barrier", 0.7), ("rule_fraud", 0.0)):
        fast_rate, slow_rate = (
            Simulation(load(app, PER), 2, costs, 10 * WINDOWS).run().rate for costs in (COSTS, slow)
        )
        assert factor < slow_rate / fast_rate < 1.01
        if app == "rule_fraud":
            assert slow_rate / fast_rate < 0.3


def test_a_join_does_not_wait_for_the_next_values_of_a_stream() -> None:
    cheap = Costs(make=0.0, row=1.0, slice=1_000.0, message=2_000.0, hop=1_000.0, join=1_000.0)
    ran = Simulation(load("value_barrier", 20), 2, cheap, 6, period=1e9, heartbeats=50).run()
    apart = 1e9 / 2  # from one batch of a stream to the next
    assert len(ran.latencies) == 6 and float(np.max(ran.latencies)) < apart / 1_000


def test_heartbeats_let_values_go_on_before_the_next_barrier() -> None:
    dear = Costs(make=0.0, row=500.0, slice=1_000.0, message=5_000.0, hop=2_500.0, join=4_000.0)
    few, many = (
        Simulation(load("value_barrier", 2_000), 2, dear, 6, period=2e7, heartbeats=beats).run().latencies
        for beats in (1, 50)
    )
    assert len(few) == len(many) == 6
    assert np.percentile(many, 50) < 0.7 * np.percentile(few, 50)
