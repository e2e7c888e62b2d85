from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import ConfigurationError
from actorstream.topology.deploy import CheckpointSpec, DeploySpec, TestingSpec
from actorstream.topology.graph import Graph
from actorstream.topology.plan import (
    ExecutionPlan,
    PlanModel,
    PlannedChannel,
    PlannedEdge,
    PlannedReplica,
    load_plan,
    plan_problems,
    planned_edges,
)

DURATIONS = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=2))
DEPLOYS = st.builds(
    DeploySpec,
    transport=st.sampled_from(["local", "shm"]),
    workers=st.integers(1, 4),
    batch_size=st.integers(1, 10000),
    pipelining=st.booleans(),
    heartbeat_every=DURATIONS,
    checkpoint=st.none() | st.builds(CheckpointSpec, path=st.sampled_from(["a", "b"]), every=DURATIONS),
    testing=st.none() | st.builds(TestingSpec, delay=DURATIONS, seed=st.integers(0, 9)),
)


@st.composite
def plans(draw: st.DrawFn) -> ExecutionPlan:
    deploy = draw(DEPLOYS)
    workers = draw(st.lists(st.integers(0, deploy.workers - 1), min_size=1, max_size=6))
    replicas = [
        PlannedReplica(
            id=number, actor=f"a{number // 2}", index=number % 2, worker=worker, core=draw(st.integers(-1, 3))
        )
        for number, worker in enumerate(workers)
    ]
    ends = draw(st.lists(st.tuples(*[st.integers(0, len(workers) - 1)] * 2), max_size=4))
    channels = [
        PlannedChannel(
            id=number, edge=0, producer=a, consumer=b, remote=workers[a] != workers[b], budget=1 << 20
        )
        for number, (a, b) in enumerate(ends)
    ]
    together = [
        [rank for rank, each in enumerate(workers) if each == worker] for worker in sorted(set(workers))
    ]
    return ExecutionPlan(
        name=draw(st.sampled_from(["", "x", "é"])),
        graph=draw(st.integers(0, 2**64 - 1)),
        deploy=deploy,
        replicas=replicas,
        channels=channels,
        chains=draw(st.lists(st.sampled_from(together), max_size=2)),
        edges=[PlannedEdge(source="a", consumer="b", how="key x")],
    )


@given(plans())
def test_a_plan_reads_back_the_same_with_the_same_fingerprint(plan: ExecutionPlan) -> None:
    again = msgspec.json.decode(plan.to_json(), type=ExecutionPlan)
    assert again == plan
    assert again.fingerprint == plan.fingerprint
    assert again.to_json() == plan.to_json()
    assert 0 <= plan.fingerprint < 2**64
    assert plan_problems(again) == []


@given(plans(), plans())
def test_different_plans_have_different_fingerprints(one: ExecutionPlan, other: ExecutionPlan) -> None:
    assert (one == other) == (one.fingerprint == other.fingerprint)


@given(plans())
def test_the_json_does_not_depend_on_how_it_is_laid_out(plan: ExecutionPlan) -> None:
    shuffled = json.loads(plan.to_json())
    text = json.dumps(dict(reversed(list(shuffled.items()))), indent=3).encode()
    assert msgspec.json.decode(text, type=ExecutionPlan).fingerprint == plan.fingerprint


def small() -> ExecutionPlan:
    replicas = [PlannedReplica(id=number, actor="ab"[number], index=0, worker=number) for number in range(2)]
    channel = PlannedChannel(id=0, edge=0, producer=0, consumer=1, remote=True)
    return ExecutionPlan(name="small", graph=5, deploy=DeploySpec(), replicas=replicas, channels=[channel])


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    code = f"""
import msgspec
from actorstream.topology.plan import ExecutionPlan
print(msgspec.json.decode({small().to_json()!r}, type=ExecutionPlan).fingerprint)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(answer.stdout) == small().fingerprint


def test_a_saved_plan_is_loaded_again(tmp_path: Path) -> None:
    small().save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json") == small()


def test_replicas_are_counted_and_found_by_worker() -> None:
    assert small().counts() == {"a": 1, "b": 1}
    assert [replica.name for replica in small().of_worker(1)] == ["b/0"]


def test_edges_are_named_so_that_a_plan_stands_alone(graph: Graph) -> None:
    assert [(edge.source, edge.consumer, edge.how) for edge in planned_edges(graph)] == [
        ("lines", "split", "shuffle"),
        ("split", "count", "key word"),
        ("count.final", "counts", "shuffle"),
    ]


def wrong(path: Path, graph: Graph | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_plan(path, graph)
    assert all(problem.file == str(path) for problem in caught.value.problems)
    return [problem.message for problem in caught.value.problems]


def test_a_missing_or_broken_plan_file_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert wrong(file) == ["cannot be read: No such file or directory"]
    file.write_text("{")
    assert "is no plan" in wrong(file)[0]
    file.write_text('{"name": 5}')
    assert "is no plan: Expected `str`, got `int` - at `$.name`" in wrong(file)[0]


def test_a_plan_of_another_graph_is_refused(tmp_path: Path, graph: Graph) -> None:
    small().save(tmp_path / "plan.json")
    assert wrong(tmp_path / "plan.json", graph) == ["was made for another topology than 'word-count'"]


def test_numbers_that_lead_nowhere_are_all_named() -> None:
    plan = small()
    lost = PlannedChannel(id=7, edge=0, producer=0, consumer=9, remote=False)
    wrong_side = PlannedChannel(id=1, edge=0, producer=0, consumer=1, remote=False)
    away = PlannedReplica(id=3, actor="b", index=0, worker=8)
    model = PlanModel(machine=1, profile=2, ingress=1.0, throughput=1.0, limit="", sockets=[0] * 9)
    broken = msgspec.structs.replace(
        plan, replicas=[plan.replicas[0], away], channels=[lost, wrong_side], chains=[[0, 5]], model=model
    )
    assert [message for message, _ in plan_problems(broken)] == [
        "replicas[1] has the id 3",
        "b/0 is on worker 8",
        "channels[0] has the id 7",
        "channels[0] joins the replicas 0 to 9",
        "channels[1] is remote = false",
        "a chain has the replica 5",
        "names 9 sockets",
    ]


def test_a_chain_on_two_workers_is_a_problem() -> None:
    plan = msgspec.structs.replace(small(), chains=[[0, 1]])
    assert plan_problems(plan) == [
        ("chains[0] is on the workers 0, 1", "one worker for all replicas of a chain")
    ]


def test_a_plan_of_another_layout_says_only_that() -> None:
    assert plan_problems(msgspec.structs.replace(small(), version=99, replicas=[])) == [
        ("has layout version 99", "version 1, of this actorstream")
    ]


def test_a_plan_with_other_replicas_than_the_topology_is_refused(graph: Graph) -> None:
    plan = msgspec.structs.replace(small(), graph=graph.fingerprint)
    assert plan_problems(plan, graph) == [
        ("has the replica a/0", "replicas of the topology's actors"),
        ("has the replica b/0", "replicas of the topology's actors"),
        ("has 0 replicas of 'lines'", "1, as the topology says"),
        ("has 0 replicas of 'split'", "2, as the topology says"),
        ("has 0 replicas of 'count'", "2, as the topology says"),
        ("has 0 replicas of 'counts'", "1, as the topology says"),
    ]
