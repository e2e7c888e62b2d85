"""Order `dependency` in one process: programs, the edges that lead to them, and their outputs in the order of dependence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from actorstream.runtime.dependency.build import ProgramBuilder
from actorstream.runtime.dependency.causal import causal_order, is_causal
from actorstream.runtime.inbox import FifoInbox
from actorstream.runtime.order import Ends, Order
from actorstream.runtime.send_lane import Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.plan.job import JobChannel
    from actorstream.runtime.dependency.output import TagEdge
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.unit import Unit
    from actorstream.topology.graph import Edge


class DependencyOrder(Order):
    """The workers of synchronization plans that are in this process, and what leads to and from them."""

    def __init__(self, ends: Ends) -> None:
        super().__init__(ends)
        self.programs = {
            actor: ProgramBuilder(ends.worker, actor, ends.senders, ends.receivers)
            for actor in ends.job.programs
        }

    def units(self) -> Mapping[int, Unit]:
        found: dict[int, Unit] = {}
        for actor, builder in self.programs.items():
            replicas = [each for each in self.ends.replicas.values() if each.name == actor]
            if replicas:
                decoder = partial(self.ends.decoder, single=False)
                unit = builder.unit(replicas, self.ends.incoming, decoder)
                found.update(dict.fromkeys((each.id for each in replicas), unit))
        return found

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> Inbox | None:
        gate = causal_order(self.job, links)
        if gate is None:
            return None
        lanes = [self.ends.in_lane(index, link) for index, link in enumerate(links)]
        return FifoInbox(lanes, gate(lanes), ports)

    def is_numbered(self, link: JobChannel) -> bool:
        return is_causal(self.job, link)

    def lane(self, link: JobChannel, replica: Replica, unit: Unit) -> dict[str, Any] | None:
        if link.edge.consumer in self.programs:
            return {"waiting": Waiting.SELECTIONS}
        return {"clock": unit.clock} if is_causal(self.job, link) else None  # type: ignore[attr-defined]

    def sends(self, lane: SendLane, link: JobChannel, replica: Replica, unit: Unit) -> None:
        if link.edge.consumer in self.programs:
            unit.runs = True
        else:
            causal = not link.remote or self.job.transport.causal
            unit.sends_in_order(replica, lane, causal=causal)  # type: ignore[attr-defined]

    def edge(self, edge: Edge, replica: Replica, lanes: list[SendLane]) -> TagEdge | None:
        builder = self.programs.get(edge.consumer)
        return None if builder is None else builder.edge(edge, replica, lanes)
