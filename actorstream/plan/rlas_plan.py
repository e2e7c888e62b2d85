"""`placement = "rlas"`: from files of a profile and a machine to a graph with its replicas and an execution plan.

The search is `placement.rlas`; here are its inputs, and what its result means for workers and cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.base import place
from actorstream.placement.dealing import deal
from actorstream.placement.rlas import (
    Dataflow,
    MachineModel,
    PlanOptions,
    Profile,
    SocketPlan,
    dataflow_of,
    load_machine_model,
    load_profile,
    planned_rows,
)
from actorstream.placement.rlas import plan as search
from actorstream.placement.rlas.lstopo import load_lstopo
from actorstream.plan.fuse import fusible
from actorstream.plan.measured_machine import this_machine
from actorstream.topology.plan import ExecutionPlan, PlanModel, PlannedRate

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph

GraphOf = Callable[[Mapping[str, int]], "Graph"]
"""Checks the topology with so many replicas of the actors that have `replicas = "auto"`."""


@dataclass(frozen=True)
class RlasInputs:
    """What a plan is made from, besides the graph."""

    profile: Profile
    machine: MachineModel
    options: PlanOptions


def rlas_inputs(deploy: DeploySpec) -> RlasInputs:
    """Reads the files that a deployment names. ConfigurationError: one cannot be read."""
    spec = deploy.rlas
    assert spec is not None  # check_deploy has looked
    read = load_lstopo if Path(spec.machine or "").suffix == ".xml" else load_machine_model
    machine = read(Path(spec.machine)) if spec.machine is not None else this_machine()
    options = PlanOptions(
        compression=spec.compression,
        percentile=spec.percentile,
        ingress=spec.ingress,
        steps=spec.steps,
        rows=planned_rows(deploy.batch_size),
    )
    return RlasInputs(load_profile(spec.profile), machine, options)


def rlas_plan(
    graph_of: GraphOf, deploy: DeploySpec, inputs: RlasInputs | None = None
) -> tuple[Graph, ExecutionPlan]:
    """The graph with the numbers of replicas that the search chose, and the plan of it.

    How the rows of an input are routed may depend on these numbers, and what calls what directly depends on the routes. So
    there are two searches, one from a graph where "auto" is 1 and chains are as long as can be, one where it is several;
    the plan that lets in more tuples is taken, the first if they are equal.

    ConfigurationError: the profile is of another topology, an actor cannot be placed so, or no plan fits."""
    inputs = inputs or rlas_inputs(deploy)
    first = graph_of({})
    autos = [actor.name for actor in first.actors.values() if actor.auto]
    _check(first, inputs.profile, deploy)
    found = [_searched(graph_of, dict.fromkeys(autos, 1), inputs, deploy.pipelining)]
    with suppress(ConfigurationError):  # some actor cannot have several replicas
        several = dict.fromkeys(autos, max(2, deploy.workers))
        found.append(_searched(graph_of, several, inputs, deploy.pipelining))
    graph, dataflow, chosen = max(found, key=lambda each: each[2].ingress)
    return graph, execution_plan(graph, dataflow, chosen, inputs.machine, deploy)


def _searched(
    graph_of: GraphOf, start: Mapping[str, int], inputs: RlasInputs, pipelining: bool
) -> tuple[Graph, Dataflow, SocketPlan]:
    """The best plan that the search finds from the routes of some numbers of replicas, for the graph that it leads to."""
    dataflow = operators_of(graph_of(start), pipelining)
    found = search(dataflow, inputs.machine, inputs.profile, inputs.options)
    counts = {actor: count for actor, count in found.counts().items() if actor in start}
    graph = graph_of(counts)
    again = operators_of(graph, pipelining)
    if _shape(again) != _shape(dataflow):  # with these numbers rows take other ways
        options = msgspec.structs.replace(inputs.options, replicas=found.counts())
        found = search(again, inputs.machine, inputs.profile, options)
    return graph, again, found


def operators_of(graph: Graph, pipelining: bool) -> Dataflow:
    """What is placed as one: chains of direct calls where the deployment lets neighbours call each other."""
    return dataflow_of(graph, direct=fusible if pipelining else None)


def _shape(dataflow: Dataflow) -> object:
    return [each.members for each in dataflow.operators], dataflow.flows


def execution_plan(
    graph: Graph, dataflow: Dataflow, chosen: SocketPlan, machine: MachineModel, deploy: DeploySpec
) -> ExecutionPlan:
    """The plan that runs what was chosen. Where ranks are started by others, there are as many workers as these have; else as
    many as there are cores to use."""
    fixed = deploy.workers if deploy.hosts or deploy.transport not in ("shm", "local") else None
    assignment, cores = deal(chosen, dataflow, machine, fixed)
    workers = fixed or len(cores)
    made = place(
        graph,
        msgspec.structs.replace(deploy, workers=workers),
        direct=fusible,
        decided=assignment,
        cores=cores,
    )
    rates = [
        PlannedRate(
            operator=each.operator,
            input_rate=each.input_rate,
            output_rate=each.output_rate,
            utilisation=each.utilisation,
            execute_ns=each.execute_ns,
        )
        for each in chosen.rates
    ]
    model = PlanModel(
        machine=chosen.machine_fingerprint,
        profile=chosen.profile_fingerprint,
        ingress=chosen.ingress,
        throughput=chosen.throughput,
        limit=chosen.limit,
        rates=rates,
    )
    return msgspec.structs.replace(made, model=model)


def _check(graph: Graph, profile: Profile, deploy: DeploySpec) -> None:
    problems = [
        Problem(
            f"actors.{actor.name}",
            "is a program, which placement rlas cannot place",
            "spread, round-robin, first-fit",
            "its synchronization plan says where its workers run",
            actor.file,
            actor.line,
        )
        for actor in graph.actors.values()
        if actor.planning is not None
    ]
    if profile.topology not in (0, graph.profile_fingerprint):
        message = (
            f"was measured on topology {profile.topology:016x}, and this is {graph.profile_fingerprint:016x}"
        )
        file = deploy.rlas.profile if deploy.rlas is not None else ""
        hint = "measure again with actorstream profile TOPOLOGY"
        problems.append(Problem("deploy.rlas.profile", message, "a profile of this topology", hint, file))
    if problems:
        raise ConfigurationError(problems)
