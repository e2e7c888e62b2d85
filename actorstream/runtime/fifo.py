"""Order `none`: first in, first out on each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.ordering.none import NoOrder
from actorstream.runtime.inbox import FifoInbox
from actorstream.runtime.lanes import IDLE_WORD
from actorstream.runtime.order import Order

if TYPE_CHECKING:
    from actorstream.runtime.compile import Link
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.unit import Unit


class Fifo(Order):
    """Whatever no other order asks for."""

    name: ClassVar[str] = "none"

    def inbox(self, head: Replica, links: list[Link], ports: Ports) -> Inbox:
        lanes = [self.ends.in_lane(index, link) for index, link in enumerate(links)]
        return FifoInbox(lanes, NoOrder(lanes), ports)

    def lane(self, link: Link, replica: Replica, unit: Unit) -> dict[str, Any]:
        return {"idles": IDLE_WORD} if link.channel.frontiers > IDLE_WORD else {}
