"""Which cores and which memory node each process of a plan is bound to. Pure: `launch.bind` applies it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.machine import Machine
from actorstream.topology.plan import ExecutionPlan, PlannedReplica


class Binding(msgspec.Struct, frozen=True):
    """What one process is bound to.

    Attributes:
        node: the memory node of its replicas.
        cpus: where its threads run: those of the machine's cores that the plan means.
        memory: the node that its jumbo tuples lie on.
    """

    node: int
    cpus: tuple[int, ...]
    memory: int


def binding_of(plan: ExecutionPlan, workers: Iterable[int], machine: Machine) -> Binding | None:
    """What the process that runs these workers of a plan is bound to on this machine; None: to nothing, since the deployment
    says so, the plan names no nodes, or its replicas are on several.

    ConfigurationError: the plan wants a node of which this process may use no core, or a model's plan such a core."""
    mine = set(workers)
    replicas = [each for each in plan.replicas if each.worker in mine]
    nodes = {each.node for each in replicas}
    how = plan.deploy.bind
    if how == "auto":
        how = "node" if plan.deploy.placement == "rlas" else "none"
    if how == "none" or len(nodes) != 1:
        return None
    if nodes == {-1}:
        if plan.model is not None:
            raise ConfigurationError(_of_another_machine(plan.model.machine))
        return None
    node = nodes.pop()
    usable = [core.id for core in machine.cores if core.node == node]
    if not usable:
        there = ", ".join(map(str, sorted({core.node for core in machine.cores}))) or "none"
        message = f"puts worker {min(mine)} on memory node {node}, of which this process may use no core"
        hint = 'make the plan on this machine, widen the affinity mask, or set deploy.bind = "none"'
        raise ConfigurationError(Problem("plan", message, f"the nodes {there}", hint))
    named = {each.core for each in replicas} - {-1}
    if plan.model is not None and (missing := sorted(named.difference(usable))):
        message = (
            f"was made for the machine {plan.model.machine:016x}, and puts worker {min(mine)} on core {missing[0]}, which this "
            f"process may not use on memory node {node}"
        )
        hint = 'make the plan on this machine, widen the affinity mask, or set deploy.bind = "none"'
        raise ConfigurationError(Problem("plan", message, f"the cores {', '.join(map(str, usable))}", hint))
    if how == "core":
        usable = [cpu for cpu in usable if cpu in named] or usable
    return Binding(node, tuple(usable), _memory_node(plan, replicas, node))


def _of_another_machine(fingerprint: int) -> Problem:
    hint = (
        'leave deploy.rlas.machine out to plan for this machine, give its sockets "node" and "cpus" if they are of this machine, '
        'or set deploy.bind = "none" to run without places'
    )
    message = f"was made for the machine {fingerprint:016x}, whose model does not say which memory nodes and cores here it means"
    return Problem("plan", message, "a plan for this machine", hint)


def _memory_node(plan: ExecutionPlan, replicas: list[PlannedReplica], node: int) -> int:
    """The node for what these replicas send: that of all who read it, where the deployment says so and they have one."""
    if plan.deploy.arenas == "producer":
        return node
    own = {each.id for each in replicas}
    readers = {
        plan.replicas[each.consumer].node for each in plan.channels if each.remote and each.producer in own
    }
    return readers.pop() if len(readers) == 1 and -1 not in readers else node
