"""Order `none`: first in, first out on each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.ordering.none import NoOrder
from actorstream.plan.channels import IDLE_WORD
from actorstream.runtime.inbox import FifoInbox
from actorstream.runtime.order import Order

if TYPE_CHECKING:
    from actorstream.plan.job import JobChannel
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.unit import Unit


class Fifo(Order):
    """Whatever no other order asks for."""

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> Inbox:
        lanes = [self.ends.in_lane(index, link) for index, link in enumerate(links)]
        return FifoInbox(lanes, NoOrder(lanes), ports)

    def lane(self, link: JobChannel, replica: Replica, unit: Unit) -> dict[str, Any]:
        return {"idles": IDLE_WORD} if link.channel.frontiers > IDLE_WORD else {}
