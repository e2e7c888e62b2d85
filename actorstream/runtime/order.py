"""What an order is to the process that runs it: an object with a seat at the sender and a seat at the receiver. It says what
becomes of replicas, channels and edges that it concerns, and nothing of others. `plan/orders.py` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from actorstream.plan.orders import ORDERS

if TYPE_CHECKING:
    from actorstream.plan.job import Job, JobChannel
    from actorstream.runtime.ends import Ends
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.output import OutEdge
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.routing import Router
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.unit import Unit
    from actorstream.topology.graph import Edge
    from actorstream.topology.plan import PlannedReplica

MakeLane = Callable[..., "SendLane"]
"""Makes the lane of a channel, with options for `SendLane`."""


class Order:
    """One order in one process. Each method is asked in the order in which they stand here; None: it does not concern it."""

    def __init__(self, ends: Ends) -> None:
        self.ends, self.job = ends, ends.job

    # -- replicas and units

    @staticmethod
    def source(job: Job, source: Any, planned: PlannedReplica) -> Any:
        """The source that a replica reads: `source`, which is not open yet, or one around it. Asked before replicas are made."""
        return source

    def units(self) -> Mapping[int, Unit]:
        """Units of this order's own kind, by the replicas that they run."""
        return {}

    def made(self, replica: Replica) -> None:
        """A replica has been made, and belongs to no unit yet. It may get a stamp now."""

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> Inbox | None:
        """What becomes of the channels into a unit."""
        return None

    def joined(self, replica: Replica) -> None:
        """A replica is part of its unit: it may get a stamp that needs the unit."""

    # -- channels and edges from here

    def is_numbered(self, link: JobChannel) -> bool:
        """Whether what goes over a channel bears a number, so that no event goes by itself."""
        return False

    def used(self, links: list[JobChannel]) -> list[JobChannel]:
        """Of the channels from one replica along an edge those that it sends to."""
        return links

    def lane(self, link: JobChannel, replica: Replica, unit: Unit, make: MakeLane) -> SendLane | None:
        """The lane that sends over a channel."""
        return None

    def edge(self, edge: Edge, replica: Replica, lanes: Sequence[SendLane]) -> OutEdge | None:
        """An edge of this order's own kind."""
        return None

    def router(self, edge: Edge, unit: Unit, lanes: Sequence[SendLane]) -> Router | None:
        """A route of this order's own kind."""
        return None


def order_classes(job: Job) -> list[type[Order]]:
    """The orders of a job, in the sequence in which they are asked whether a channel concerns them. `none`, which all concern, is
    last. Those of other jobs are not imported."""
    used = {edge.order for edge in job.graph.edges} - {"none"}
    return [_class_of(row) for row in (*(ORDERS[name] for name in ORDERS if name in used), ORDERS["none"])]


def _class_of(row: str) -> Any:
    module, _, name = row.partition(":")
    return getattr(import_module(module), name)
