"""The topology becomes a job: a checked graph, an execution plan, and the channels between its replicas.

Everything here is decided before the run, the same for every worker, and needs no process to be started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.metrics.counters import CounterTable
from actorstream.placement import PLACEMENTS, place
from actorstream.placement.base import channels_of, find_placement
from actorstream.plan.chains import source_chains
from actorstream.plan.channels import channels_of_job
from actorstream.plan.edge_schemas import edge_schemas_of
from actorstream.plan.event_time import behind_ends, idle_sources, listeners, watermarked
from actorstream.plan.fuse import direct_calls, fusible, merged_calls
from actorstream.plan.gates import gates
from actorstream.plan.job import Job
from actorstream.plan.orders import ORDERS
from actorstream.plan.pooling import has_pool, kernels, needed
from actorstream.plan.preaggregate import pre_aggregated
from actorstream.plan.program_budgets import shared_out
from actorstream.plan.program_channels import deployments, with_positions
from actorstream.plan.registry import registry
from actorstream.scheduling import SCHEDULES
from actorstream.topology.available import Available, check_deploy
from actorstream.topology.inputs import Inputs, read_inputs
from actorstream.topology.load import load_topology
from actorstream.topology.machine import Machine, read_machine
from actorstream.topology.plan import ExecutionPlan, check_plan, load_plan
from actorstream.topology.serial import serial_plan
from actorstream.topology.timestamp import timestamp_plan
from actorstream.topology.validate import check_graph
from actorstream.transports.registry import installed_transports, load_transport

if TYPE_CHECKING:
    from actorstream.plan.replanning import PlanComparison
    from actorstream.plan.rlas_inputs import RankHosts, RlasInputs
    from actorstream.plan.rlas_plan import GraphOf
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.findings import HostFindings
    from actorstream.topology.graph import Graph
    from actorstream.topology.spec import TopologySpec


RLAS = "rlas"
"""The placement that also decides how many replicas there are, and needs a profile."""


@cache
def available() -> Available:
    """What this installation can run, of what a topology or deployment may name."""
    return Available(
        orders=tuple(sorted(ORDERS)),
        transports=tuple(installed_transports()),
        placements=(*PLACEMENTS, RLAS),
        schedules=("none", *SCHEDULES),
    )


def make_job(graph: Graph, plan: ExecutionPlan) -> Job:
    """The job that runs a plan for its graph."""
    transport = load_transport(plan.deploy.transport)
    processes = plan.deploy.workers if transport.crosses_processes else 1
    job = Job(graph, plan, transport, CounterTable(len(plan.replicas)), processes)
    job.serial = serial_plan(graph)
    job.timestamp = timestamp_plan(graph)
    job.programs = deployments(job)
    job.fused = direct_calls(graph, plan)
    job.merged = merged_calls(graph, plan, job.fused)
    job.listens = listeners(graph)
    job.watermarked = watermarked(graph, job.listens, job.programs)
    job.idles = bool(job.listens.intersection(idle_sources(graph)))
    job.outlasted = behind_ends(graph)
    job.channels, job.tree = channels_of_job(job)
    if has_pool(plan.deploy):
        job.serial = needed(graph, job.serial)
        job.kernels = kernels(job)
    job.source_chains = source_chains(job)
    job.edge_schemas = with_positions(job, edge_schemas_of(graph, job.listens, job.serial, job.timestamp))
    job.gates = gates(job)
    return job


def read_job(
    topology: Path,
    deploy: Path | None = None,
    sets: Sequence[str] = (),
    plan_file: Path | None = None,
    planned: ExecutionPlan | None = None,
    *,
    hosts: RankHosts | None = None,
    undecided: bool = False,
    findings: HostFindings | None = None,
    **keys: Any,
) -> Job:
    """The job of a topology file under a deployment file. ConfigurationError lists everything wrong in both.

    `plan_file`, `planned`: a plan to be used as it is, instead of making one. `hosts`: those of the ranks, where others have
    started these. `undecided`: placement "rlas" cannot decide yet, since `hosts` are not known; the job has some plan, which is
    not to be run (`is_undecided`). `findings`: of this host, where ranks run on several. `keys`: of the
    deployment, laid over the file."""
    if planned is None and plan_file is not None:
        planned = load_plan(plan_file)
    counts = planned.counts() if planned is not None else None
    found = read_inputs(
        topology,
        deploy,
        sets,
        registry=registry(),
        available=available(),
        replicas=counts,
        findings=findings,
        **keys,
    )
    if planned is None:
        if undecided and found.deploy.placement == RLAS:
            return make_job(*_undecided(found))
        return make_job(*graph_and_plan(found, hosts, findings))
    return make_job(graph_of_plan(planned, found.graph, str(plan_file)), planned)


def graph_of_plan(plan: ExecutionPlan, checked: Graph, file: str) -> Graph:
    """The graph that runs by a plan that was read from `file`. ConfigurationError with what is wrong with the plan: it is of
    another topology, or has other channels than its chains leave, so that rows would get lost."""
    graph = pre_aggregated(checked, plan.deploy)
    check_plan(plan, graph, file)
    calls = {down: (up, edge.index) for down, (up, edge) in direct_calls(graph, plan).items()}
    made = channels_of(graph, plan.deploy, plan.replicas, calls)
    wanted = sorted((each.edge, each.producer, each.consumer) for each in made)
    if wanted != sorted((each.edge, each.producer, each.consumer) for each in plan.channels):
        message = f"has {len(plan.channels)} channels that are not those between its replicas and chains"
        raise ConfigurationError(
            Problem("--plan", message, f"the {len(wanted)} of a plan that was made anew", "", file)
        )
    return graph


def graph_and_plan(
    found: Inputs, hosts: RankHosts | None = None, findings: HostFindings | None = None
) -> tuple[Graph, ExecutionPlan]:
    """The graph that runs and its plan, of a topology and a deployment that are right. Where placement decides how many
    replicas an actor has, the graph is that with these numbers."""
    deploy = found.deploy
    if deploy.placement == RLAS:
        from actorstream.plan.rlas_inputs import rlas_inputs
        from actorstream.plan.rlas_plan import rlas_plan

        graph_of = partial(_graph_of, found.spec, deploy, findings=findings)
        return rlas_plan(graph_of, deploy, rlas_inputs(deploy, hosts))
    graph = pre_aggregated(found.graph, deploy)
    return make_plan(graph, deploy, partial(_graph_of, found.spec, deploy, findings=findings))


def _undecided(found: Inputs) -> tuple[Graph, ExecutionPlan]:
    """The graph, and a plan in place of the one that placement "rlas" will make."""
    graph = pre_aggregated(found.graph, found.deploy)
    spread = msgspec.structs.replace(found.deploy, placement="spread")
    graph, plan = make_plan(graph, spread, partial(_graph_of, found.spec, found.deploy))
    return graph, msgspec.structs.replace(plan, deploy=found.deploy)


def is_undecided(job: Job) -> bool:
    """Whether the plan of a job is one that `read_job(undecided=True)` has made, which is not to be run."""
    return job.deploy.placement == RLAS and job.plan.model is None


def compared(
    job: Job,
    report: Mapping[str, Any],
    topology: Path,
    sets: Sequence[str] = (),
    hosts: RankHosts | None = None,
    findings: HostFindings | None = None,
) -> PlanComparison | None:
    """Compares a run of `job` with its plan. None: the plan was not made from a model, or its topology, profile or machine has
    changed since. `hosts`: of its ranks. `findings`: of this host."""
    plan = job.plan
    mine = [each for each in sets if not each.startswith("deploy.")]
    try:
        inputs = inputs_of_plan(plan, hosts)
        graph_of = partial(_graph_of, load_topology(topology, mine), plan.deploy, findings=findings)
        if graph_of(plan.counts()).fingerprint != plan.graph:
            return None
        from actorstream.plan.replanning import compare

        return compare(plan, job.graph, report, inputs, graph_of)
    except ConfigurationError:
        return None


def check_replan(job: Job, where: str) -> None:
    """Refuses, before a run, to plan again after it where nothing says from what: `where` names the option that asks for it.
    ConfigurationError: the plan was not made from a model, or the model's files are not what they were.

    Of ranks only the first is looked at, since the plan is made from the machines of all."""
    if is_undecided(job):
        return
    if job.plan.model is None or job.plan.deploy.rlas is None:
        raise ConfigurationError(
            Problem(
                where,
                f"has nothing to compare the run with: a plan by placement {job.plan.deploy.placement!r} predicts no rates",
                f"a run with placement {RLAS!r}, or with --plan and a plan that was made so",
                "measure a profile with actorstream profile TOPOLOGY --out profile.toml, then "
                f"--set deploy.placement={RLAS} --set deploy.rlas.profile=profile.toml",
            )
        )
    if job.deploy.transport in ("shm", "local"):
        inputs_of_plan(job.plan, where=where)


def inputs_of_plan(
    plan: ExecutionPlan, hosts: RankHosts | None = None, where: str = "deploy.rlas"
) -> RlasInputs:
    """Returns the machine and the profile that a plan was made from.

    ConfigurationError: it was made from none, or their files cannot be read or have changed since."""
    if plan.model is None or plan.deploy.rlas is None:
        raise ConfigurationError(Problem(where, "is of a plan that was made from no model"))
    from actorstream.plan.rlas_inputs import rlas_inputs

    inputs = rlas_inputs(plan.deploy, hosts)
    spec = plan.deploy.rlas
    now = {"profile": inputs.profile.fingerprint, "machine": inputs.machine.fingerprint}
    then = {"profile": plan.model.profile, "machine": plan.model.machine}
    problems = [
        Problem(
            where,
            f"is for a plan that was made from the {name} {then[name]:016x}, and {files} is {now[name]:016x}",
            f"the {name} that the plan was made from",
            "plan again with actorstream plan TOPOLOGY --deploy FILE --save PLAN",
        )
        for name, files in (("profile", spec.profile), ("machine", spec.machine or "this machine"))
        if now[name] != then[name]
    ]
    if problems:
        raise ConfigurationError(problems)
    return inputs


def with_counts(graph: Graph, counts: Mapping[str, int]) -> Graph:
    """The graph with as many replicas of each actor as a plan has."""
    actors = {
        name: msgspec.structs.replace(actor, replicas=counts.get(name, actor.replicas))
        for name, actor in graph.actors.items()
    }
    return msgspec.structs.replace(graph, actors=actors)


def _graph_of(
    spec: TopologySpec,
    deploy: DeploySpec,
    replicas: Mapping[str, int],
    findings: HostFindings | None = None,
) -> Graph:
    """The graph with so many replicas of actors with `replicas = "auto"`. ConfigurationError: they cannot have as many."""
    problems: list[Problem] = []
    graph = check_graph(spec, registry(), deploy, available(), problems, replicas, findings)
    if problems or graph is None:
        raise ConfigurationError(problems)
    return pre_aggregated(graph, deploy)


def compile_job(spec: TopologySpec, deploy: DeploySpec) -> Job:
    """The job of a topology built in Python. ConfigurationError lists everything that is wrong."""
    problems: list[Problem] = []
    check_deploy(deploy, available(), spec.written, problems)
    graph = check_graph(spec, registry(), deploy, available(), problems)
    if problems or graph is None:
        raise ConfigurationError(problems)
    return make_job(*graph_and_plan(Inputs(spec, deploy, graph)))


def make_plan(
    graph: Graph, deploy: DeploySpec, graph_of: GraphOf, machine: Machine | None = None
) -> tuple[Graph, ExecutionPlan]:
    """Places the replicas of a checked graph on a machine (this one unless given) and lays out their channels.

    `graph_of`: checks the topology with other numbers of replicas. The graph that is returned is another one where the plan of
    a program decides such numbers. The same input gives the same plan."""
    machine = machine or read_machine()
    decided = find_placement(deploy.placement)(graph, deploy, machine)
    if not any(actor.planning is not None for actor in graph.actors.values()):
        return graph, place(graph, deploy, machine, direct=fusible, decided=decided)
    from actorstream.plan.program_plans import with_programs

    graph, programs, decided = with_programs(graph, decided, deploy.workers, graph_of)
    plan = place(graph, deploy, machine, direct=fusible, decided=decided)
    channels = shared_out(graph, plan, programs)
    return graph, msgspec.structs.replace(plan, dependencies=programs, channels=channels)
