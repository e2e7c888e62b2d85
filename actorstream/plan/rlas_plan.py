"""`placement = "rlas"`: from files of a profile and a machine to a graph with its replicas and an execution plan.

The search is `placement.rlas`; here is what its result means for workers and cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.base import Assignment, place
from actorstream.placement.dealing import deal
from actorstream.placement.rlas import (
    Dataflow,
    MachineModel,
    Profile,
    SocketPlan,
    check_ingress,
    dataflow_of,
    search,
)
from actorstream.placement.rlas.balance import balanced
from actorstream.placement.rlas.costs import costs_of
from actorstream.placement.rlas.dataflow import actors_joined
from actorstream.placement.rlas.instance import Instance, instance_of
from actorstream.placement.rlas.worker_rates import WorkerRates, on_workers
from actorstream.plan.fuse import fusible
from actorstream.plan.rlas_inputs import RlasInputs, rlas_inputs
from actorstream.topology.machine import Core
from actorstream.topology.plan import ExecutionPlan, PlanModel, PlannedRate

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge, Graph

EVERYWHERE = 16
"""Replicas of each actor, one on each core, at most: with more of them, jumbo tuples between two replicas get small, and no
profile shows what that costs."""
PARTS = (1, 2, 3, 4)
"""Of a core's work, of which a replica has one at most."""
MORE = 1.03
"""Only for so many times as many tuples are there so many replicas: no profile shows what many channels cost."""
SAME = 0.98
"""Plans whose rates differ by less are equal."""
GraphOf = Callable[[Mapping[str, int]], "Graph"]
"""Checks the topology with so many replicas of the actors that have `replicas = "auto"`."""


def rlas_plan(
    graph_of: GraphOf, deploy: DeploySpec, inputs: RlasInputs | None = None
) -> tuple[Graph, ExecutionPlan]:
    """The graph with the numbers of replicas that the search chose, and the plan of it.

    ConfigurationError: as `fastest`, or the plan does not sustain the offered ingress."""
    inputs = inputs or rlas_inputs(deploy)
    chosen = fastest(graph_of, deploy, inputs)
    offered = inputs.options.ingress
    if offered:
        check_ingress(chosen.dataflow, offered, chosen.rates.ingress, chosen.limit)
    return chosen.graph, execution_plan(chosen, inputs, deploy)


def fastest(graph_of: GraphOf, deploy: DeploySpec, inputs: RlasInputs) -> Candidate:
    """The plan whose workers let in most tuples, the first of those that are equal, whether it sustains what is offered or not.

    How the rows of an input are routed may depend on the numbers of replicas, and what calls what directly depends on the
    routes. So there are two searches, one from a graph where "auto" is 1 and chains are as long as can be, one where it is
    several. Beside what they find stand equal numbers of replicas, those that divide the work of the best into equal shares, and
    the best of both kinds with their chains cut.

    ConfigurationError: the profile is of another topology, or an actor cannot be placed so."""
    first = graph_of({})
    _check(first, inputs.profile, deploy)
    autos = free_actors(first)
    bound = {
        each.name: each.replicas for each in first.actors.values() if each.auto and each.name not in autos
    }

    def numbered(counts: Mapping[str, int]) -> Graph:
        return graph_of({**bound, **counts})

    attempts: list[tuple[Attempt, int]] = [(_searched, 1), (_searched, max(2, deploy.workers))]
    attempts += [(_counted, count) for count in even_counts(inputs.machine)]
    found: list[Candidate] = []
    refused: list[ConfigurationError] = []
    for attempt, count in attempts if autos else attempts[:1]:
        try:
            found.append(attempt(numbered, dict.fromkeys(autos, count), inputs, deploy))
        except ConfigurationError as error:  # some actor cannot have so many replicas
            refused.append(error)
    if not found:
        raise refused[0]
    best = max(found, key=_ingress)
    for counts in even_shares(best, autos, inputs.machine) if autos and inputs.machine.cores > 2 else ():
        with suppress(ConfigurationError):
            each = _counted(numbered, counts, inputs, deploy)
            found += [each] if _ingress(each) > MORE * _ingress(best) else []
    if deploy.pipelining and inputs.machine.cores > 1:
        searched, counted = found[:2], found[2:]
        wholes = [max(each, key=_ingress) for each in (searched, counted) if each]
        cuts = [_cut(each, inputs, deploy) for each in wholes]
        most = max(map(_ingress, found))
        found += [each for each in cuts if _ingress(each) > MORE * most]
    most = max(map(_ingress, found))
    # A plan that takes less than what is offered is not as good as one that takes all of it.
    least = max(most * SAME, min(most, inputs.options.ingress) * (1 - 1e-9))
    return next(each for each in found if _ingress(each) >= least)


