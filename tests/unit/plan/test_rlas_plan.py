"""`placement = "rlas"`: from a profile and a machine to a job."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actorstream.cli.main import main
from actorstream.errors import ConfigurationError
from actorstream.placement.rlas import (
    MachineModel,
    Measured,
    OperatorProfile,
    OutputProfile,
    Profile,
    Socket,
    machine_text,
    profile_text,
)
from actorstream.plan.compile import read_job
from actorstream.plan.job import Job
from actorstream.topology.plan import load_plan

TOPOLOGY = """
[actors.lines]
type = "generator-source"
schema = { word = "int64" }
count = 10

[actors.split]
type = "map"
inputs = ["lines"]
replicas = "auto"
set = { word = "word + 1" }

[actors.count]
type = "map"
inputs = [{ from = "split", route = "key", key = "word" }]
replicas = "auto"
set = { word = "word + 2" }

[actors.sink]
type = "null-sink"
inputs = ["count"]
"""


def operator(cost: float, *, sink: bool = False) -> OperatorProfile:
    outputs = {} if sink else {"default": OutputProfile(selectivity=1.0, bytes=8.0)}
    return OperatorProfile(batches=[Measured(rows=1024, execute_ns={"p50": cost})], outputs=outputs)


def machine(sockets: int, cores: int = 2) -> MachineModel:
    size = range(sockets)
    return MachineModel(
        name="made up",
        sockets=[
            Socket(cores=cores, hertz=1e9, cpus=list(range(cores * n, cores * n + cores)), node=n)
            for n in size
        ],
        latency_ns=[[50.0 if i == j else 500.0 for j in size] for i in size],
        bandwidth=[[1e11 if i == j else 1e10 for j in size] for i in size],
    )


def planned(folder: Path, topology: str, costs: dict[str, float], on: MachineModel, *sets: str) -> Job:
    """`costs`: nanoseconds a row of each actor."""
    operators = {name: operator(cost, sink=name in ("sink", "file")) for name, cost in costs.items()}
    (folder / "topology.toml").write_text(topology)
    (folder / "profile.toml").write_text(profile_text(Profile(name="t", hertz=1e9, operators=operators)))
    (folder / "machine.toml").write_text(machine_text(on))
    (folder / "deploy.toml").write_text(
        'placement = "rlas"\n[rlas]\nprofile = "profile.toml"\nmachine = "machine.toml"\n'
    )
    return read_job(folder / "topology.toml", folder / "deploy.toml", sets)


def job(folder: Path, split: float, count: float, on: MachineModel, *sets: str) -> Job:
    costs = {"lines": 10.0, "split": split, "count": count, "sink": 1.0}
    return planned(folder, TOPOLOGY, costs, on, *sets)


def test_the_bottleneck_gets_the_replicas_and_a_core_each(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(4))
    counts = made.plan.counts()
    assert counts["lines"] == counts["sink"] == 1
    assert counts["count"] >= 4
    assert made.plan.workers <= 8
    assert {each.core // 2 for each in made.plan.replicas} == {each.node for each in made.plan.replicas}
    assert made.graph.actors["count"].replicas == counts["count"]


def test_on_one_socket_with_one_core_the_same_path_gives_one_worker(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(1, 1))
    assert made.plan.workers == 1
    assert {(each.core, each.node) for each in made.plan.replicas} == {(0, 0)}


def test_few_cores_have_a_replica_of_each_actor_each(tmp_path: Path) -> None:
    made = job(tmp_path, 900.0, 1000.0, machine(1))
    assert made.plan.counts() == {"lines": 1, "split": 2, "count": 2, "sink": 1}
    assert [each.worker for each in made.plan.replicas if each.actor in ("split", "count")] == [0, 1, 0, 1]


def test_rows_that_cost_more_between_workers_than_the_work_on_them_stay_in_one(tmp_path: Path) -> None:
    costly = msgspec.structs.replace(machine(1), core_ns=50_000.0)
    assert job(tmp_path, 100.0, 100.0, costly).plan.workers == 1
    assert job(tmp_path, 100.0, 100.0, machine(1)).plan.workers == 2


def test_a_chain_that_is_too_much_for_one_core_becomes_a_pipeline(tmp_path: Path) -> None:
    one = ("actors.split.replicas=1", "actors.count.replicas=1", "actors.count.inputs=['split']")
    cut = job(tmp_path, 900.0, 1000.0, machine(1), *one)
    worker = {each.actor: each.worker for each in cut.plan.replicas}
    assert worker["split"] != worker["count"] and cut.plan.workers == 2
    assert cut.plan.model is not None and cut.plan.model.ingress == pytest.approx(1 / 1001e-9, rel=0.02)
    costly = msgspec.structs.replace(machine(1), core_ns=50_000.0)
    assert job(tmp_path, 900.0, 1000.0, costly, *one).plan.workers == 1
    whole = job(tmp_path, 900.0, 1000.0, machine(1), *one, "deploy.pipelining=false")
    assert whole.plan.workers == 2


def test_numbers_that_are_written_stay(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(4), "actors.count.replicas=3")
    assert made.plan.counts()["count"] == 3


def test_the_plan_says_from_what_it_was_made_and_can_be_saved(tmp_path: Path) -> None:
    made = job(tmp_path, 100.0, 1000.0, machine(2))
    model = made.plan.model
    assert model is not None and model.machine == machine(2).fingerprint and model.throughput > 0
    made.plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json")
    assert again == made.plan and again.fingerprint == made.fingerprint
    assert read_job(tmp_path / "topology.toml", plan_file=tmp_path / "plan.json").plan == made.plan


def test_the_same_input_gives_the_same_plan_and_another_machine_another(tmp_path: Path) -> None:
    first = job(tmp_path, 100.0, 1000.0, machine(2)).fingerprint
    assert job(tmp_path, 100.0, 1000.0, machine(2)).fingerprint == first
    assert job(tmp_path, 100.0, 1000.0, machine(2, 1)).fingerprint != first


def test_rlas_without_a_profile_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(TOPOLOGY)
    with pytest.raises(ConfigurationError, match=r"without a profile .*actorstream profile"):
        read_job(tmp_path / "topology.toml", sets=["deploy.placement=rlas"])


def test_a_profile_of_another_topology_is_refused(tmp_path: Path) -> None:
    job(tmp_path, 100.0, 1000.0, machine(1))
    profile = tmp_path / "profile.toml"
    other = Profile(name="t", topology=5, hertz=1e9, operators={"lines": operator(1.0)})
    profile.write_text(profile_text(other))
    with pytest.raises(ConfigurationError, match="was measured on topology 0000000000000005"):
        read_job(tmp_path / "topology.toml", tmp_path / "deploy.toml")


def test_a_cheap_sink_is_not_kept_beside_its_producer_at_the_price_of_replicas(tmp_path: Path) -> None:
    sets = ("actors.count.replicas=1", 'actors.count.inputs=["split"]')
    made = job(tmp_path, 1000.0, 1.0, machine(2), *sets)
    assert made.plan.counts()["split"] > 1


def test_without_direct_calls_neighbours_are_placed_one_by_one(tmp_path: Path) -> None:
    made = job(tmp_path, 1000.0, 1000.0, machine(2), "deploy.pipelining=false")
    assert made.plan.chains == [] and made.plan.model is not None
    assert all("+" not in rate.operator for rate in made.plan.model.rates)


PROGRAMS = Path(__file__).resolve().parents[3] / "apps/value_barrier/bench.toml"


@pytest.mark.parametrize(
    "command",
    [
        ["launch", "--set", "deploy.placement=rlas"],
        ["plan", "--machine", str(PROGRAMS.parents[2] / "deploy/machines/server-a.toml")],
    ],
)
def test_a_program_gets_a_clear_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    profile = tmp_path / "profile.toml"
    profile.write_text(profile_text(Profile(name="t", hertz=1e9, operators={"values": operator(1.0)})))
    given = (
        ["--set", f"deploy.rlas.profile={profile}"] if command[0] == "launch" else ["--profile", str(profile)]
    )
    assert main([command[0], str(PROGRAMS), *command[1:], *given]) == 2
    said = capsys.readouterr().err
    assert (
        "is a program, whose workers wait for each other" in said
        and "allowed: spread, round-robin or first-fit" in said
    )


def test_replicas_divide_the_work_into_shares_that_workers_can_have_evenly(tmp_path: Path) -> None:
    # as large as the search leaves them (6 and 12 replicas), the busiest of 20 workers has a seventh more than its share
    found = job(tmp_path, 300.0, 700.0, machine(1, 20)).plan
    assert found.model is not None
    assert found.model.ingress >= 0.95 * 20 / (10 + 300 + 700 + 1) * 1e9


def test_a_hop_to_another_worker_counts_as_the_profile_has_it(tmp_path: Path) -> None:
    free = job(tmp_path, 100.0, 100.0, machine(1, 2)).plan
    profile = (tmp_path / "profile.toml").read_text()
    (tmp_path / "profile.toml").write_text(profile.replace("jumbo_hop_ns = 0.0", "jumbo_hop_ns = 1e7"))
    costly = read_job(tmp_path / "topology.toml", tmp_path / "deploy.toml", []).plan
    assert (free.workers, costly.workers) == (2, 1), "a jumbo tuple costs more than a second core brings"


WINDOWED = """
[actors.lines]
type = "generator-source"
schema = { ts = "int64", word = "int64" }
event_time = "ts"
count = 10

