"""Order `serial` in one process: who numbers rows, who keeps their numbers, and who takes them number by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.plan.channels import SERIAL_WORD
from actorstream.runtime.ends import Ends
from actorstream.runtime.lanes import InLane
from actorstream.runtime.order import MakeLane, Order
from actorstream.runtime.serial.inbox import NumberedInput, SerialInbox
from actorstream.runtime.serial.numbering import Follower, Numberer, Numbering
from actorstream.runtime.size_policy import MOST, rows_or
from actorstream.runtime.source_unit import SourceUnit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.plan.job import JobChannel
    from actorstream.runtime.inbox import Ports
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.routing import Router
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.unit import Unit
    from actorstream.topology.graph import Edge


class SerialOrder(Order):
    """What a unit sends behind one numbering point, it sends under one numbering."""

    def __init__(self, ends: Ends) -> None:
        super().__init__(ends)
        self.plan = ends.job.serial
        self._numberings: dict[tuple[int, str], Numbering] = {}

    def _numbering(self, unit: object, point: str) -> Numbering:
        """What a unit sends under that lies behind a numbering point, or is one."""
        key = (id(unit), point)
        if key not in self._numberings:
            self._numberings[key] = Numbering(self.plan.phases)
        return self._numberings[key]

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> SerialInbox | None:
        edges = self.plan.edges
        point = next((edges[link.edge.index] for link in links if link.edge.index in edges), None)
        if point is None:
            return None
        lanes: list[InLane] = []
        numbered: list[NumberedInput | None] = []
        for index, link in enumerate(links):
            how, word = None, 0
            if link.edge.index in edges:
                columns = self.plan.producers[link.edge.producer].columns
                schemas = self.job.edge_schemas[link.edge.index]
                schema = schemas.marked or schemas.plain
                how, word = NumberedInput(columns, link.edge.input, schema), SERIAL_WORD
            receiver, decode = self.ends.receivers[link.channel.id], self.ends.decoder(link)
            lanes.append(InLane(index, link.edge.name, receiver, decode, word=word))
            numbered.append(how)
        merging, follows = head.name in self.plan.merging, head.name in self.job.listens
        sides = [(lane, link) for lane, how, link in zip(lanes, numbered, links) if how is None]
        gate = self.ends.gate([lane for lane, _ in sides], [link for _, link in sides])
        numbering = self._numbering(ports, point)
        return SerialInbox(lanes, numbered, numbering, gate, merging=merging, follows=follows)

    def joined(self, replica: Replica) -> None:
        described = self.plan.producers.get(replica.name)
        if described is None or replica.unit is None:
            return
        numbering = self._numbering(replica.unit, described.point)
        if described.numbers:
            deploy = self.job.deploy
            numberer = Numberer(replica, numbering, described, rows_or(deploy, MOST), deploy.edge_bytes)
            replica.unit.closers.append(numberer.close)
            replica.stamp = numberer
            unit = replica.unit
            if isinstance(unit, SourceUnit) and unit.promises and not (unit.pace or unit.is_async):
                unit.in_step = 0  # no clock decides when its event time rises
        else:
            replica.stamp = Follower(replica, numbering, described)

    def is_numbered(self, link: JobChannel) -> bool:
        return link.edge.index in self.plan.edges

    def lane(self, link: JobChannel, replica: Replica, unit: Unit, make: MakeLane) -> SendLane | None:
        point = self.plan.edges.get(link.edge.index)
        if point is None:
            return None
        numbering = self._numbering(unit, point)
        numbering.lanes.append(make(numbers=numbering))
        return numbering.lanes[-1]

    def router(self, edge: Edge, unit: Unit, lanes: Sequence[SendLane]) -> Router | None:
        point = self.plan.edges.get(edge.index)
        if point is None or edge.route != "shuffle":
            return None
        return self._numbering(unit, point).shuffle(len(lanes))