def _ingress(each: Candidate) -> float:
    return each.rates.ingress


def free_actors(graph: Graph) -> list[str]:
    """Actors whose numbers of replicas a plan may choose: those with "auto" that are tied to no other number."""
    return [
        name
        for group in actors_joined(graph, lambda edge: edge.tied)
        if all(graph.actors[each].auto for each in group)
        for name in group
    ]


def even_counts(machine: MachineModel) -> list[int]:
    """Numbers of replicas that all actors are given alike: one, one on each core of a socket, one on each core."""
    cores = {1, max(each.cores for each in machine.sockets), machine.cores}
    return sorted({min(each, EVERYWHERE) for each in cores})


class Candidate(msgspec.Struct, frozen=True):
    """A plan on sockets, dealt to workers. `rates`: what the workers let in."""

    graph: Graph
    dataflow: Dataflow
    plan: SocketPlan
    assignment: Assignment
    cores: dict[int, Core]
    rates: WorkerRates

    @property
    def limit(self) -> str:
        """Says in words which worker or socket limits the rates."""
        if self.rates.busiest is not None:
            return f"worker {self.rates.busiest}: its replicas work all the time"
        if self.rates.crowded is not None:
            return f"socket {self.rates.crowded}: its cores work all the time (Eq. 3)"
        return self.plan.limit


Attempt = Callable[[GraphOf, Mapping[str, int], RlasInputs, "DeploySpec"], Candidate]
"""Makes a plan from so many replicas of the actors that may have any number."""


def _searched(
    graph_of: GraphOf, start: Mapping[str, int], inputs: RlasInputs, deploy: DeploySpec
) -> Candidate:
    """The best plan that the search finds from the routes of some numbers of replicas, for the graph that it leads to."""
    dataflow = operators_of(graph_of(start), deploy.pipelining)
    found = search(dataflow, inputs.machine, inputs.profile, inputs.options)
    counts = {actor: count for actor, count in found.counts().items() if actor in start}
    graph = graph_of(counts)
    again = operators_of(graph, deploy.pipelining)
    if _shape(again) != _shape(dataflow):  # with these numbers rows take other ways
        options = msgspec.structs.replace(inputs.options, replicas=found.counts())
        found = search(again, inputs.machine, inputs.profile, options)
    return _dealt(graph, again, found, inputs, deploy)


def _counted(
    graph_of: GraphOf, counts: Mapping[str, int], inputs: RlasInputs, deploy: DeploySpec
) -> Candidate:
    """The best placement of so many replicas of the actors that may have any number."""
    graph = graph_of(counts)
    dataflow = operators_of(graph, deploy.pipelining)
    options = msgspec.structs.replace(inputs.options, replicas=dict(counts))
    return _dealt(graph, dataflow, search(dataflow, inputs.machine, inputs.profile, options), inputs, deploy)


def _cut(whole: Candidate, inputs: RlasInputs, deploy: DeploySpec) -> Candidate:
    """The best placement of the same replicas if each actor is placed by itself. Neighbours that come together still call each
    other, and are predicted so; a chain that is too much for one core becomes a pipeline of workers."""
    graph, counts = whole.graph, whole.plan.counts()
    options = msgspec.structs.replace(inputs.options, replicas=counts)
    single = operators_of(graph, False)
    found = search(single, inputs.machine, inputs.profile, options)
    dealt = _dealt(graph, single, found, inputs, deploy)
    dataflow = operators_of(graph, True, dealt.assignment)
    sockets = {(each.actor, each.index): each.socket for each in found.replicas}
    rates = rates_of(dataflow, counts, dealt.assignment, sockets, inputs, deploy)
    return msgspec.structs.replace(dealt, dataflow=dataflow, rates=rates)


