"""Which cores and memory node the workers of a plan are bound to."""

from __future__ import annotations

import msgspec
import pytest

from actorstream.errors import ConfigurationError
from actorstream.placement.binding import Binding, binding_of
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.machine import Core, Machine
from actorstream.topology.plan import ExecutionPlan, PlanModel, PlannedChannel, PlannedReplica

FOUR_NODES = Machine.of_cores(8, nodes=4)


def plan(*nodes: int, **deploy: object) -> ExecutionPlan:
    """Replica i is on worker i and node `nodes[i]`, and sends to the one behind it."""
    replicas = [
        PlannedReplica(id=number, actor=f"a{number}", index=0, worker=number, core=2 * node, node=node)
        for number, node in enumerate(nodes)
    ]
    channels = [
        PlannedChannel(id=number, edge=number, producer=number, consumer=number + 1, remote=True)
        for number in range(len(nodes) - 1)
    ]
    spec = DeploySpec(workers=len(nodes), **deploy)  # type: ignore[arg-type]
    return ExecutionPlan(name="plan", graph=0, deploy=spec, replicas=replicas, channels=channels)


def test_a_worker_is_bound_to_the_cores_and_the_memory_of_its_node() -> None:
    assert binding_of(plan(0, 2, bind="node"), [1], FOUR_NODES) == Binding(2, (4, 5), 2)


def test_a_worker_is_bound_to_its_core_alone_where_the_deployment_says_so() -> None:
    assert binding_of(plan(0, 2, bind="core"), [1], FOUR_NODES) == Binding(2, (4,), 2)


def test_only_rlas_binds_by_itself() -> None:
    assert binding_of(plan(0, 2), [1], FOUR_NODES) is None
    assert binding_of(plan(0, 2, placement="rlas"), [1], FOUR_NODES) is not None
    assert binding_of(plan(0, 2, placement="rlas", bind="none"), [1], FOUR_NODES) is None


def test_rows_lie_with_their_reader_where_the_deployment_says_so_and_all_readers_are_on_one_node() -> None:
    there = plan(0, 2, 3, bind="node", arenas="consumer")
    assert [binding_of(there, [each], FOUR_NODES).memory for each in range(3)] == [2, 3, 3]  # type: ignore[union-attr]
    both = PlannedChannel(id=2, edge=2, producer=0, consumer=2, remote=True)
    split = msgspec.structs.replace(there, channels=[*there.channels, both])
    assert binding_of(split, [0], FOUR_NODES) == Binding(0, (0, 1), 0)


def test_a_process_with_workers_of_several_nodes_is_bound_to_none() -> None:
    assert binding_of(plan(0, 2, bind="node"), [0, 1], FOUR_NODES) is None


def test_a_plan_without_nodes_binds_nothing() -> None:
    assert binding_of(plan(-1, bind="node"), [0], FOUR_NODES) is None


def test_only_cores_of_the_affinity_mask_count() -> None:
    mask = Machine(tuple(Core(cpu, cpu // 2) for cpu in (1, 4)))
    assert binding_of(plan(0, bind="node"), [0], mask) == Binding(0, (1,), 0)


def test_a_plan_for_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"worker 0 on memory node 3, .*no core.*allowed: the nodes 0"
    ):
        binding_of(plan(3, bind="node"), [0], Machine.of_cores(2))


def test_a_plan_for_another_machine_is_refused_with_its_fingerprint_and_the_cores_there_are() -> None:
    model = PlanModel(machine=0xA1, profile=0xB2, ingress=1.0, throughput=1.0, limit="")
    made = msgspec.structs.replace(plan(0, 2, placement="rlas"), model=model)
    assert binding_of(made, [1], FOUR_NODES) == Binding(2, (4, 5), 2)
    other = Machine((Core(0, 0), Core(5, 2)))
    with pytest.raises(
        ConfigurationError, match=r"made for the machine 00000000000000a1.* on core 4.*allowed: the cores 5"
    ):
        binding_of(made, [1], other)
    unbound = msgspec.structs.replace(made, deploy=DeploySpec(workers=2, placement="rlas", bind="none"))
    assert binding_of(unbound, [1], other) is None


def test_a_plan_for_a_machine_whose_model_names_no_node_here_is_refused_unless_nothing_is_bound() -> None:
    model = PlanModel(machine=0xA1, profile=0xB2, ingress=1.0, throughput=1.0, limit="")
    made = msgspec.structs.replace(plan(-1, -1, placement="rlas"), model=model)
    with pytest.raises(
        ConfigurationError, match=r"made for the machine 00000000000000a1.*deploy.bind = \"none\""
    ):
        binding_of(made, [1], FOUR_NODES)
    unbound = msgspec.structs.replace(made, deploy=DeploySpec(workers=2, placement="rlas", bind="none"))
    assert binding_of(unbound, [1], FOUR_NODES) is None
