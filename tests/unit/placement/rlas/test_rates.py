"""Formula 1 and 2 and the constraints of Eq. 3 to 5."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from actorstream.placement.rlas import load_machine_model
from actorstream.placement.rlas.costs import costs_of
from actorstream.placement.rlas.instance import Instance, instance_of
from actorstream.placement.rlas.rates import group_rates, violations

from .small import dataflow, machine, operator, profile, random_costs

ROOT = Path(__file__).resolve().parents[4]
TABLE_3 = {  # briskstream-rlas: ns per tuple of splitter and counter, estimated
    (0, 0): (1612.8, 612.3),
    (0, 1): (1991.1, 665.2),
    (0, 3): (1994.9, 665.9),
    (0, 4): (2923.7, 837.9),
    (0, 7): (3196.4, 888.4),
}


@pytest.mark.parametrize("pair", TABLE_3)
def test_the_time_of_splitter_and_counter_by_distance_is_near_the_paper_s_estimate(
    pair: tuple[int, int],
) -> None:
    server = load_machine_model(ROOT / "deploy/machines/server-a.toml")
    split = 1612.8 + server.fetch_ns(384, *pair)
    count = 612.3 + server.fetch_ns(64, *pair)
    assert (split, count) == pytest.approx(TABLE_3[pair], rel=0.02)


def test_cache_lines_are_whole_ones_of_a_tuple_or_of_a_jumbo_tuple() -> None:
    small = machine(far=100)
    assert small.fetch_ns(16, 0, 1) == 100
    assert small.fetch_ns(65, 0, 1) == 200
    assert small.fetch_ns(16, 0, 1, rows=64) == 25
    assert small.fetch_ns(16, 1, 1, rows=64) == 0


def made(places_far: float = 300.0, **operators: float) -> Instance:
    flow = dataflow("a>c", "b>c")
    known = profile(**{name: operator(time) for name, time in operators.items()})
    return instance_of(costs_of(flow, known, rows=1), machine(far=places_far), [1, 1, 1])


def test_an_under_supplied_operator_passes_on_what_it_gets() -> None:
    rates = group_rates(made(a=1000, b=500, c=100), [0, 0, 0])
    assert [each.arriving for each in rates] == pytest.approx([1e6, 2e6, 3e6])
    assert rates[2].processed == pytest.approx(3e6)
    assert rates[2].shares == pytest.approx({(0, 0): 1e6, (1, 1): 2e6})


def test_an_over_supplied_operator_serves_its_producers_in_proportion() -> None:
    rates = group_rates(made(a=1000, b=500, c=1000), [0, 0, 0])
    assert rates[2].busy == pytest.approx(3)
    assert rates[2].processed == pytest.approx(1e6)
    assert rates[2].shares == pytest.approx({(0, 0): 1e6 / 3, (1, 1): 2e6 / 3})


def test_only_tuples_of_remote_producers_cost_a_fetch() -> None:
    rates = group_rates(made(a=1000, b=500, c=700), [1, 0, 0])
    mean = (1 * (700 + 300) + 2 * 700) / 3
    assert rates[2].processed == pytest.approx(1e9 / mean)


def test_another_clock_stretches_the_execution_and_not_the_fetch() -> None:
    instance = made(a=1000, b=1000, c=1000)
    slow = msgspec.structs.replace(instance.machine, sockets=machine(hertz=5e8).sockets)
    rates = group_rates(instance_of(instance.costs, slow, [1, 1, 1]), [1, 1, 0])
    assert rates[0].arriving == pytest.approx(5e5)
    assert rates[2].processed == pytest.approx(1e9 / 2300)


def test_the_offered_ingress_limits_sources() -> None:
    rates = group_rates(made(a=1000, b=500, c=100), [0, 0, 0], ingress=1e6)
    assert [each.arriving for each in rates] == pytest.approx([5e5, 5e5, 1e6])


def test_each_constraint_is_told_with_what_is_needed_and_what_is_there() -> None:
    flow = dataflow("a>b", replicas={"a": 3})
    known = profile(a=operator(1000, memory=100), b=operator(100))
    tight = machine(bandwidth=6e7)
    instance = instance_of(costs_of(flow, known), tight, [3, 1])
    found = {each.constraint: each for each in violations(instance, [0, 0, 0, 1])}
    assert (found["cpu"].socket, found["cpu"].needed, found["cpu"].there) == (0, pytest.approx(3), 2)
    assert found["memory"].needed == pytest.approx(3e8)
    assert (found["channel"].producer, found["channel"].socket) == (0, 1)
    assert found["channel"].needed == pytest.approx(
        2.5e6 * 64
    )  # what b processes: 100 ns and 300 for the fetch


def test_at_the_ingress_that_the_peak_allows_nothing_is_short_and_above_it_something_is() -> None:
    """The search in C and the model in Python say the same of 200 random placements."""
    draw = random.Random(7)
    for _ in range(200):
        costs, replicas = random_costs(draw)
        model = machine(3, 2, bandwidth=draw.choice([1e12, 3e8]))
        instance = instance_of(costs, model, replicas, compression=draw.choice([1, 2]))
        places = [draw.randrange(3) for _ in instance.groups]
        ingress = 1 / instance.problem.peak(places)
        assert not short(instance, places, ingress * 0.999)
        assert short(instance, places, ingress * 1.001)


def short(instance: Instance, places: list[int], ingress: float) -> bool:
    """Sources are not held back here, so that it shows when they cannot make what is offered."""
    rates = group_rates(instance, places, ingress)
    made = sum(each.arriving for each, entering in zip(rates, instance.entering) if not entering)
    over = any(each.busy > 1 + 1e-9 for each in rates)
    return over or made < ingress * (1 - 1e-9) or bool(violations(instance, places, ingress))
