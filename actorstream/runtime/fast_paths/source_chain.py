"""The shortest way from a source that makes its rows in C through the neighbours that it calls: many batches in one call of C,
which runs the kernels of all members one behind the other.

What the call does not take goes the way of batches, which comes to the same: a batch with a row that fails or is late, and
whatever an operator's hook has to decide. Barriers and hooks come between two calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.native.turn import DUE, RUNG, Turn
from actorstream.operators.chain import ChainEnd, Linking, UnlinkedError
from actorstream.runtime.output import RoutedEdge
from actorstream.runtime.send_lane import SendLane
from actorstream.transports.fast_paths import SharedFrontier

if TYPE_CHECKING:
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.source_unit import SourceUnit

LISTEN_NS = 100_000
"""A call lasts so long before the doorbell can end it: what Python does around a call costs a fifth of that."""


class SourceChain:
    """The way of one source unit.

    Args:
        members: the neighbours, in order; the last is a `ChainEnd`.

    Attributes:
        is_linked: whether `turn` may be called.
        source_ns: the time that the last call has spent in the source.
        ended: whether the unit's turn is to end after the last call, since an operator waits for the event time that the
            source promises, or another unit of the worker has something to do.
    """

    __slots__ = (
        "_bell",
        "_end",
        "_lanes",
        "_panes",
        "_producers",
        "_rows",
        "_turn",
        "_unit",
        "ended",
        "is_linked",
        "members",
        "source_ns",
    )

    def __init__(self, unit: SourceUnit, members: list[Replica]) -> None:
        self._unit, self.members = unit, members
        self._end: ChainEnd = members[-1].actor  # type: ignore[assignment]
        self.source_ns, self.ended, self.is_linked = 0, False, False

    def link(self) -> bool:
        """Links the members, whose tables are complete; returns whether they and their source can be linked."""
        unit = self._unit
        ordered = unit.watermarks is None or unit.watermarks.ordered
        plain = all(each.stamp is None and each.descent is None for each in (unit.head, *self.members))
        if (
            not (ordered and plain)
            or unit.in_order
            or unit.idle_timeout is not None
            or unit.row_budget is not None
        ):
            return False
        transport = unit.worker.transport
        self._bell = transport.doorbell.handle if transport is not None else None
        lanes = _lanes(unit.head, self.members)
        channels = [lane.channel for lane in lanes]
        shared = all(isinstance(channel, SharedFrontier) for channel in channels)
        self._lanes = lanes if shared else []
        """The lanes whose frontiers C raises; else Python does at the end of the turn."""
        self._producers: list[Any] = [channel.frontier_end() for channel in channels] if shared else []  # type: ignore[attr-defined]
        try:
            self._make_room(unit.sizing.size.rows)
        except Exception:  # if something is wrong with an operator, its own hook raises a better error
            return False
        self.is_linked = True
        return True

    def _make_room(self, rows: int) -> None:
        """Links the members anew for batches of up to so many rows."""
        made = self._unit.source.native_rows(rows)
        if made is None:
            raise UnlinkedError
        self._rows = made
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
            [(producer, 0) for producer in self._producers],
            self._bell,
            rows,
            made,
        )

    def turn(self, rows: int, most: int, deadline: int) -> int:
        """Takes up to `most` rows of the source, `rows` a batch, until a time of the monotonic clock; returns how many. 0: the
        next batch is to go the way of batches."""
        room, low, due = self._end.admits()
        if room <= 0:
            return 0
        if rows > self._turn.most_rows:
            self._make_room(rows)
        turn = self._turn
        made, left, bound = self._rows.next()
        if left <= 0:
            return 0
        self._panes.late_below(low)
        why = turn.run(
            made,
            rows,
            min(most, left),
            room=room,
            due=due,
            bound=bound,
            promises=len(self._producers) if all(map(_has_sent, self._lanes)) else 0,
            deadline=deadline,
            listens=max(0, deadline - self._unit.worker.turn_ns + LISTEN_NS),
        )
        self.ended = why in (DUE, RUNG)
        taken = turn.made - made
        if taken:
            self._note(turn, taken)
        return taken

    def _note(self, turn: Turn, taken: int) -> None:
        """Counts what each member has taken, as if its hook had; notes how far the source has been read."""
        unit = self._unit
        unit.head.events_out += taken
        self.source_ns = turn.took_ns
        self._rows.took(turn.made, turn.latest)
        if unit.watermarks is not None:
            unit.watermarks.passed(unit.source.origin, turn.latest)
        before: Replica | None = None
        for member, count in zip(self.members, turn.counts()):
            if before is not None:
                before.events_out += count.rows
            if not count.rows:
                break
            member.count_input(count.rows, count.entered, count.entered, count.began)
            member.jumbo_in += count.batches - 1
            member.execute_ns += count.took_ns
            before = member
        else:
            self._end.took(count.rows)


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
