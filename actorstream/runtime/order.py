"""What an order is to the process that runs it: an object with a seat at the sender and a seat at the receiver. It says what
becomes of replicas, channels and edges that it concerns, and nothing of others. `plan/orders.py` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from actorstream.plan.orders import ORDERS

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.plan.job import Job, JobChannel
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.output import Edge as OutEdge
    from actorstream.runtime.ports import WorkerPort
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.routing import Router
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.unit import Unit
    from actorstream.topology.graph import Edge
    from actorstream.transports.base import Frame, ReceiveChannel, SendChannel


@dataclass(frozen=True)
class Ends:
    """What orders see of a process while it is built.

    Attributes:
        replicas: those of this process, by number.
        senders, receivers: the ends of channels, by number.
        incoming: replica -> its channels.
        decoder: how what comes on a channel becomes rows. in_lane: a channel's lane, by its place among those of a unit.
    """

    worker: WorkerPort
    replicas: Mapping[int, Replica]
    senders: dict[int, SendChannel]
    receivers: dict[int, ReceiveChannel]
    incoming: Mapping[int, Sequence[JobChannel]]
    decoder: Callable[..., Callable[[Frame], Batch]]
    in_lane: Callable[[int, JobChannel], InLane]

    @property
    def job(self) -> Job:
        return self.worker.job


class Order:
    """One order in one process. Each method is asked in the order in which they stand here; None: it does not concern it."""

    def __init__(self, ends: Ends) -> None:
        self.ends, self.job = ends, ends.job

    # -- replicas and units

    def units(self) -> Mapping[int, Unit]:
        """Units of this order's own kind, by the replicas that they run."""
        return {}

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> Inbox | None:
        """What becomes of the channels into a unit."""
        return None

    def joined(self, replica: Replica) -> None:
        """A replica is part of its unit: it may get a stamp now."""

    # -- channels and edges from here

    def is_numbered(self, link: JobChannel) -> bool:
        """Whether what goes over a channel bears a number, so that no event goes by itself."""
        return False

    def used(self, links: list[JobChannel]) -> list[JobChannel]:
        """Of the channels from one replica along an edge those that it sends to."""
        return links

    def lane(self, link: JobChannel, replica: Replica, unit: Unit) -> dict[str, Any] | None:
        """Options of the lane that sends over a channel (see `SendLane`)."""
        return None

    def sends(self, lane: SendLane, link: JobChannel, replica: Replica, unit: Unit) -> None:
        """The lane of a channel that `lane` has said something of."""

    def edge(self, edge: Edge, replica: Replica, lanes: list[SendLane]) -> OutEdge | None:
        """An edge of this order's own kind."""
        return None

    def router(self, edge: Edge, unit: Unit, lanes: list[SendLane]) -> Router | None:
        """A route of this order's own kind."""
        return None


def order_classes() -> list[type[Order]]:
    """The orders, in the sequence in which they are asked whether a channel concerns them. `none`, which all concern, is last."""
    rows = [row for name, row in ORDERS.items() if name != "none"]
    return [_class_of(row) for row in (*rows, ORDERS["none"])]


def _class_of(row: str) -> type[Order]:
    module, _, name = row.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]
