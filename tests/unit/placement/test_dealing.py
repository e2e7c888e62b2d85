"""From replicas on sockets to workers with a core each."""

from __future__ import annotations

from actorstream.placement.dealing import deal
from actorstream.placement.rlas import (
    Dataflow,
    MachineModel,
    PlacedReplica,
    PlannedOperator,
    PredictedRate,
    Socket,
    SocketPlan,
)
from actorstream.topology.machine import Core

TWO_SOCKETS = MachineModel(
    name="two",
    sockets=[
        Socket(cores=2, hertz=1e9, cpus=[4, 6], node=1),
        Socket(cores=2, hertz=1e9, cpus=[5, 7], node=3),
    ],
    latency_ns=[[100.0, 200.0], [200.0, 100.0]],
    bandwidth=[[1e10, 1e9], [1e9, 1e10]],
)
FLOW = Dataflow(
    name="flow",
    operators=[PlannedOperator(members=["source", "split"]), PlannedOperator(members=["count"], replicas=3)],
    flows=[],
)


def plan(sockets: dict[str, list[int]], busy: dict[str, float]) -> SocketPlan:
    replicas = [
        PlacedReplica(actor=actor, index=index, socket=socket)
        for actor, each in sockets.items()
        for index, socket in enumerate(each)
    ]
    rates = [
        PredictedRate(
            operator=name,
            replicas=1,
            input_rate=1.0,
            output_rate=1.0,
            utilisation=value,
            execute_ns=1.0,
            fetch_ns=0.0,
        )
        for name, value in busy.items()
    ]
    inputs = {"topology": 0, "machine": "two", "machine_fingerprint": 1, "profile_fingerprint": 2}
    told = {"ingress": 1.0, "throughput": 1.0, "bottleneck": "", "limit": "", "steps": 1, "complete": True}
    return SocketPlan(
        name="flow", strategy="rlas", replicas=replicas, rates=rates, sockets=[], **inputs, **told
    )  # type: ignore[arg-type]


BUSY = {"source+split": 0.5, "count": 0.9}


def test_a_chain_stays_whole_and_each_worker_has_a_core_of_its_socket() -> None:
    chosen = plan({"source": [0], "split": [0], "count": [1, 0, 1]}, BUSY)
    assignment, cores = deal(chosen, FLOW, TWO_SOCKETS)
    assert assignment["source", 0] == assignment["split", 0]
    assert cores == {0: Core(4, 1), 1: Core(6, 1), 2: Core(5, 3), 3: Core(7, 3)}
    assert {cores[assignment["count", index]].node for index in (0, 2)} == {3}


def test_the_busiest_replicas_share_a_worker_last() -> None:
    chosen = plan({"source": [0], "split": [0], "count": [0, 0, 0]}, {"source+split": 1.0, "count": 0.3})
    assignment, cores = deal(chosen, FLOW, TWO_SOCKETS)
    assert len(cores) == 2
    assert len({assignment["count", index] for index in range(3)} | {assignment["source", 0]}) == 2
    assert all(assignment["count", index] != assignment["source", 0] for index in range(3))


def test_replicas_that_cost_nothing_are_dealt_by_number() -> None:
    chosen = plan({"source": [0], "split": [0], "count": [0, 0, 0]}, dict.fromkeys(BUSY, 0.0))
    assignment, _ = deal(chosen, FLOW, TWO_SOCKETS)
    workers = [assignment["source", 0], *(assignment["count", index] for index in range(3))]
    assert sorted(workers) == [0, 0, 1, 1]


def test_ranks_keep_their_sockets_and_a_socket_may_have_fewer_workers_than_cores() -> None:
    chosen = plan({"source": [0], "split": [0], "count": [1, 0, 1]}, BUSY)
    assignment, cores = deal(chosen, FLOW, TWO_SOCKETS, [1, 0])
    assert {worker: core.node for worker, core in cores.items()} == {1: 1, 0: 3}
    assert assignment["count", 1] == assignment["source", 0] == 1
    again, cores = deal(chosen, FLOW, TWO_SOCKETS, most=1)
    assert sorted(cores) == [0, 1] and [core.node for core in cores.values()] == [1, 3]
    assert again["count", 1] == again["source", 0] == 0


def test_a_machine_without_numbers_of_cpus_names_no_cores() -> None:
    bare = MachineModel(
        name="bare", sockets=[Socket(cores=4, hertz=1e9)], latency_ns=[[1.0]], bandwidth=[[1.0]]
    )
    _, cores = deal(plan({"source": [0], "split": [0], "count": [0, 0, 0]}, BUSY), FLOW, bare)
    assert set(cores.values()) == {Core(-1, -1)}
