"""The shortest way from a source that makes its rows in C through the neighbours that it calls: many batches in one call of C,
which runs the kernels of all members one behind the other.

What the call does not take goes the way of batches, which comes to the same: a batch with a row that fails or is late, and
whatever an operator's hook has to decide. Barriers and hooks come between two calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.native.turn import DUE, ROWS, RUNG, TIME, Turn
from actorstream.operators.chain import ChainEnd, Linking, UnlinkedError
from actorstream.runtime.output import RoutedEdge
from actorstream.runtime.send_lane import SendLane
from actorstream.transports.fast_paths import SharedFrontier

if TYPE_CHECKING:
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.source_unit import SourceUnit

GOES_ON = (ROWS, TIME, RUNG)
"""Ends of a call after which the next one needs nothing of Python but that it is called."""
LISTEN_NS = 100_000
"""A call lasts so long before the doorbell can end it: what Python does around a call costs a fifth of that."""


class SourceChain:
    """The way of one source unit. What its calls have counted stays in C until `settle`.

    Args:
        members: the neighbours, in order; the last is a `ChainEnd`.

    Attributes:
        is_linked: whether the other methods may be called.
        ended: whether the unit's turn is to end after the last call, since an operator waits for the event time that the
            source promises, or another unit of the worker has something to do.
    """

    __slots__ = (
        "_begun",
        "_bell",
        "_end",
        "_lanes",
        "_made",
        "_panes",
        "_producers",
        "_promised",
        "_room",
        "_room_asked",
        "_rows",
        "_turn",
        "_unit",
        "ended",
        "is_linked",
        "members",
    )

    def __init__(self, unit: SourceUnit, members: list[Replica]) -> None:
        self._unit, self.members = unit, members
        self._end: ChainEnd = members[-1].actor  # type: ignore[assignment]
        self.ended = self.is_linked = self._begun = self._promised = False
        self._made = self._room = 0

    def link(self) -> bool:
        """Links the members, whose tables are complete; returns whether they and their source can be linked."""
        unit = self._unit
        ordered = unit.watermarks is None or unit.watermarks.ordered
        plain = all(each.stamp is None and each.descent is None for each in (unit.head, *self.members))
        if not (ordered and plain) or unit.in_order or unit.idle_timeout is not None:
            return False
        transport = unit.worker.transport
        self._bell = transport.doorbell.handle if transport is not None else None
        self._lanes = _lanes(unit.head, self.members)
        channels = [lane.channel for lane in self._lanes]
        ends = [each.frontier_end() for each in channels if isinstance(each, SharedFrontier)]
        self._producers = ends if len(ends) == len(channels) else []
        """What C raises the frontiers of all lanes by; empty: Python does at the end of the turn."""
        try:
            self._make_room(unit.batch_size)
        except Exception:  # if something is wrong with an operator, its own hook raises a better error
            return False
        self.is_linked = True
        return True

    def _make_room(self, rows: int) -> None:
        """Links the members anew for batches of up to so many rows, or as many as the source makes at once."""
        made = self._unit.source.native_rows(rows)
        if made is None:
            raise UnlinkedError
        self._rows, self._room_asked = made, rows
        linking = Linking(made.schema)
        linked, sets = linking.rows, []
        for number, member in enumerate(self.members):
            linking.member = number
            sets.append(linked.number)
            if member is self.members[-1]:
                self._panes = self._end.link_end(linking, linked)
            else:
                linked = member.actor.link(linking, linked)  # type: ignore[attr-defined]
                if linked.schema != member.schemas["default"].user:
                    raise UnlinkedError
        self._turn = Turn(
            linking.ended(),
            self._panes.bounds,
            made.make,
            made.context,
            made.columns,
            sets,
            self._producers,
            self._bell,
            made.rows,
            made,
        )

    def turn(self, rows: int, most: int, deadline: int) -> int:
        """Takes up to `most` rows of the source, `rows` a batch, until a time of the monotonic clock; returns how many. 0: the
        next batch is to go the way of batches, and all has been settled."""
        if rows > self._room_asked:
            self.settle()
            self._make_room(rows)
        if not self._begun and not self._begin():
            return 0
        turn, before = self._turn, self._made
        promises = len(self._producers) if all(map(_has_sent, self._lanes)) else 0
        why = turn.run(
            min(rows, turn.most_rows),
            most,
            promises,
            deadline,
            deadline - self._unit.worker.turn_ns + LISTEN_NS,
        )
        self._made = made = turn.made
        self._promised = promises > 0
        self.ended = why in (DUE, RUNG)
        if why not in GOES_ON or (why == ROWS and made - before < most):
            self.settle()
        return made - before

    def _begin(self) -> bool:
        """Asks the source and the last member what comes next and what may come. False: nothing without Python."""
        room, low, due = self._end.admits()
        made, most, bound = self._rows.next() if room > 0 else (0, 0, 0)
        if most <= 0:
            return False
        self._panes.late_below(low)
        self._turn.begin(made, most, room=room, due=due, bound=bound)
        self._made, self._room, self._begun = made, room, True
        return True

    def promise(self) -> bool:
        """Promises the event time that the source has reached, if only lanes need to know of it now; returns whether it has."""
        if not self._begun or not self._lanes:
            return False
        if not self._promised:
            frontier = self._turn.frontier
            for lane in self._lanes:
                lane.advance(frontier)
        return True

    def settle(self) -> None:
        """Counts what each member has taken, as if its hook had, and notes how far the source was read: before anybody asks, and
        before a hook runs."""
        if not self._begun:
            return
        self._begun = False
        unit, turn = self._unit, self._turn
        before, *counts = turn.counts()
        if not before.rows:
            return
        self._rows.took(turn.made, turn.latest)
        if unit.watermarks is not None:
            unit.watermarks.passed(unit.source.origin, turn.latest)
        head = unit.head
        head.entry_min = head.entry_max = before.entered
        head.execute_ns += before.took_ns
        sender = head
        for member, count in zip(self.members, counts):
            sender.events_out += count.rows
            if not count.rows:
                break
            member.count_input(count.rows, count.entered, count.entered, count.began)
            member.jumbo_in += count.batches - 1
            member.execute_ns += count.took_ns
            sender = member
        self._end.took(self._room - turn.room)


def _lanes(head: Replica, members: list[Replica]) -> list[SendLane]:
    """The lanes by which the head and the members of its chain promise event time; none if they promise it in other ways, too."""
    edges = [
        edge
        for replica in (head, *members)
        for output, edges in replica.edges.items()
        for edge in edges
        if replica is members[-1] or output != "default"
    ]
    found: list[SendLane] = []
    for edge in edges:
        if isinstance(edge, SendLane):
            found.append(edge)
        elif type(edge) is RoutedEdge:
            found += edge.lanes
        else:
            return []
    return found


def _has_sent(lane: SendLane) -> bool:
    """Whether no rows wait in a lane, which a promise must not overtake."""
    return not lane.pending and lane._encoded is None
