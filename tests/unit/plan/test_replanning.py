"""What a run's measured costs say of its plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actorstream.placement.rlas import OutputProfile, Profile
from actorstream.plan.compile import check_replan, compared, read_job
from actorstream.plan.job import Job
from actorstream.plan.replanning import (
    PlanComparison,
    as_json,
    described,
    ingress_of,
    measured_profile,
    rows_made,
    with_selectivities,
)
from actorstream.plan.rlas_inputs import RlasInputs
from actorstream.topology.plan import load_plan
from tests.unit.plan.test_rlas_plan import job, machine
from tests.unit.plan.test_rlas_plan import operator as profiled

ROWS = 1_000_000


def report(made: Job, costs: dict[str, float]) -> dict[str, Any]:
    """Of a run in which every actor had ROWS rows, which took so many nanoseconds each."""
    actors: dict[str, list[dict[str, Any]]] = {}
    for actor, count in made.plan.counts().items():
        spent = costs[actor] * ROWS / 1e9 / count
        rows = {"in": 0 if actor == "lines" else ROWS // count, "out": ROWS // count}
        actors[actor] = [{**rows, "execute_s": spent * 0.75, "transfer_s": spent * 0.25}] * count
    return {"actors": actors, "throughput_eps": 1e6, "elapsed_s": 2.0}


def comparison(folder: Path, made: Job, costs: dict[str, float]) -> PlanComparison:
    found = compared(made, report(made, costs), folder / "topology.toml")
    assert found is not None
    return found


def test_costs_as_profiled_call_for_no_other_plan(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 100.0, machine(2))
    found = comparison(tmp_path, made, {"lines": 10.0, "split": 100.0, "count": 100.0, "sink": 1.0})
    assert not found.is_other and found.plan is made.plan and found.gain == 1.0
    assert found.measured == pytest.approx(1e6, rel=1e-3)
    assert "finds no plan that is worth a change" in described(found)[-1]


def test_an_operator_that_costs_more_than_profiled_gets_replicas_from_the_others(tmp_path: Path) -> None:
    made = job(tmp_path, 1000.0, 100.0, machine(4, 8))
    found = comparison(tmp_path, made, {"lines": 10.0, "split": 100.0, "count": 1000.0, "sink": 1.0})
    assert found.is_other and found.gain > 1.2
    assert found.plan.counts()["count"] > made.plan.counts()["count"]
    assert "would choose another plan: lines ×1" in described(found)[-1]
    assert as_json(found)["would_change"] and as_json(found)["measured_ns"]["count"] == 1000.0


def test_a_run_of_a_plan_that_measured_costs_led_to_is_compared_and_planned_again(tmp_path: Path) -> None:
    made = job(tmp_path, 1000.0, 100.0, machine(4, 8))
    costs = {"lines": 10.0, "split": 100.0, "count": 1000.0, "sink": 1.0}
    other = comparison(tmp_path, made, costs)
    assert other.is_other
    other.plan.save(tmp_path / "replanned.json")
    next_run = read_job(tmp_path / "topology.toml", plan_file=tmp_path / "replanned.json")
    check_replan(next_run, "--replan")
    again = comparison(tmp_path, next_run, costs)
    assert not again.is_other and again.now == pytest.approx(other.best, rel=1e-3)


def test_costs_that_are_all_too_high_alike_change_nothing(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(4))
    found = comparison(tmp_path, made, {"lines": 40.0, "split": 400.0, "count": 4000.0, "sink": 4.0})
    assert not found.is_other


def test_a_run_whose_costs_are_too_high_for_the_offered_ingress_is_compared_all_the_same(
    tmp_path: Path,
) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(4), "deploy.rlas.ingress=2e6")
    found = comparison(tmp_path, made, {"lines": 100.0, "split": 1000.0, "count": 10_000.0, "sink": 10.0})
    assert found.predicted == pytest.approx(2e6) and found.best < 1e6


def test_replicas_stay_on_their_sockets_where_the_machine_names_no_memory_nodes(tmp_path: Path) -> None:
    named = machine(4)
    bare = msgspec.structs.replace(
        named, sockets=[msgspec.structs.replace(each, cpus=[], node=-1) for each in named.sockets]
    )
    made = job(tmp_path, 100.0, 1000.0, bare, "deploy.bind=none")
    assert {each.node for each in made.plan.replicas} == {-1} and made.plan.workers > 2
    found = comparison(tmp_path, made, {"lines": 10.0, "split": 100.0, "count": 1000.0, "sink": 1.0})
    assert made.plan.model is not None
    assert not found.is_other and found.now == pytest.approx(made.plan.model.ingress)
    made.plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json") == made.plan
    assert b"sockets" not in job(tmp_path, 100.0, 1000.0, named).plan.to_json(), "their nodes say it"


def test_a_profile_that_has_changed_since_is_not_compared_with(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(2))
    job(tmp_path, 200.0, 1000.0, machine(2))
    assert (
        compared(made, report(made, dict.fromkeys(made.graph.actors, 1.0)), tmp_path / "topology.toml")
        is None
    )


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('type = "map"', 'type = "mop"'),
        ('"word + 2"', '"wird + 2"'),
        ("[actors.sink]", "[actors.sinks]"),
        ("[actors", "[[actors"),
    ],
)
def test_a_topology_that_was_edited_during_the_run_is_not_compared_with(
    tmp_path: Path, good: str, bad: str
) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(2))
    file = tmp_path / "topology.toml"
    said = report(made, dict.fromkeys(made.graph.actors, 1.0))
    assert compared(made, said, file) is not None
    file.write_text(file.read_text().replace(good, bad, 1))
    assert compared(made, said, file) is None


def test_selectivity_is_measured_where_one_consumer_has_counted_it(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(1))
    actors = report(made, dict.fromkeys(made.graph.actors, 10.0))["actors"]
    actors["count"] = [{**each, "out": each["out"] // 4} for each in actors["count"]]
    actors["sink"] = [{**actors["sink"][0], "in": ROWS // 4}]
    operators = {"count": profiled(10.0), "sink": profiled(1.0, sink=True)}
    found, _ = measured_profile(Profile(name="t", hertz=1e9, operators=operators), made.graph, actors, 1024)
    assert found.operators["count"].outputs["default"].selectivity == 0.25


def test_costs_of_a_run_on_several_cores_are_without_what_these_took_each_other(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(1))
    actors = report(made, dict.fromkeys(made.graph.actors, 12.5))["actors"]
    known = Profile(name="t", hertz=1e9, operators={"count": profiled(20.0)}, contention=1.25)
    found, costs = measured_profile(known, made.graph, actors, 1024, 1.25)
    assert costs[0].measured_ns == pytest.approx(12.5), "what is told is what was measured"
    assert found.operators["count"].execute_ns(1024) == pytest.approx(10.0)
    assert found.contention == 1.25


@pytest.mark.parametrize(("on_error", "found"), [("dead-letter", 0.7), ("fail", 1.0)])
def test_dead_rows_that_nobody_reads_are_no_rows_of_other_outputs(
    tmp_path: Path, on_error: str, found: float
) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(1))
    graph, actors = made.graph, report(made, dict.fromkeys(made.graph.actors, 10.0))["actors"]
    graph.actors["count"] = msgspec.structs.replace(graph.actors["count"], on_error=on_error)
    actors["count"] = [{**each, "out": each["in"]} for each in actors["count"]]
    actors["sink"] = [{**actors["sink"][0], "in": sum(each["in"] for each in actors["count"]) * 7 // 10}]
    operators = {"count": profiled(10.0), "sink": profiled(1.0, sink=True)}
    costs, _ = measured_profile(Profile(name="t", hertz=1e9, operators=operators), graph, actors, 1024)
    assert costs.operators["count"].outputs["default"].selectivity == pytest.approx(found)


def test_rows_that_wait_before_their_consumers_are_no_rows_less() -> None:
    outputs = {name: OutputProfile(selectivity=share) for name, share in (("even", 0.4), ("odd", 0.6))}
    made = msgspec.structs.replace(profiled(10.0), outputs=outputs)
    found = with_selectivities(made, {"even": 0.6, "odd": 0.2}, 1.0).outputs
    assert {name: each.selectivity for name, each in found.items()} == {"even": 0.75, "odd": 0.25}
    found = with_selectivities(made, {"even": 0.5}, 1.2).outputs
    assert (found["even"].selectivity, found["odd"].selectivity) == (0.5, 0.7), "that was not counted"
    made.outputs["odd"] = OutputProfile(selectivity=0.0)
    found = with_selectivities(made, {"even": 0.5}, 1.0).outputs
    assert found["even"].selectivity == 0.5, "the other half may be odd"


def test_rows_of_an_output_without_a_consumer_are_no_rows_of_the_others(tmp_path: Path) -> None:
    topology = tmp_path / "halves.toml"
    text = """