def even_shares(best: Candidate, autos: Sequence[str], machine: MachineModel) -> list[dict[str, int]]:
    """Numbers of replicas with which each replica has at most a core's part of all work, half of that, and so on.

    The search on sockets stops where no replica is over-supplied. Its replicas may be too large, or too many, to be shared out
    evenly to workers, of which each is one core."""
    work = {each.operator: each.utilisation * each.replicas for each in best.plan.rates}
    core = sum(work.values()) / machine.cores
    operators, equals = best.dataflow.operators, best.dataflow.equals()
    largest = [max(work[operators[number].name] for number in equal) for equal in equals]
    found = []
    for parts in PARTS:
        counts = {}
        for each, most in zip(operators, largest):
            wanted = max(1, min(ceil(most * parts / core * (1 - 1e-9)), machine.cores)) if core else 1
            counts.update({actor: wanted for actor in each.members if actor in autos})
        found.append(counts)
    return found


def _dealt(
    graph: Graph, dataflow: Dataflow, found: SocketPlan, inputs: RlasInputs, deploy: DeploySpec
) -> Candidate:
    """The plan with as many workers a socket as let in most tuples: rows between two workers cost more than within one."""
    sockets = {(each.actor, each.index): each.socket for each in found.replicas}
    instance, places = placed(dataflow, found.counts(), sockets, inputs)
    candidates = []
    for most in _numbers(inputs):
        dealt, cores = deal(found, dataflow, inputs.machine, inputs.seats, most)
        workers = balanced(instance, places, workers_of(instance, dealt))
        if inputs.seats is None:
            seat = {worker: number for number, worker in enumerate(sorted(set(workers)))}
        else:
            seat = {worker: worker for worker in cores}
        rates = on_workers(instance, places, [seat[each] for each in workers], pool=deploy.threads)
        assignment = {
            (actor, group.first): seat[worker]
            for group, worker in zip(instance.groups, workers)
            for actor in dataflow.operators[group.operator].members
        }
        bound = {seat[worker]: cores[worker] for worker in seat}
        candidates.append(Candidate(graph, dataflow, found, assignment, bound, rates))
    return max(candidates, key=lambda each: each.rates.ingress)


