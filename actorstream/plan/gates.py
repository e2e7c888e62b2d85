"""Which replicas share the ScaleGate that merges their input in timestamp order. Each of the others has one of its own, if it
has several channels to merge. Pure decisions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from actorstream.checkpoint.store import values_of
from actorstream.plan.event_time import behind_idle_sources
from actorstream.plan.pooling import has_pool

if TYPE_CHECKING:
    from actorstream.checkpoint.checkpoint import Checkpoint
    from actorstream.plan.job import Job, JobChannel
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge, GraphActor

ONE_CHANNEL = "it has one channel: there is nothing to merge"


class Gated(NamedTuple):
    """Who merges the input of an actor in timestamp order."""

    gates: int
    """ScaleGates: one that all replicas read, one for each of them, or none."""
    replicas: int
    why: str
    """Why there is none, or why replicas that get the same rows do not share one; "": neither is so."""


def wants_gates(deploy: DeploySpec) -> bool:
    """Whether a deployment asks for shared gates, by name or because it has threads."""
    return deploy.merge == "gate" or has_pool(deploy)


def gates(job: Job) -> dict[str, str]:
    """Actors several replicas of which get the same rows in timestamp order -> why each of these merges them itself; "": one
    gate does for all. None at all if the deployment does not ask for gates."""
    if not wants_gates(job.deploy):
        return {}
    found = {}
    for actor, timed, links in _timed(job):
        if actor.replicas > 1 and all(edge.route == "broadcast" for edge in timed):
            found[actor.name] = _why_not(job, actor, links)
    return found


def described(job: Job) -> dict[str, Gated]:
    """Actors that merge input in timestamp order -> by how many gates, and why no more share one. None at all if the deployment
    does not ask for gates."""
    found: dict[str, Gated] = {}
    for actor, _, links in _timed(job) if wants_gates(job.deploy) else ():
        if not links:
            continue  # its producer calls it
        why, channels = job.gates.get(actor.name), Counter(link.consumer for link in links)
        gates = 1 if why == "" else actor.replicas if min(channels.values()) > 1 else 0
        found[actor.name] = Gated(gates, actor.replicas, why or ("" if gates else ONE_CHANNEL))
    return found


def _timed(job: Job) -> Iterator[tuple[GraphActor, list[Edge], list[JobChannel]]]:
    """Actors with input in timestamp order, their edges of that order, and the channels of these."""
    incoming: dict[str, list[JobChannel]] = defaultdict(list)
    for link in job.channels:
        incoming[link.edge.consumer].append(link)
    for name, actor in job.graph.actors.items():
        timed = [edge for edge in actor.inputs if edge.index in job.timestamp.edges and not edge.static]
        if timed:
            yield actor, timed, [link for link in incoming[name] if link.edge in timed]


def _why_not(job: Job, actor: GraphActor, links: list[JobChannel]) -> str:
    if len({(link.edge.index, link.producer) for link in links}) == 1:
        return ONE_CHANNEL
    if len({link.channel.receiver for link in links}) > 1 or any(link.remote for link in links):
        return "not all of its replicas and their producers are in one process"
    if actor.name in behind_idle_sources(job.graph):
        return "a source before it has an idle_timeout: each replica has late rows of its own"
    if job.restored is not None and not _agree(job.restored, actor.name):
        return "its replicas had got different rows at the checkpoint that the run goes on from"
    return ""


def _agree(checkpoint: Checkpoint, actor: str) -> bool:
    """Whether the same rows waited for all replicas of an actor."""
    states = [values_of(each) for each in checkpoint.replicas if each.actor == actor]
    units = [state.get("unit") or {} for state in states]
    waiting = [(unit.get("lanes"), unit.get("tied")) for unit in units]
    return all(each == waiting[0] for each in waiting)
