"""Outputs of a plan's workers whose consumer sees dependent outputs in order (`ordering.causal`).

If two events of two workers depend on each other, the second is worked on only when a state has come from the first one's
worker. So a worker sends its outputs before any message about its state, and each carries the time of the worker's clock.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from actorstream.ordering.causal import CausalOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from actorstream.plan.job import Job, JobChannel
    from actorstream.runtime.lanes import InLane
    from actorstream.topology.graph import Edge


def is_causal(job: Job, link: JobChannel) -> bool:
    """Whether the rows of a channel have an order with those of other channels to the same consumer."""
    return bool(_group(job, link))


def _group(job: Job, link: JobChannel) -> frozenset[int]:
    """The workers of a plan whose outputs have an order with those of a channel's sender; none: it has no such."""
    edge = link.edge
    if edge.static or edge.producer not in job.programs or _beside(job, edge):
        return frozenset()
    groups = job.programs[edge.producer].output_groups
    number = job.plan.replicas[link.producer].index + 1
    return next((group for group in groups if number in group), frozenset())


def _beside(job: Job, edge: Edge) -> bool:
    """Whether each replica of a consumer takes outputs of one worker only."""
    producer, consumer = job.graph.actors[edge.producer], job.graph.actors[edge.consumer]
    return edge.route == "forward" and consumer.replicas == producer.replicas


def causal_order(job: Job, links: Sequence[JobChannel]) -> Callable[[list[InLane]], CausalOrder] | None:
    """The order of the channels of a replica of which some come from workers of plans; None: no order is needed."""
    groups: dict[tuple[Edge, frozenset[int]], list[int]] = {}
    for index, link in enumerate(links):
        group = _group(job, link)
        if group:
            groups.setdefault((link.edge, group), []).append(index)
    return partial(CausalOrder, groups=list(groups.values())) if groups else None
