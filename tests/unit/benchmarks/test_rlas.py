"""The study behind the suite `rlas`, on parts that take little time."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from actorstream.placement.rlas.instance import instance_of
from actorstream.placement.rlas.packing import random_replicas
from actorstream.placement.rlas.prediction import predicted
from benchmarks.paper_apps import SERVER_A_HERTZ, TABLE_4, paper_apps
from benchmarks.rlas_here import HAND, PLANS, RealPlan, of_cores
from benchmarks.rlas_pictures import distribution, matrices
from benchmarks.rlas_simulator import SimulationOptions, simulate
from benchmarks.rlas_study import (
    APPS,
    costs,
    even_throughput,
    fetch_matrix,
    planned,
    server,
    star_on_a_cluster,
    without_remote_memory,
)
from benchmarks.suites import rlas_here
from benchmarks.suites.briskstream import APPLICATIONS
from benchmarks.suites.rlas import figure_8


@pytest.fixture(autouse=True)
def short_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked here is what the model says; test_rlas_simulator holds it against simulations."""
    short = SimulationOptions(batches=2000)
    monkeypatch.setattr(
        "benchmarks.rlas_study.simulate", lambda instance, places, _: simulate(instance, places, short)
    )


def test_the_four_applications_are_there_at_the_clock_of_server_a() -> None:
    apps = paper_apps()
    assert [each.name for each in apps] == list(TABLE_4)
    assert {each.profile.hertz for each in apps} == {SERVER_A_HERTZ} == {server("a").sockets[0].hertz}


def test_on_one_socket_nothing_is_fetched_and_on_two_no_strategy_is_better_than_rlas() -> None:
    alone = planned("b", "FD", "rlas", 1)
    assert all(each.fetch_ns == 0 for each in alone.model.rates)
    two = planned("b", "FD", "rlas", 2)
    assert two.model.throughput > 1.8 * alone.model.throughput
    for strategy in ("fix-l", "fix-u"):
        assert planned("b", "FD", strategy, 2).model.throughput <= two.model.throughput


def test_without_remote_memory_the_plan_of_fraud_detection_is_at_least_as_fast() -> None:
    plan = planned("b", "FD")
    assert without_remote_memory("b", "FD") >= plan.model.throughput
    fetched = sum(map(sum, fetch_matrix("b", "FD")))
    assert fetched == pytest.approx(
        sum(each.fetch_ns * each.input_rate * 1e-9 for each in plan.model.rates), rel=1e-6
    )


def test_a_parser_that_is_farthest_takes_as_many_times_as_long_as_the_paper_says() -> None:
    assert figure_8().run()[1] / figure_8().run()[0] == pytest.approx(9.4, rel=0.01)


def test_links_limit_a_cluster_that_exchanges_events_and_cores_one_that_exchanges_counts() -> None:
    counts, events = star_on_a_cluster(5.0, False), star_on_a_cluster(5.0, True)
    assert "cores" in counts.model.limit or "operator" in counts.model.limit
    assert "(Eq. 5)" in events.model.limit
    assert counts.model.ingress > 10 * events.model.ingress
    assert counts.simulated.ingress == pytest.approx(counts.model.ingress, rel=0.02)
    assert counts.placed.instance.replicas == [192, 32], (
        "with 24 mergers they would limit, with 40 the counters"
    )


def test_pictures_are_svg_with_every_name() -> None:
    first = ElementTree.fromstring(matrices({"server-a": [[0.0, 1.0], [2.0, 0.0]]}))
    assert "server-a (darkest: 2.00)" in "".join(first.itertext())
    second = ElementTree.fromstring(distribution({"WC": [0.1, 0.5], "LR": [0.2]}))
    assert {"WC", "LR"} <= {text.strip() for text in second.itertext()}


@pytest.mark.parametrize("name", ["WC", "LR"])
def test_random_plans_are_judged_as_the_model_judges_them(name: str) -> None:
    draw, machine, known = random.Random(3), server("b"), costs(APPS[name])
    ones = [1] * len(known.dataflow.operators)
    for _ in range(3):
        replicas = random_replicas([True] * len(ones), ones, machine.cores, draw)
        places = [draw.randrange(8) for _ in range(sum(replicas))]
        expected = predicted(instance_of(known, machine, replicas), places).throughput
        assert even_throughput(known, machine, replicas, places) == pytest.approx(expected, rel=1e-9)


def test_plans_of_this_machine_set_the_replicas_of_all_actors_that_have_several() -> None:
    sets = PLANS["two-cores-rlas"].sets(APPLICATIONS["wc"], Path("profile.toml"))
    assert sets["actors.lines.replicas"] == sets["actors.counts.replicas"] == "auto"
    assert (sets["deploy.placement"], sets["deploy.rlas.profile"]) == ("rlas", "profile.toml")
    assert "actors.requests.replicas" not in PLANS[HAND].sets(APPLICATIONS["lr"], Path("profile.toml"))
    one = of_cores(server("a"), 1)
    assert (one.cores, len(one.latency_ns)) == (1, 1)


def test_a_round_gives_each_case_its_own_value(monkeypatch: pytest.MonkeyPatch) -> None:
    order = list(PLANS)
    asked: list[str] = []
    profiles = [Path("older.toml")]

    def profiled(name: str, *, again: bool = False) -> Path:
        if again:
            profiles.append(Path("newer.toml"))
        return profiles[-1]

    def measured(name: str, plan: RealPlan, seconds: float, planned_by: Path) -> float:
        assert planned_by == profiles[0]
        asked.append(next(label for label, each in PLANS.items() if each == plan))
        passed = (len(asked) - 1) // len(order)
        return (1 + order.index(asked[-1])) * (80.0, 100.0, 108.0, 112.0)[passed]

    def predicted(name: str, plan: RealPlan, planned_by: Path, profile: Path) -> float:
        assert len(asked) == 2 * len(order), "the profile lies in the middle"
        assert [planned_by, profile] == profiles
        return 220.0

    for each in (profiled, predicted, measured):
        monkeypatch.setattr(rlas_here, each.__name__, each)
    probe = rlas_here.of_plans("fd", order, 1.0)
    found = {case.name: value for case, value in zip(probe.cases, probe.run(), strict=True)}
    assert asked == 2 * [*order, *reversed(order)], "there and back, twice"
    for number, label in enumerate(order, 1):
        assert found[f"here-fd-{label}-predicted"] == 220
        assert found[f"here-fd-{label}-measured"] == 100 * number, "the mean of all four"
        assert found[f"here-fd-{label}-error"] == pytest.approx(100 * (2.2 / number - 1))
        assert found[f"here-fd-{label}-repeat"] == pytest.approx(100 * (110 / 90 - 1))
    assert found["here-fd-by-hand"] == found[f"here-fd-{HAND}-measured"]
    assert found["here-fd-rlas"] == found["here-fd-two-cores-rlas-measured"]
