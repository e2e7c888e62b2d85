"""Outputs of a plan's workers on their way to a consumer that sees dependent ones in their order (`ordering.causal`).

Of two events that depend on each other and are of two workers, the second is worked on when a state has come from the
first one's worker. So a worker hands over what it has put out before it says anything about its state, and says with it
what time its clock has.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from actorstream.ordering.causal import CausalOrder
from actorstream.runtime.output import OutLane

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from actorstream.runtime.compile import Job
    from actorstream.runtime.operator_unit import InLane
    from actorstream.runtime.replica import Replica
    from actorstream.topology.graph import Edge
    from actorstream.transports.base import Frame


class Clock:
    """Counts what the workers of a plan in one process have heard (Lamport's clock)."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 1

    def heard(self, time: int) -> None:
        """A state has come from who had `time`. All that is handed over from now on is later."""
        self.now = max(self.now, time) + 1


class CausalLane(OutLane):
    """A lane whose hand-overs bear the time at which they were made."""

    __slots__ = ("clock",)

    def __init__(self, *ends: Any, clock: Clock, **options: Any) -> None:
        super().__init__(*ends, **options)
        self.clock = clock
        self.send_whole = None  # it has no room for a time

    def clear(self) -> bool:
        """Hands over all that waits; whether there was room for it."""
        return self.flush() if self.pending or self._encoded is not None else True

    def _send(self, frame: Frame) -> None:
        frame.serial = self.clock.now
        super()._send(frame)

    def _hand_over(self, frame: Frame) -> bool:
        frame.serial = self.clock.now
        return super()._hand_over(frame)


def is_causal(job: Job, edge: Edge) -> bool:
    """Whether a consumer's replica takes outputs of several workers of a plan."""
    producer, consumer = job.graph.actors[edge.producer], job.graph.actors[edge.consumer]
    beside = edge.route == "forward" and consumer.replicas == producer.replicas
    return edge.producer in job.programs and producer.replicas > 1 and not beside


def causal_lane(replica: Replica) -> Callable[..., CausalLane]:
    """Makes lanes of a worker of a plan."""
    unit: Any = replica.unit
    (each,) = (each for each in unit.workers if each.replica is replica)

    def make(*ends: Any, **options: Any) -> CausalLane:
        each.outputs.append(CausalLane(*ends, clock=unit.clock, **options))
        return each.outputs[-1]  # type: ignore[no-any-return]

    return make


def causal_order(job: Job, edges: Sequence[Edge]) -> Callable[[list[InLane]], CausalOrder] | None:
    """The order of an actor's input that is fed by workers of plans; None: no order is needed."""
    found = [edge.name for edge in edges if not edge.static and is_causal(job, edge)]
    return partial(CausalOrder, groups=found) if found else None
