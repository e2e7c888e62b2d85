"""Order `dependency` in one process: programs, the edges that lead to them, and their outputs in the order of dependence.

If two events of two workers depend on each other, the second is worked on only when a state has come from the first one's
worker. So a worker sends its outputs before any message about its state, and each carries the time of the worker's clock:
`ordering.causal` takes the outputs in that order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.plan.channels import IDLE_WORD
from actorstream.plan.program_channels import output_groups
from actorstream.runtime.dependency.build import ProgramBuilder
from actorstream.runtime.dependency.unit import ProgramUnit
from actorstream.runtime.ends import Ends
from actorstream.runtime.fifo import FifoInbox
from actorstream.runtime.order import MakeLane, Order
from actorstream.runtime.send_lane import Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from actorstream.plan.job import JobChannel
    from actorstream.runtime.dependency.tag_edge import TagEdge
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.unit import Unit
    from actorstream.topology.graph import Edge


class DependencyOrder(Order):
    """The workers of synchronization plans that are in this process, and what leads to and from them."""

    def __init__(self, ends: Ends) -> None:
        super().__init__(ends)
        self.programs = {actor: ProgramBuilder(ends, actor) for actor in ends.job.programs}

    def units(self) -> Mapping[int, Unit]:
        found: dict[int, Unit] = {}
        for actor, builder in self.programs.items():
            replicas = [each for each in self.ends.replicas.values() if each.name == actor]
            if replicas:
                found.update(dict.fromkeys((each.id for each in replicas), builder.unit(replicas)))
        return found

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> Inbox | None:
        if not output_groups(self.job, links):
            return None
        lanes = [self.ends.in_lane(index, link) for index, link in enumerate(links)]
        return FifoInbox(lanes, self.ends.gate(lanes, links), ports)

    def is_numbered(self, link: JobChannel) -> bool:
        return bool(output_groups(self.job, [link]))

    def lane(self, link: JobChannel, replica: Replica, unit: Unit, make: MakeLane) -> SendLane | None:
        if link.edge.consumer in self.programs:
            unit.runs = True
            return make(waiting=Waiting.SELECTIONS)
        if not self.is_numbered(link):
            return None
        assert isinstance(unit, ProgramUnit)
        idles = IDLE_WORD if link.channel.frontiers > IDLE_WORD else None
        lane = make(clock=unit.clock, idles=idles)
        unit.sends_in_order(replica, lane, causal=not link.remote or self.job.transport.causal)
        return lane

    def edge(self, edge: Edge, replica: Replica, lanes: Sequence[SendLane]) -> TagEdge | None:
        builder = self.programs.get(edge.consumer)
        return None if builder is None else builder.edge(edge, replica, lanes)
