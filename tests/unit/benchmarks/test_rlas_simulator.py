"""The simulator alone, where the result is known, and against the model."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from actorstream.placement.rlas import PlanOptions, load_machine_model
from actorstream.placement.rlas.costs import costs_of
from actorstream.placement.rlas.instance import Instance, instance_of
from actorstream.placement.rlas.prediction import predicted
from actorstream.placement.rlas.scaling import Scaling
from benchmarks.paper_apps import paper_apps
from benchmarks.rlas_simulator import SimulationOptions, simulate
from tests.unit.placement.rlas.small import dataflow, machine, operator, profile, random_costs

ROOT = Path(__file__).resolve().parents[3]
SHORT = SimulationOptions(batches=6000)
EXACT = SimulationOptions(batches=6000, spread=0.0)


def made(
    *, ingress: float = 0.0, bandwidth: float = 1e12, cores: int = 2, counts: tuple[int, ...] = (1, 1)
) -> Instance:
    costs = costs_of(dataflow("a>b"), profile(a=operator(500, 2, 64, memory=10), b=operator(400)))
    return instance_of(costs, machine(2, cores, bandwidth=bandwidth), list(counts), ingress=ingress)


def test_back_pressure_slows_the_source_to_what_the_sink_takes() -> None:
    found = simulate(made(), [0, 0], EXACT)
    assert found.throughput == pytest.approx(2.5e6, rel=0.01)
    assert found.ingress == pytest.approx(1.25e6, rel=0.01)
    assert found.busy == pytest.approx([0.625, 1.0], abs=0.02)


def test_a_fetch_from_another_socket_takes_as_long_as_its_cache_lines() -> None:
    assert simulate(made(), [0, 1], EXACT).throughput == pytest.approx(1e9 / 700, rel=0.01)


def test_replicas_of_one_core_share_it() -> None:
    found = simulate(made(cores=1), [0, 0], EXACT)
    assert found.throughput == pytest.approx(1e9 / (250 + 400), rel=0.02)


def test_a_channel_lets_through_no_more_than_its_bandwidth() -> None:
    found = simulate(made(bandwidth=3.2e7), [0, 1], EXACT)
    assert found.throughput == pytest.approx(3.2e7 / 64, rel=0.02)


def test_sources_make_no_more_than_is_offered() -> None:
    found = simulate(made(ingress=1e5), [0, 0], EXACT)
    assert (found.ingress, found.throughput) == (pytest.approx(1e5, rel=0.01), pytest.approx(2e5, rel=0.01))


def test_latency_at_a_low_rate_is_the_time_of_the_operators_and_of_gathering() -> None:
    found = simulate(made(ingress=1e5), [0, 0], EXACT)
    least = 64 * (500 + 400) * 1e-9
    assert least <= found.percentile(0.0) <= found.percentile(0.99) <= least + 3 * 64 / 1e5


def test_the_same_seed_gives_the_same_result_and_another_one_another() -> None:
    first = simulate(made(), [0, 1], SHORT)
    assert simulate(made(), [0, 1], SHORT) == first
    assert simulate(made(), [0, 1], SimulationOptions(batches=6000, seed=2)) != first


def test_random_small_plans_reach_what_the_model_predicts() -> None:
    draw = random.Random(5)
    for _ in range(30):
        costs, replicas = random_costs(draw)
        instance = instance_of(costs, machine(3, 6), replicas)
        places = [draw.randrange(3) for _ in instance.groups]
        model = predicted(instance, places).throughput
        assert simulate(instance, places, SHORT).throughput == pytest.approx(model, rel=0.1)


@pytest.mark.parametrize("server", ["server-a", "server-b"])
@pytest.mark.parametrize("number", range(4))
def test_the_model_is_within_ten_per_cent_of_the_simulator(server: str, number: int) -> None:
    app = paper_apps()[number]
    model = load_machine_model(ROOT / f"deploy/machines/{server}.toml")
    scaling = Scaling(costs_of(app.dataflow, app.profile), model, PlanOptions(steps=2000))
    placed = scaling.run([1] * len(app.dataflow.operators))
    found = simulate(placed.instance, placed.places, SimulationOptions(batches=8000))
    assert predicted(placed.instance, placed.places).throughput == pytest.approx(found.throughput, rel=0.1)


def test_a_broadcast_gives_every_replica_every_tuple() -> None:
    costs = costs_of(dataflow("a*b"), profile(a=operator(1000), b=operator(100)))
    instance = instance_of(costs, machine(), [1, 3])
    found = simulate(instance, [0, 1, 1, 1], EXACT)
    assert found.throughput == pytest.approx(3 * found.ingress, rel=0.02)
    assert msgspec.to_builtins(predicted(instance, [0, 1, 1, 1]).rates[1])["input_rate"] == pytest.approx(3e6)