[actors.moved]
type = "map"
inputs = ["lines"]
replicas = "auto"
set = { word = "word % 100", ts = "ts" }

[actors.counts]
type = "aggregate"
inputs = [{ from = "moved", key = "word" }]
replicas = "auto"
key = ["word"]
window = { type = "tumbling", size = "1s" }
aggregates = { rows = "count()" }

[actors.sink]
type = "null-sink"
inputs = ["counts"]
"""


@pytest.mark.parametrize("pipelining", ["true", "false"])
def test_the_first_step_of_an_aggregate_has_as_many_replicas_as_its_producer(
    tmp_path: Path, pipelining: str
) -> None:
    costs = {"lines": 100.0, "moved": 250.0, "counts.local": 10.0, "counts": 10.0, "sink": 10.0}
    made = planned(tmp_path, WINDOWED, costs, machine(1, 8), f"deploy.pipelining={pipelining}")
    counts = made.plan.counts()
    assert counts["moved"] == counts["counts.local"] > 1
    assert made.plan.model is not None and made.plan.model.ingress == pytest.approx(1 / 100e-9, rel=0.03)


@pytest.mark.parametrize("written", ["2", "'auto'"])
def test_neighbours_that_forward_joins_have_equal_numbers_of_replicas(tmp_path: Path, written: str) -> None:
    sets = (
        'actors.count.inputs=[{ from = "split", route = "forward" }]',
        f"actors.count.replicas={written}",
        "deploy.pipelining=false",
        "deploy.workers=2",
    )
    counts = job(tmp_path, 250.0, 50.0, machine(1, 8), *sets).plan.counts()
    assert counts["split"] == counts["count"]
    assert counts["split"] == 2 if written == "2" else counts["split"] > 2


def test_an_offered_ingress_is_refused_only_if_the_best_of_all_plans_does_not_sustain_it(
    tmp_path: Path,
) -> None:
    """One search begins with chains that hold what has one replica, and alone would find plans for half of this."""
    made = job(tmp_path, 100.0, 1000.0, machine(4), "deploy.rlas.ingress=2e6")
    assert made.plan.model is not None and made.plan.model.ingress == pytest.approx(2e6)
    assert made.plan.counts()["count"] > 1
    with pytest.raises(ConfigurationError) as raised:
        job(tmp_path, 100.0, 1000.0, machine(4), "deploy.rlas.ingress=1e8")
    text = str(raised.value)
    assert "100,000,000 tuples/s fit no plan that was found: worker" in text
    most = float(text.partition("allowed: at most ")[2].partition(" tuples/s")[0].replace(",", ""))
    assert most == pytest.approx(job(tmp_path, 100.0, 1000.0, machine(4)).plan.model.ingress, rel=0.02)  # type: ignore[union-attr]
