"""Whole plans: replicas, sockets and predicted rates."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actorstream.errors import ConfigurationError
from actorstream.placement.rlas import OutputProfile, PlanOptions, load_machine_model, plan
from actorstream.placement.rlas.strategies import STRATEGIES

from .small import dataflow, machine, operator, profile

ROOT = Path(__file__).resolve().parents[4]
WORDS = dataflow("lines>split", "split>count", "count>out")
COSTS = profile(lines=operator(400), split=operator(1000, 10), count=operator(600), out=operator(50))
QUICK = PlanOptions(steps=2000)


def test_replicas_follow_the_work() -> None:
    found = plan(WORDS, machine(4, 4), COSTS, QUICK)
    counts = found.counts()
    assert sum(counts.values()) <= 16
    assert counts["count"] > counts["split"] >= counts["lines"]
    used = [each.utilisation for each in found.rates] + [each.cpu for each in found.sockets]
    assert max(used) == pytest.approx(1)
    assert found.limit.endswith(("all the time", "all the time (Eq. 3)"))


def test_rates_are_of_the_replicas_that_are_placed_where_more_of_them_were_tried() -> None:
    """What it costs to route rows makes one replica of each operator the best plan."""
    lines = msgspec.structs.replace(
        operator(400), outputs={"default": OutputProfile(selectivity=1, bytes=64, route_ns=1e6)}
    )
    costs = profile(lines=lines, split=operator(1000, 10), count=operator(600), out=operator(50))
    chain = dataflow("lines>split", "split=count", "count=out", replicas={"lines": 1})
    found = plan(chain, machine(4, 4), costs, msgspec.structs.replace(QUICK, replicas={"lines": 1}))
    assert {each.operator: each.replicas for each in found.rates} == found.counts()
    assert found.counts()["split"] == 1


def test_predicted_rates_follow_the_selectivities() -> None:
    found = plan(WORDS, machine(2, 4), COSTS, QUICK)
    rates = {each.operator: each for each in found.rates}
    assert rates["split"].output_rate == pytest.approx(10 * rates["split"].input_rate)
    assert found.throughput == pytest.approx(rates["out"].input_rate) == pytest.approx(10 * found.ingress)


def test_the_same_input_gives_the_same_plan() -> None:
    assert plan(WORDS, machine(4, 4), COSTS, QUICK) == plan(WORDS, machine(4, 4), COSTS, QUICK)


def test_no_baseline_and_none_of_a_hundred_random_plans_is_better() -> None:
    best = plan(WORDS, machine(4, 4), COSTS, QUICK).throughput
    for strategy in set(STRATEGIES) - {"rlas", "random"}:
        options = msgspec.structs.replace(QUICK, strategy=strategy)
        assert plan(WORDS, machine(4, 4), COSTS, options).throughput <= best * (1 + 1e-9), strategy
    for seed in range(100):
        options = PlanOptions(strategy="random", seed=seed)
        assert plan(WORDS, machine(4, 4), COSTS, options).throughput <= best, seed


def test_operators_that_are_tied_have_equal_numbers_of_replicas_in_the_plan_of_every_strategy() -> None:
    chain = msgspec.structs.replace(
        dataflow("lines>split", "split=count", "count>out"), tied=[["split", "count"]]
    )
    for name in STRATEGIES:
        counts = plan(chain, machine(4, 4), COSTS, msgspec.structs.replace(QUICK, strategy=name)).counts()
        assert counts["split"] == counts["count"] > 1, name
        assert sum(counts.values()) <= 16, name
    one = plan(chain, machine(4, 4), COSTS, msgspec.structs.replace(QUICK, replicas={"count": 3})).counts()
    assert (one["split"], one["count"]) == (3, 3)


def test_operators_with_a_written_number_of_replicas_keep_it() -> None:
    fixed = dataflow("lines>split", "split>count", replicas={"split": 2, "count": 3}, scalable=False)
    found = plan(fixed, machine(2, 2), COSTS, QUICK)
    assert found.counts() == {"lines": 1, "split": 2, "count": 3}
    given = msgspec.structs.replace(QUICK, replicas={"count": 2})
    assert plan(WORDS, machine(4, 4), COSTS, given).counts()["count"] == 2


def test_an_ingress_that_all_plans_fall_short_of_is_an_error_with_what_would_fit() -> None:
    options = msgspec.structs.replace(QUICK, ingress=1e9)
    with pytest.raises(ConfigurationError) as raised:
        plan(WORDS, machine(2, 2), COSTS, options)
    text = str(raised.value)
    assert "1,000,000,000 tuples/s fit no plan that was found" in text
    assert "times as much; allowed: at most" in text


def test_an_ingress_with_room_uses_few_replicas() -> None:
    found = plan(WORDS, machine(4, 4), COSTS, msgspec.structs.replace(QUICK, ingress=1e5))
    assert found.ingress == pytest.approx(1e5)
    assert sum(found.counts().values()) < 8
    assert (found.bottleneck, found.limit) == ("", "the offered ingress, all of which is processed")


def test_unknown_names_are_told_with_the_nearest() -> None:
    options = PlanOptions(strategy="rals", replicas={"cuont": 2}, start={"count": 0})
    with pytest.raises(ConfigurationError) as raised:
        plan(WORDS, machine(), COSTS, options)
    assert [(each.where, each.hint) for each in raised.value.problems] == [
        ("strategy", "did you mean 'rlas'?"),
        ("replicas.cuont", "did you mean 'count'?"),
        ("start.count", ""),
    ]


def test_a_plan_survives_its_json() -> None:
    found = plan(WORDS, machine(), COSTS, QUICK)
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


@pytest.mark.parametrize(("name", "cores"), [("server-a", 144), ("server-b", 64)])
def test_the_paper_s_servers_have_eight_sockets(name: str, cores: int) -> None:
    server = load_machine_model(ROOT / f"deploy/machines/{name}.toml")
    assert (len(server.sockets), server.cores) == (8, cores)


def test_operators_that_are_too_large_for_the_memory_of_a_socket_are_divided_if_that_is_asked_for() -> None:
    """Two of three that each use the memory alone would share one of two sockets, though no replica has much to do."""
    flow = dataflow("lines>a", "lines>b", "lines>c")
    lines = operator(2000.0)
    known = profile(lines=lines, **{name: operator(50.0, memory=900.0) for name in "abc"})
    plans = [
        plan(flow, machine(2, 4, bandwidth=1e9), known, PlanOptions(divide=divide, steps=5000))
        for divide in (False, True)
    ]
    assert [each.counts() for each in plans] == [
        {"lines": 2, "a": 1, "b": 1, "c": 1},
        {"lines": 2, "a": 2, "b": 1, "c": 1},
    ]
    assert "memory bandwidth" in plans[0].limit
    assert plans[1].ingress == pytest.approx(plans[0].ingress * 4 / 3)
