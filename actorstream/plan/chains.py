"""Decides which sources feed a native chain: neighbours that call each other directly and whose operators C can run one behind
the other, batch after batch (operators/chain.py). Pure; whether the operators' keys and tables allow it is known once their
rows flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.actors.contract import goes_with_batches

if TYPE_CHECKING:
    from actorstream.plan.job import Job


def source_chains(job: Job) -> dict[int, list[int]]:
    """Replica of a source -> the replicas behind it that may run as one chain: operators without a state, and one that ends
    the chain."""
    if job.kernels:
        return {}  # threads run the kernels of operators: a chain behind a source would leave them nothing
    names = {each.id: each.actor for each in job.plan.replicas}
    found = {
        replica: _behind(job, replica, names) for replica, name in names.items() if job.role(name) == "source"
    }
    return {replica: chain for replica, chain in found.items() if chain}


def _behind(job: Job, replica: int, names: dict[int, str]) -> list[int]:
    """The chain behind a replica; empty: there is none that has an end."""
    chain: list[int] = []
    while (after := _only_neighbour(job, replica, names)) is not None:
        chain.append(after)
        cls = job.graph.actors[names[after]].cls
        if goes_with_batches(cls, "link_end"):
            return chain
        if not goes_with_batches(cls, "link"):
            break
        replica = after
    return []


def _only_neighbour(job: Job, replica: int, names: dict[int, str]) -> int | None:
    """The replica that a replica calls directly, if nobody else takes its rows; else None."""
    edges = [edge for edge in job.graph.consumers(names[replica]) if edge.output == "default"]
    if len(edges) != 1:
        return None
    called = [down for down, (up, via) in job.fused.items() if up == replica and via is edges[0]]
    return called[0] if called else None
