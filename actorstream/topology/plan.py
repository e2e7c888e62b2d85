"""The execution plan: which replica runs where, and which channels join them. Data, made before the start.

The same for every worker; its fingerprint is checked at every handshake. Made by a placement, or read back
from a file (`--plan`).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.dependency import DependencyPlan, tree_problems
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph, fingerprint

VERSION = 1
"""Of the layout of plan files."""
LONGEST_CHAIN = 32
"""Replicas that call each other directly: each takes up to eight calls of Python's stack, which holds 1,000, and the
rest is the hooks'."""


class PlannedReplica(msgspec.Struct, kw_only=True, frozen=True):
    """One replica and its place. `id` is its number in the plan; -1: core or node not known."""

    id: int
    actor: str
    index: int
    worker: int
    thread: int = 0
    """0 is the worker's loop thread, 1 and more its pool's."""
    core: int = -1
    node: int = -1

    @property
    def name(self) -> str:
        return f"{self.actor}/{self.index}"


class PlannedChannel(msgspec.Struct, kw_only=True, frozen=True):
    """One channel between two replicas, for one edge of the graph."""

    id: int
    edge: int
    """Number of the edge in the graph."""
    producer: int
    """Id of the producing replica."""
    consumer: int
    remote: bool
    """Whether the two ends are in different workers."""
    slots: int = 0
    """Entries of its ring."""
    budget: int = 0
    """Bytes that may be unconsumed."""


class PlannedEdge(msgspec.Struct, kw_only=True, frozen=True):
    """An edge of the graph by name, so that a plan can be read without its topology."""

    source: str
    """ "actor" or "actor.output"."""
    consumer: str
    how: str
    """Route, key and order in a few words."""


class PlannedRate(msgspec.Struct, kw_only=True, frozen=True):
    """What a model predicts of one operator, all its replicas together. An operator is an actor, or a chain of actors that
    call each other, joined by "+"."""

    operator: str
    input_rate: float
    """Tuples per second; of a source: what it makes."""
    output_rate: float
    utilisation: float
    """Share of its time for which the busiest replica works."""
    execute_ns: float
    """Per tuple."""


