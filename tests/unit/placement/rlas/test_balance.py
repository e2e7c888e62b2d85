"""Replicas of a socket on its workers, and what workers let in."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from actorstream.placement.rlas import MachineModel
from actorstream.placement.rlas.balance import balanced
from actorstream.placement.rlas.costs import costs_of
from actorstream.placement.rlas.instance import Instance, instance_of
from actorstream.placement.rlas.worker_rates import on_workers, receiving
from tests.unit.placement.rlas.small import dataflow, machine, operator, profile, random_costs


def made(
    counts: list[int], *, core_ns: float = 0.0, hop: float = 0.0, take: float = 0.0, sockets: int = 1
) -> Instance:
    costs = costs_of(dataflow("a>b"), profile(a=operator(400), b=operator(600)), rows=64)
    return instance_of(replace(costs, hops=[hop], takes=[take]), near(sockets, 4, core_ns), counts)


def near(sockets: int, cores: int, core_ns: float) -> MachineModel:
    return replace(machine(sockets, cores), core_ns=core_ns)


def test_replicas_move_until_workers_share_the_work_evenly() -> None:
    instance, places = made([2, 3]), [0] * 5
    crowded = [0, 0, 1, 1, 1]  # 400 and 600 ns a tuple
    workers = balanced(instance, places, crowded)
    assert on_workers(instance, places, crowded).ingress == pytest.approx(1 / 600e-9)
    assert on_workers(instance, places, workers).ingress == pytest.approx(1 / 600e-9)
    lopsided = [0, 0, 0, 0, 1]
    assert on_workers(instance, places, lopsided).ingress == pytest.approx(1 / 800e-9)
    assert on_workers(instance, places, balanced(instance, places, lopsided)).ingress == pytest.approx(
        1 / 600e-9
    )


def test_a_hop_costs_the_producer_and_the_cache_line_its_consumer() -> None:
    instance = made([1, 1], core_ns=30.0, hop=50.0)
    assert on_workers(instance, [0, 0], [0, 0]).ingress == pytest.approx(1 / 1000e-9)
    apart = on_workers(instance, [0, 0], [0, 1])
    assert (apart.ingress, apart.busiest) == (pytest.approx(1 / 630e-9), 1)
    costly = made([1, 1], core_ns=30.0, hop=250.0)
    apart = on_workers(costly, [0, 0], [0, 1])
    assert (apart.ingress, apart.busiest) == (pytest.approx(1 / 650e-9), 0)


def test_workers_with_more_threads_than_their_socket_has_cores_share_these() -> None:
    costs = costs_of(dataflow("a>b"), profile(a=operator(400), b=operator(600)), rows=64)
    costly = instance_of(replace(costs, hops=[1000.0], takes=[0.0]), near(1, 2, 0.0), [2, 2])
    pooled = on_workers(costly, [0] * 4, [0, 1, 0, 1], pool=1)
    assert pooled.ingress == pytest.approx(2 / 1500e-9), "half of the rows go to the other worker"
    assert (pooled.busiest, pooled.crowded) == (None, 0)
    apart = on_workers(costly, [0] * 4, [0, 1, 2, 3])
    assert apart.ingress == pytest.approx(2 / 2000e-9), "four workers on two cores"
    assert on_workers(costly, [0] * 4, [0, 1, 0, 1]).crowded is None


def test_taking_in_costs_the_consumer_from_whichever_worker_it_is() -> None:
    instance = made([1, 1], core_ns=30.0, take=70.0, sockets=2)
    assert on_workers(instance, [0, 0], [0, 0]).ingress == pytest.approx(1 / 1000e-9)
    assert on_workers(instance, [0, 0], [0, 1]).ingress == pytest.approx(1 / 700e-9)
    far = made([1, 1], core_ns=30.0, take=70.0, sockets=2)
    without = made([1, 1], sockets=2)
    more = 1 / on_workers(far, [0, 1], [0, 4]).ingress - 1 / on_workers(without, [0, 1], [0, 4]).ingress
    assert more == pytest.approx(70e-9), "beside what the way between sockets takes"
    slow = far.machine.sockets[0]
    far.machine.sockets[1] = replace(slow, hertz=slow.hertz / 2, cpus=[], node=1)
    assert receiving(far, far.entering[1][0], 1, near=False) == pytest.approx(140e-9), "on a slower clock"


def test_an_operator_takes_less_time_the_fewer_others_share_its_core() -> None:
    one, two = made([1, 1]), made([2, 2])
    for each in (one, two):
        each.costs = replace(each.costs, apart=[1.0, 0.5])
    assert on_workers(one, [0, 0], [0, 0]).ingress == pytest.approx(1 / 1000e-9), "all of them share a core"
    assert on_workers(one, [0, 0], [0, 1]).ingress == pytest.approx(1 / 400e-9), "300 ns remain of the 600"
    both = on_workers(two, [0] * 4, [0, 1, 0, 1])
    assert both.ingress == pytest.approx(1 / 500e-9), "as many others for each row as on one core"
    half = on_workers(two, [0] * 4, [0, 0, 0, 1])
    assert half.ingress == pytest.approx(1 / 700e-9)


def test_rows_of_another_core_may_cost_an_operator_more_than_it_saves() -> None:
    known = profile(a=operator(400), b=replace(operator(600), apart=1.5), c=operator(100))
    costs = replace(costs_of(dataflow("a>b", "b>c"), known, rows=64), hops=[0.0, 0.0])
    one = instance_of(costs, near(1, 3, 0.0), [1, 1, 1])
    assert on_workers(one, [0] * 3, [0, 0, 0]).ingress == pytest.approx(1 / 1100e-9)
    assert on_workers(one, [0] * 3, [0, 1, 2]).ingress == pytest.approx(1 / 900e-9)
    assert on_workers(one, [0] * 3, [0, 1, 1]).ingress == pytest.approx(1 / 1000e-9), (
        "as far as from elsewhere"
    )
    assert on_workers(one, [0] * 3, [0, 0, 1]).ingress == pytest.approx(1 / 1000e-9), "its rows are there"
    for core_ns, fetched in ((100.0, 300.0), (700.0, 700.0)):  # of one line a row
        there = instance_of(costs, near(1, 3, core_ns), [1, 1, 1])
        assert receiving(there, there.entering[1][0], 0, near=True) == pytest.approx(fetched * 1e-9), "once"


def test_workers_of_a_socket_slow_each_other_down_as_far_as_both_have_work() -> None:
    one, two = made([1, 1], sockets=2), made([2, 2], sockets=2)
    for each in (one, two):
        each.costs = replace(each.costs, contention=1.3)
    assert on_workers(one, [0, 0], [0, 0]).ingress == pytest.approx(1 / 1000e-9), "a worker alone"
    assert on_workers(one, [0, 0], [0, 1]).ingress == pytest.approx(1 / (600e-9 * (1 + 0.3 * 400 / 600)))
    assert on_workers(two, [0] * 4, [0, 1, 0, 1]).ingress == pytest.approx(1 / 650e-9), "500 ns each"
    assert on_workers(two, [0] * 4, [0, 1, 2, 3]).ingress == pytest.approx(1 / 390e-9), "no more with four"
    far = on_workers(one, [0, 1], [0, 4]).ingress
    one.costs = replace(one.costs, contention=1.0)
    assert on_workers(one, [0, 1], [0, 4]).ingress == far, "another socket has a memory of its own"


def test_replicas_of_an_operator_take_more_beside_each_other_on_a_core() -> None:
    known = profile(a=operator(400), b=replace(operator(600), beside_ns=200.0))
    costs = replace(costs_of(dataflow("a>b"), known, rows=64), hops=[0.0])
    one, two = (instance_of(costs, near(1, 2, 0.0), counts) for counts in ([1, 1], [2, 2]))
    assert on_workers(one, [0, 0], [0, 0]).ingress == pytest.approx(1 / 1000e-9)
    assert on_workers(two, [0] * 4, [0, 0, 0, 0]).ingress == pytest.approx(1 / 1200e-9)
    assert on_workers(two, [0] * 4, [0, 1, 0, 1]).ingress == pytest.approx(1 / 500e-9), "a core for each"
    assert on_workers(two, [0] * 4, [0, 0, 1, 1]).ingress == pytest.approx(1 / 800e-9)


def test_without_such_a_cost_the_limits_are_those_of_the_sockets() -> None:
    draw = random.Random(3)
    for _ in range(20):
        costs, counts = random_costs(draw)
        instance = instance_of(replace(costs, hops=[0.0] * len(costs.flows)), near(2, 3, 0.0), counts)
        places = [draw.randrange(2) for _ in instance.groups]
        workers = list(range(len(places)))
        plain = on_workers(instance, places, workers)
        instance.costs = replace(instance.costs, apart=[1 - 1e-12] * len(counts))
        assert on_workers(instance, places, workers).ingress == pytest.approx(plain.ingress)


def test_neighbours_come_together_where_hops_cost_more_than_a_core_brings() -> None:
    instance = made([2, 2], hop=2000.0)
    # each of two workers with a producer and a consumer sends half of its rows to the other
    assert on_workers(instance, [0] * 4, [0, 1, 0, 1]).ingress < 1 / 1000e-9
    workers = balanced(instance, [0] * 4, [0, 1, 0, 1])
    assert on_workers(instance, [0] * 4, workers).ingress == pytest.approx(1 / 1000e-9)


def test_a_replica_stays_on_its_socket_and_no_random_dealing_gets_worse() -> None:
    draw = random.Random(7)
    for _ in range(20):
        costs, counts = random_costs(draw)
        hops, takes = ([draw.choice([0.0, 40.0, 300.0]) for _ in costs.flows] for _ in range(2))
        costs = replace(costs, hops=hops, takes=takes)
        instance = instance_of(costs, near(2, 3, draw.choice([0.0, 20.0])), counts)
        places = [draw.randrange(2) for _ in instance.groups]
        workers = [3 * place + draw.randrange(3) for place in places]
        found = balanced(instance, places, workers)
        assert [each // 3 for each in found] == places
        assert set(found) <= set(workers)
        before, after = on_workers(instance, places, workers), on_workers(instance, places, found)
        assert after.ingress >= before.ingress * (1 - 1e-9)