[actors.numbers]
type = "generator-source"
schema = { number = "int64" }
count = 10

[actors.halves]
type = "split"
inputs = ["numbers"]
cases = { even = "number % 2 == 0" }

[actors.sink]
type = "null-sink"
inputs = ["halves.even"]
"""
    topology.write_text(text)
    actors = {"halves": [{"in": ROWS, "out": ROWS}], "sink": [{"in": 0, "out": 0}]}
    assert rows_made(read_job(topology, None).graph, "halves", "halves", actors) is None
    topology.write_text(text.replace('"halves.even"]', '"halves.even", "halves"]'))
    assert rows_made(read_job(topology, None).graph, "halves", "halves", actors) == 1.0


def test_neighbours_that_a_plan_puts_on_two_workers_share_no_core_in_the_model(tmp_path: Path) -> None:
    topology = tmp_path / "chain.toml"
    topology.write_text("""
[actors.numbers]
type = "generator-source"
schema = { number = "int64" }
count = 10

[actors.doubled]
type = "map"
inputs = ["numbers"]
set = { number = "2 * number" }

[actors.sink]
type = "null-sink"
inputs = ["doubled"]
""")
    from actorstream.placement.rlas import PlanOptions, Profile

    operators = {"numbers": profiled(100.0), "doubled": profiled(90.0), "sink": profiled(10.0, sink=True)}
    two = machine(2)
    inputs = RlasInputs(
        Profile(name="t", hertz=two.sockets[0].hertz, operators=operators), two, PlanOptions()
    )
    sets = ["deploy.placement=round-robin", "deploy.workers=2"]
    apart, together = read_job(topology, None, sets), read_job(topology, None, [*sets, "deploy.workers=1"])
    assert ingress_of(together.plan, together.graph, inputs) == pytest.approx(1 / 200e-9)
    assert ingress_of(apart.plan, apart.graph, inputs) == pytest.approx(1 / 110e-9)