class PlanModel(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """From which model a plan was made, and what it predicts. `machine`, `profile`: fingerprints of its inputs."""

    machine: int
    profile: int
    ingress: float
    """Tuples per second that all sources together make."""
    throughput: float
    """Tuples per second of all sinks together, as the model counts them: those that enter the last operators. A chain of calls
    counts where it begins, so plans with other chains are compared by their ingress."""
    limit: str
    """What limits it, in words."""
    rates: list[PlannedRate] = []
    sockets: list[int] = []
    """Of each worker, where the machine's memory nodes do not say it: which of the machine's sockets it is on."""


class ExecutionPlan(msgspec.Struct, kw_only=True, frozen=True):
    """A whole plan. `graph` is the fingerprint of the graph it was made for."""

    name: str
    graph: int
    deploy: DeploySpec
    replicas: list[PlannedReplica]
    channels: list[PlannedChannel]
    chains: list[list[int]] = []
    """Replicas that call each other directly, head first; those that stand alone are not listed."""
    edges: list[PlannedEdge] = []
    dependencies: list[DependencyPlan] = []
    """The synchronization plan of each actor with `order = "dependency"`; its workers are the actor's replicas."""
    model: PlanModel | None = None
    """Of a plan that `placement = "rlas"` made."""
    version: int = VERSION

    @property
    def fingerprint(self) -> int:
        """64 unsigned bits over the canonical JSON: equal plans, and only they, have the same."""
        return fingerprint(self)

    @property
    def workers(self) -> int:
        return self.deploy.workers

    def counts(self) -> dict[str, int]:
        """Replicas by actor."""
        found: dict[str, int] = {}
        for replica in self.replicas:
            found[replica.actor] = found.get(replica.actor, 0) + 1
        return found

    def of_worker(self, worker: int) -> list[PlannedReplica]:
        return [replica for replica in self.replicas if replica.worker == worker]

    def to_json(self) -> bytes:
        """Canonical JSON: keys sorted, no spaces, the same bytes for equal plans."""
        return msgspec.json.encode(self, order="deterministic")

    def saved(self) -> str:
        """The text of a file for `--plan`."""
        return msgspec.json.format(self.to_json(), indent=1).decode() + "\n"

    def save(self, path: str | Path) -> None:
        """Writes a file for `--plan`."""
        Path(path).write_text(self.saved())


def planned_edges(graph: Graph) -> list[PlannedEdge]:
    """The graph's edges as a plan names them."""
    return [PlannedEdge(source=edge.source, consumer=edge.consumer, how=edge.how) for edge in graph.edges]


def load_plan(path: str | Path, graph: Graph | None = None) -> ExecutionPlan:
    """The plan in a file, as `plan --save` or `plan --json` wrote it. ConfigurationError if it is none, is damaged,
    or was made for another graph."""
    file = str(path)
    try:
        read = msgspec.json.decode(Path(path).read_bytes())
        inner = read.get("plan", read) if isinstance(read, dict) else read
        plan = msgspec.convert(inner, ExecutionPlan)
    except OSError as error:
        raise ConfigurationError(
            Problem("--plan", f"cannot be read: {error.strerror}", "", "", file)
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = "actorstream plan TOPOLOGY --save FILE writes one"
        raise ConfigurationError(Problem("--plan", f"is no plan: {error}", "", hint, file)) from error
    check_plan(plan, graph, file)
    return plan


def check_plan(plan: ExecutionPlan, graph: Graph | None, file: str) -> None:
    """ConfigurationError with everything that is wrong with a plan that was read from `file`."""
    problems = plan_problems(plan, graph)
    if problems:
        raise ConfigurationError(
            [Problem("--plan", message, allowed, "", file) for message, allowed in problems]
        )


def plan_problems(plan: ExecutionPlan, graph: Graph | None = None) -> list[tuple[str, str]]:
    """What is wrong with a plan, as (message, allowed): numbers that lead nowhere, or another's graph."""
    found: list[tuple[str, str]] = []
    if plan.version != VERSION:
        return [(f"has layout version {plan.version}", f"version {VERSION}, of this actorstream")]
    if graph is not None:
        found.extend(_misfits(plan, graph))
    replicas = range(len(plan.replicas))
    for number, replica in enumerate(plan.replicas):
        if replica.id != number:
            found.append((f"replicas[{number}] has the id {replica.id}", f"{number}"))
        if not 0 <= replica.worker < plan.deploy.workers:
            found.append((f"{replica.name} is on worker {replica.worker}", f"0 to {plan.deploy.workers - 1}"))
    for number, channel in enumerate(plan.channels):
        if channel.id != number:
            found.append((f"channels[{number}] has the id {channel.id}", f"{number}"))
        if channel.producer not in replicas or channel.consumer not in replicas:
            joined = f"{channel.producer} to {channel.consumer}"
            found.append((f"channels[{number}] joins the replicas {joined}", f"0 to {len(replicas) - 1}"))
        elif channel.remote != (
            plan.replicas[channel.producer].worker != plan.replicas[channel.consumer].worker
        ):
            found.append(
                (
                    f"channels[{number}] is remote = {channel.remote}".lower(),
                    "what the workers of its ends say",
                )
            )
    found.extend(_chain_problems(plan))
    if plan.model is not None and plan.model.sockets and len(plan.model.sockets) != plan.deploy.workers:
        found.append(
            (f"names {len(plan.model.sockets)} sockets", f"{plan.deploy.workers}, one for each worker")
        )
    for each in plan.dependencies:
        found.extend(tree_problems(each))
    return found


def _chain_problems(plan: ExecutionPlan) -> list[tuple[str, str]]:
    """Finds what is wrong with the chains. The replicas of a chain call each other, so one process must have all of them."""
    found: list[tuple[str, str]] = []
    count = len(plan.replicas)
    for number, chain in enumerate(plan.chains):
        there = [each for each in chain if 0 <= each < count]
        workers = sorted({plan.replicas[each].worker for each in there})
        found += [
            (f"a chain has the replica {each}", f"0 to {count - 1}") for each in chain if each not in there
        ]
        if len(workers) > 1:
            message = f"chains[{number}] is on the workers {', '.join(map(str, workers))}"
            found.append((message, "one worker for all replicas of a chain"))
        if len(chain) > LONGEST_CHAIN:
            allowed = f"at most {LONGEST_CHAIN}, as a plan made anew has"
            found.append((f"chains[{number}] has {len(chain)} replicas", allowed))
    return found


def _misfits(plan: ExecutionPlan, graph: Graph) -> list[tuple[str, str]]:
    if plan.graph != graph.fingerprint:
        return [(f"was made for another topology than {graph.name!r}", "a plan of this topology, made anew")]
    counts = plan.counts()
    found = [
        (f"channels[{number}] is of edge {channel.edge}", f"0 to {len(graph.edges) - 1}")
        for number, channel in enumerate(plan.channels)
        if not 0 <= channel.edge < len(graph.edges)
    ]
    trees = {each.actor: len(each.workers) for each in plan.dependencies}
    programs = {actor.name: actor.replicas for actor in graph.actors.values() if actor.planning is not None}
    if trees != programs or len(trees) < len(plan.dependencies):
        found.append(
            (f"has synchronization plans of so many workers: {trees}", f"{programs}, one for each program")
        )
    found += [
        (f"has the replica {replica.name}", "replicas of the topology's actors")
        for replica in plan.replicas
        if replica.actor not in graph.actors
    ]
    first = {replica.name: rank for rank, replica in reversed(list(enumerate(plan.replicas)))}
    found += [
        (
            f"has the replica {replica.name}",
            f"numbers below {graph.actors[replica.actor].replicas}, each once",
        )
        for rank, replica in enumerate(plan.replicas)
        if replica.actor in graph.actors
        and (not 0 <= replica.index < graph.actors[replica.actor].replicas or first[replica.name] != rank)
    ]
    return found + [
        (
            f"has {counts.get(actor.name, 0)} replicas of {actor.name!r}",
            f"{actor.replicas}, as the topology says",
        )
        for actor in graph.actors.values()
        if counts.get(actor.name, 0) != actor.replicas
    ]
