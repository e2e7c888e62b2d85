"""Decides which sources feed a native chain: neighbours that call each other directly and whose operators C can run one behind
the other, batch after batch (operators/chain.py). Pure; whether the operators' keys and tables allow it is known once their
rows flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from actorstream.actors.contract import goes_with_batches

if TYPE_CHECKING:
    from actorstream.plan.job import Job

BESIDE = ("late", "dead")
"""Outputs that only hooks send to."""


class ChainLink(NamedTuple):
    """A member of a chain: a replica, and the output whose rows it takes, of the member at the place `before` or (-1) of the
    source."""

    replica: int
    before: int
    output: str


def source_chains(job: Job) -> dict[int, list[ChainLink]]:
    """Replica of a source -> the replicas behind it that may run as one chain, each behind the one whose rows it takes: operators
    without a state, and at each end one that takes rows in."""
    if job.kernels:
        return {}  # threads run the kernels of operators: a chain behind a source would leave them nothing
    names = {each.id: each.actor for each in job.plan.replicas}
    found: dict[int, list[ChainLink]] = {}
    for replica, name in names.items():
        chain: list[ChainLink] = []
        if job.role(name) == "source" and _follow(job, names, replica, -1, ("default",), chain) and chain:
            found[replica] = chain
    return found


def _follow(
    job: Job,
    names: dict[int, str],
    replica: int,
    place: int,
    outputs: tuple[str, ...],
    chain: list[ChainLink],
) -> bool:
    """Adds what takes the outputs of a replica. False: some of it cannot be in a chain."""
    for edge in job.graph.consumers(names[replica]):
        if edge.output not in outputs:
            continue
        called = [down for down, (up, via) in job.fused.items() if up == replica and via is edge]
        if not called:
            return False
        chain.append(ChainLink(called[0], place, edge.output))
        actor = job.graph.actors[names[called[0]]]
        if goes_with_batches(actor.cls, "link_end"):
            continue
        if goes_with_batches(actor.cls, "link_outputs"):
            own = tuple(output for output in actor.outputs if output not in BESIDE)
        elif goes_with_batches(actor.cls, "link"):
            own = ("default",)
        else:
            return False
        before = len(chain)
        if not _follow(job, names, called[0], before - 1, own, chain) or len(chain) == before:
            return False
    return True
