"""Which inputs in timestamp order go through a ScaleGate: one for all replicas of an actor, or one for each. Pure
decisions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from actorstream.checkpoint.store import values_of
from actorstream.native.merge import MOST_TIES
from actorstream.plan.event_time import behind_idle_sources
from actorstream.plan.pooling import has_pool

if TYPE_CHECKING:
    from actorstream.checkpoint.checkpoint import Checkpoint
    from actorstream.plan.job import Job, JobChannel
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge, GraphActor

MOST = 1024
"""Sources, and readers, of a gate (native/include/scalegate.h)."""
ONE_CHANNEL = "it has one channel: there is nothing to merge"


class Gated(NamedTuple):
    """Who merges the input of an actor in timestamp order."""

    gates: int
    """ScaleGates: one that all replicas read, one for each of them, or none."""
    replicas: int
    why: str
    """Why there is none, so that each replica merges its channels; "": there is."""


def wants_gates(deploy: DeploySpec) -> bool:
    """Whether a deployment asks for gates, by name or because it has threads."""
    return deploy.merge == "gate" or has_pool(deploy)


def gates(job: Job) -> dict[str, str]:
    """Actors several replicas of which get the same rows in timestamp order -> why each of these merges them itself; "": one
    gate does for all. None at all if the deployment does not ask for gates."""
    if not wants_gates(job.deploy):
        return {}
    found = {}
    for actor, timed, links in _timed(job):
        if _is_shared(actor, timed):
            found[actor.name] = _why_not(job, actor, timed, links)
            if not found[actor.name] and job.restored is not None and not _agree(job.restored, actor.name):
                found[actor.name] = (
                    "its replicas had got different rows at the checkpoint that the run goes on from"
                )
    return found


def own_gates(job: Job) -> frozenset[str]:
    """Actors each replica of which reads a gate of its own, since it gets rows that others do not get."""
    if not wants_gates(job.deploy):
        return frozenset()
    return frozenset(
        actor.name
        for actor, timed, links in _timed(job)
        if not _is_shared(actor, timed) and _several(actor, links) and not _why_not(job, actor, timed, links)
    )


def described(job: Job) -> dict[str, Gated]:
    """Actors that merge input in timestamp order -> by how many gates, and why by none. None at all if the deployment does
    not ask for gates."""
    found: dict[str, Gated] = {}
    if not wants_gates(job.deploy):
        return found
    for actor, timed, links in _timed(job):
        if not links:
            continue  # its producer calls it
        if actor.name in job.gates:
            why = job.gates[actor.name]
            gates = 0 if why else 1
        else:
            gates = actor.replicas if actor.name in job.own_gates else 0
            why = "" if gates else _why_none(job, actor, timed, links)
        found[actor.name] = Gated(gates, actor.replicas, why)
    return found


def _why_none(job: Job, actor: GraphActor, timed: list[Edge], links: list[JobChannel]) -> str:
    """Why the replicas of an actor, each of which gets rows of its own, have no gates."""
    if not _several(actor, links):
        return "a replica has one channel: there is nothing to merge" if actor.replicas > 1 else ONE_CHANNEL
    return _why_not(job, actor, timed, links)


def _timed(job: Job) -> Iterator[tuple[GraphActor, list[Edge], list[JobChannel]]]:
    """Actors with input in timestamp order, their edges of that order, and the channels of these."""
    incoming: dict[str, list[JobChannel]] = defaultdict(list)
    for link in job.channels:
        incoming[link.edge.consumer].append(link)
    for name, actor in job.graph.actors.items():
        timed = [edge for edge in actor.inputs if edge.index in job.timestamp.edges and not edge.static]
        if timed:
            yield actor, timed, [link for link in incoming[name] if link.edge in timed]


def _several(actor: GraphActor, links: list[JobChannel]) -> bool:
    """Whether each replica has channels to merge."""
    counts = Counter(link.consumer for link in links)
    return len(counts) == actor.replicas and min(counts.values()) > 1


def _is_shared(actor: GraphActor, timed: list[Edge]) -> bool:
    return actor.replicas > 1 and all(edge.route == "broadcast" for edge in timed)


def _why_not(job: Job, actor: GraphActor, timed: list[Edge], links: list[JobChannel]) -> str:
    lanes = {(link.edge.index, link.producer) for link in links}
    if len(lanes) == 1:
        return ONE_CHANNEL
    if len({link.channel.receiver for link in links}) > 1 or any(link.remote for link in links):
        return "not all of its replicas and their producers are in one process"
    if actor.name in behind_idle_sources(job.graph):
        return "a source before it has an idle_timeout: each replica has late rows of its own"
    schemas = [job.edge_schemas[edge.index].plain for edge in timed]
    if len({schema.user.fingerprint for schema in schemas}) > 1 or not schemas[0].fixed:
        return "its rows are of several types or of no fixed width"
    if len({schema.fingerprint for schema in schemas}) > 1:
        return "of some inputs one replica sends, of others several: tied rows are told apart in several ways"
    producers = [job.timestamp.producers[edge.producer] for edge in timed]
    if any(
        each.by_value and job.graph.actors[edge.producer].replicas > 1 for each, edge in zip(producers, timed)
    ):
        return "tied rows of windows are ordered by what is in them"
    if len(lanes) > MOST or actor.replicas > MOST or max(len(each.columns) for each in producers) > MOST_TIES:
        return f"a gate has at most {MOST} sources and readers"
    return ""


def _agree(checkpoint: Checkpoint, actor: str) -> bool:
    """Whether the same rows waited for all replicas of an actor."""
    states = [values_of(each) for each in checkpoint.replicas if each.actor == actor]
    waiting = [(state.get("unit") or {}).get("lanes") for state in states]
    return all(each == waiting[0] for each in waiting)