def _numbers(inputs: RlasInputs) -> list[int]:
    """Workers a socket that are tried: as many as cores, and halves of that down to one."""
    found = [max(each.cores for each in inputs.machine.sockets)]
    while inputs.seats is None and found[-1] > 1:
        found.append(found[-1] // 2)
    return found


def rates_of(
    dataflow: Dataflow,
    counts: Mapping[str, int],
    assignment: Assignment,
    sockets: Mapping[tuple[str, int], int],
    inputs: RlasInputs,
    deploy: DeploySpec,
) -> WorkerRates:
    """What the workers of a plan let in. `counts`: replicas of each actor. `sockets`: (actor, replica) -> socket."""
    instance, places = placed(dataflow, counts, sockets, inputs)
    return on_workers(instance, places, workers_of(instance, assignment), pool=deploy.threads)


def placed(
    dataflow: Dataflow,
    counts: Mapping[str, int],
    sockets: Mapping[tuple[str, int], int],
    inputs: RlasInputs,
) -> tuple[Instance, list[int]]:
    """The model of a plan with a group for each replica, and the socket of each group."""
    options = inputs.options
    costs = costs_of(dataflow, inputs.profile, rows=options.rows, percentile=options.percentile)
    heads = [each.members[0] for each in dataflow.operators]
    replicas = [counts[head] for head in heads]
    instance = instance_of(costs, inputs.machine, replicas, ingress=options.ingress)
    return instance, [sockets[heads[group.operator], group.first] for group in instance.groups]


def workers_of(instance: Instance, assignment: Assignment) -> list[int]:
    """The worker of each group."""
    operators = instance.costs.dataflow.operators
    return [assignment[operators[each.operator].members[0], each.first] for each in instance.groups]


def operators_of(graph: Graph, pipelining: bool, workers: Assignment | None = None) -> Dataflow:
    """The graph with each chain of direct calls as one operator, which is placed as a whole. Without `pipelining` neighbours do
    not call each other, and each actor is placed by itself.

    `workers`: of a plan that is made, in which neighbours on different workers do not call each other."""

    def direct(graph: Graph, edge: Edge) -> bool:
        return fusible(graph, edge) and all(
            workers is None or workers[edge.producer, index] == workers[edge.consumer, index]
            for index in range(graph.actors[edge.producer].replicas)
        )

    return dataflow_of(graph, direct=direct if pipelining else None)


def _shape(dataflow: Dataflow) -> object:
    return [each.members for each in dataflow.operators], dataflow.flows


def execution_plan(chosen: Candidate, inputs: RlasInputs, deploy: DeploySpec) -> ExecutionPlan:
    """The plan that runs what was chosen. Where ranks are started by others, there are as many workers as these have; else as
    many as there are cores to use."""
    workers = len(chosen.cores) if inputs.seats is None else len(inputs.seats)
    made = place(
        chosen.graph,
        msgspec.structs.replace(deploy, workers=workers),
        direct=fusible,
        decided=chosen.assignment,
        cores=chosen.cores,
    )
    plan, reached = chosen.plan, chosen.rates.ingress / chosen.plan.ingress
    rates = [
        PlannedRate(
            operator=each.operator,
            input_rate=each.input_rate * reached,
            output_rate=each.output_rate * reached,
            utilisation=each.utilisation * reached,
            execute_ns=each.execute_ns,
        )
        for each in plan.rates
    ]
    model = PlanModel(
        machine=plan.machine_fingerprint,
        profile=plan.profile_fingerprint,
        ingress=chosen.rates.ingress,
        throughput=plan.throughput * reached,
        limit=chosen.limit,
        rates=rates,
        sockets=[] if inputs.seats is not None or nodes_tell(inputs.machine) else sockets_of(chosen, workers),
    )
    return msgspec.structs.replace(made, model=model)


def nodes_tell(machine: MachineModel) -> bool:
    """Whether the memory nodes of a machine's sockets say which socket is meant."""
    return len({socket.node for socket in machine.sockets}) == len(machine.sockets)


def sockets_of(chosen: Candidate, workers: int) -> list[int]:
    """The socket of each worker."""
    found = [0] * workers
    for each in chosen.plan.replicas:
        found[chosen.assignment[each.actor, each.index]] = each.socket
    return found


def program_problems(graph: Graph) -> list[Problem]:
    """Why RLAS cannot plan a graph with programs: Formula 1 has no rates for joins and forks, in which the workers of a
    synchronization plan wait for each other."""
    return [
        Problem(
            f"actors.{actor.name}",
            "is a program, whose workers wait for each other in joins and forks: the model of rlas has no rates for that",
            "spread, round-robin or first-fit, which leave its workers to its synchronization plan",
            f"its optimizer places them by the rates of tags: actors.{actor.name}.plan",
            actor.file,
            actor.line,
        )
        for actor in graph.actors.values()
        if actor.planning is not None
    ]


def _check(graph: Graph, profile: Profile, deploy: DeploySpec) -> None:
    problems = program_problems(graph)
    if profile.topology not in (0, graph.profile_fingerprint):
        message = (
            f"was measured on topology {profile.topology:016x}, and this is {graph.profile_fingerprint:016x}"
        )
        file = deploy.rlas.profile if deploy.rlas is not None else ""
        hint = "measure again with actorstream profile TOPOLOGY"
        problems.append(Problem("deploy.rlas.profile", message, "a profile of this topology", hint, file))
    if problems:
        raise ConfigurationError(problems)
