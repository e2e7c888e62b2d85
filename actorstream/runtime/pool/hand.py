"""What one thread of a pool works with: its own instances of the actors of a chain. What they answer is gathered, to be
sent on in order by whoever's turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.metrics.counters import ROW_WORDS
from actorstream.runtime.direct_edge import DirectEdge
from actorstream.runtime.output import Edge
from actorstream.runtime.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.actors.actor import Actor
    from actorstream.events.batch import Batch
    from actorstream.transports.base import FrameKind

Outputs = list[tuple[Edge, "Batch"]]
"""What is to be pushed along which edge, in order."""


class Capture:
    """Stands for an edge that leaves the chain: keeps what is pushed."""

    __slots__ = ("edge", "hand")

    def __init__(self, edge: Edge, hand: Hand) -> None:
        self.edge, self.hand = edge, hand

    def push(self, batch: Batch) -> None:
        self.hand.outputs.append((self.edge, batch))

    def flush(self) -> None:
        """Nothing waits here."""

    def control(self, kind: FrameKind, barrier: int) -> None:
        """Control marks never come here: the loop's thread handles them, when no thread is in the unit."""

    def advance(self, frontier: int) -> None:
        """Promises are made by the unit, in their place among the outputs."""


class Hand:
    """A chain of replicas for one thread at a time.

    Args:
        members: those of the unit, the head first.
        make: a new actor for a member whose class has no `twin`.
    """

    def __init__(self, members: list[Replica], make: Callable[[Replica], Actor]) -> None:
        self.outputs: Outputs = []
        self._members = members
        self._own = [_copy(member, make) for member in members]
        copies = dict(zip(map(id, members), self._own))
        for member, own in zip(members, self._own):
            for output, edges in member.edges.items():
                for edge in edges:
                    inner = isinstance(edge, DirectEdge)
                    own.edges[output].append(
                        DirectEdge(copies[id(edge.consumer)], edge.input)  # type: ignore[attr-defined]
                        if inner
                        else Capture(edge, self)
                    )

    def run(self, batch: Batch, source: str) -> Outputs:
        """What the chain answers to a batch. Raises what a hook raises under on_error = "fail"."""
        self._own[0].accept(batch, source)
        outputs, self.outputs = self.outputs, []
        return outputs

    def hand_over(self) -> None:
        """Adds what was counted here to the members' counters. Under the lock that guards these."""
        for member, own in zip(self._members, self._own):
            member.events_in += own.events_in
            member.events_out += own.events_out
            member.jumbo_in += own.jumbo_in
            member.execute_ns += own.execute_ns
            member.late += own.late
            member.failures.dead += own.failures.dead
            own.events_in = own.events_out = own.jumbo_in = own.execute_ns = own.late = 0
            own.failures.dead = 0


def _copy(member: Replica, make: Callable[[Replica], Any]) -> Replica:
    twin = getattr(member.actor, "twin", None)
    copy = Replica(
        make(member) if twin is None else twin(),
        id=member.id,
        name=member.name,
        replica=member.replica,
        replicas=member.replicas,
        inputs=dict(member.inputs),
        outputs=member.schemas,
        on_error=member.failures.mode,
        inherits=member.descent is not None,
        row=np.zeros(ROW_WORDS, np.int64),
    )
    copy.lends = member.lends
    copy.unit, copy.arena = member.unit, member.arena
    return copy
