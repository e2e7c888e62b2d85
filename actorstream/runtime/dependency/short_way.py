"""A single event from a source to a worker of a plan in its process, past the channel between them.

It is taken only if nothing waits before the event. Other events go by the channel, with the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.runtime.dependency.tag_rows import DATA, Held

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.dependency.tag_rows import TagRows
    from actorstream.runtime.dependency.tree_worker import TreeWorker
    from actorstream.runtime.dependency.unit import ProgramUnit


class ShortWay:
    """The way of events of one tag, which comes on no other lane and has its stream to itself.

    `offer` leaves an event if the unit rests; whoever did calls `take` at the end of its own work, which is a turn of the
    unit. There is never more than one that is not worked on.

    Args:
        each: who is responsible for the tag.
        lane: where its events come otherwise.
        word: the frontier word that promises for it there.
    """

    __slots__ = ("_held", "_time", "each", "lane", "tag", "unit", "word")

    def __init__(self, unit: ProgramUnit, each: TreeWorker, lane: TagRows, tag: int, word: int) -> None:
        self.unit, self.each, self.lane, self.tag, self.word = unit, each, lane, tag, word
        self._held: Held | None = None
        self._time = 0

    def is_free(self) -> bool:
        """Whether an event may be left: the unit is not about to do something else, earlier events are worked on or in its
        mailbox, and no checkpoint needs to know of it."""
        held, unit = self._held, self.unit
        return (held is None or not held.left) and unit.rests and not self.lane.shares

    def offer(self, time: int, batch: Batch) -> None:
        """Leaves an event, in a batch of its own. The lane's channel must be empty."""
        self._held, self._time = Held(DATA, batch, (time,), batch._events), time
        self.unit.offered = self

    def take(self) -> bool:
        """Gives the worker the event that was left; returns whether it has worked on it, or requested what it needs."""
        time, lane, protocol = self._time, self.lane, self.each.protocol
        lane.promised(self.word, time)
        if protocol.begin(self.tag, time, self._held):
            return True
        protocol.insert(self.tag, (time,), self._held, checked=True)
        return False
