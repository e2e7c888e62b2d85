"""The shortest way from a source through the neighbours that it calls: one call of C runs the kernels of all members one behind
the other, on one batch that the source has read, or on many that it makes in C.

What the call does not take goes the way of batches, which comes to the same: a batch with a row that fails or is late, and
whatever an operator's hook has to decide. Barriers and hooks come between two calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.actors.contract import goes_with_batches
from actorstream.connectors.source import NO_MORE
from actorstream.events.fields import WATERMARK
from actorstream.native.turn import DUE, REFUSED, ROWS, RUNG, TIME, ReadRows, Turn
from actorstream.operators.chain import LinkedRows, Linking, UnlinkedError
from actorstream.operators.chain_end import ChainEnd
from actorstream.runtime.output import DirectEdge, RoutedEdge
from actorstream.runtime.send_lane import SendLane
from actorstream.transports.fast_paths import SharedFrontier
from actorstream.windows.watermark import NOTHING

if TYPE_CHECKING:
    from actorstream.connectors.native_rows import NativeRows
    from actorstream.events.batch import Batch
    from actorstream.native.panes import PanesStep
    from actorstream.plan.chains import ChainLink
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.source_unit import SourceUnit

GOES_ON = (ROWS, TIME, RUNG)
"""Ends of a call after which the next one needs nothing of Python but that it is called."""
UNKNOWN = (1, 0)
"""Bounds of event times that nobody knows: the least is above the greatest."""
LISTEN_NS = 100_000
"""A call lasts so long before the doorbell can end it: what Python does around a call costs a fifth of that."""


class SourceChain:
    """The way of one source unit. What its calls have counted stays in C until `settle`.

    Args:
        members: the neighbours, each behind the one whose rows it takes, as `links` say; those whose rows nobody takes are
            a `ChainEnd`.

    Attributes:
        is_linked: whether the other methods may be called.
        makes_rows: whether the source makes its rows in C, so that `turn` is to be called; else it reads batches, and `take` is.
        ended: whether the unit's turn is to end after the last call, since an operator waits for the event time that the
            source promises, or another unit of the worker has something to do.
    """

    def __init__(self, unit: SourceUnit, members: list[Replica], links: list[ChainLink]) -> None:
        self._unit, self.members, self._links = unit, members, links
        takers = {link.before for link in links}
        self._ends: dict[int, ChainEnd] = {
            place: each.actor  # type: ignore[misc]
            for place, each in enumerate(members)
            if place not in takers
        }
        self._splits = {place for place, each in enumerate(members) if _is_split(each)}
        self.ended = self.is_linked = self.makes_rows = self._begun = self._promised = False
        self._made = 0
        self._told = NOTHING
        """The greatest event time that `promise` has told the lanes."""
        self._room: dict[int, int] = {}

    def link(self) -> bool:
        """Links the members, whose tables are complete; returns whether they and their source can be linked."""
        unit = self._unit
        ordered = unit.watermarks is None or unit.watermarks.ordered
        plain = all(each.stamp is None and each.descent is None for each in (unit.head, *self.members))
        if not plain or unit.in_order or unit.in_step is not None:
            return False
        self.makes_rows = ordered and unit.idle_timeout is None and unit.source.native_rows(1) is not None
        transport = unit.worker.transport
        self._bell = transport.doorbell.handle if transport is not None else None
        self._lanes = _lanes(unit.head, self.members)
        channels = [lane.channel for lane in self._lanes]
        ends = [each.frontier_end() for each in channels if isinstance(each, SharedFrontier)]
        self._producers = ends if len(ends) == len(channels) else []
        """What C raises the frontiers of all lanes by; empty: Python does at the end of the turn."""
        try:
            self._make_room(unit.sizing.size.rows)
        except Exception:  # if something is wrong with an operator, its own hook raises a better error
            return False
        self.is_linked = True
        return True

    def _make_room(self, rows: int) -> None:
        """Links the members anew for batches of up to so many rows, or as many as the source makes at once."""
        unit = self._unit
        self._rows: NativeRows | None = unit.source.native_rows(rows) if self.makes_rows else None
        self._room_asked = rows
        linking = Linking(
            unit.head.schemas["default"].user if self._rows is None else self._rows.schema, grows=True
        )
        left: dict[tuple[int, str], LinkedRows] = {(-1, "default"): linking.rows}
        sets = []
        self._panes: dict[int, PanesStep] = {}
        for place, (member, link) in enumerate(zip(self.members, self._links)):
            linking.member = place
            rows_in = left[link.before, link.output]
            sets.append(rows_in.number)
            if place in self._ends:
                self._panes[place] = self._ends[place].link_end(linking, rows_in)
                continue
            wanted = {each.output for each in self._links if each.before == place}
            for output, rows_out in _linked(member, linking, rows_in, wanted).items():
                if rows_out.schema != member.schemas[output].user:
                    raise UnlinkedError
                left[place, output] = rows_out
        chain, self._names = linking.ended(needed=self._rows is None)
        self._read = ReadRows(len(self._names), rows)
        made = self._rows or self._read
        self._turn = Turn(
            chain,
            {place: panes.bounds for place, panes in self._panes.items()},
            made.make,
            made.context,
            made.columns,
            sets,
            self._producers,
            self._bell,
            made.rows,
            made,
        )

    def take(self, batch: Batch, entered: int) -> bool:
        """Takes a batch that the source has read, all of its rows or none. False: it is to go the way of batches, and all has
        been settled. `entered`: when it was asked for."""
        try:
            if self.makes_rows or not self.is_linked or WATERMARK in batch.carried():
                raise UnlinkedError
            batch = self._unit.head.fitting(batch, "default")
            columns = [batch.column(name).descriptor for name in self._names]
            times = batch.time_range()
            if batch.rows > self._room_asked:
                self.settle()
                self._make_room(1 << batch.rows.bit_length())
        except Exception:  # the way of batches raises a better error
            self.settle()
            return False
        if not self._begun and not self._begin():
            return False
        self._turn.give(self._read, columns, *(times or UNKNOWN), entered)
        why = self._turn.run(batch.rows, batch.rows, 0, NO_MORE, NO_MORE)
        if why not in GOES_ON:
            self.settle()
        return why != REFUSED

    def turn(self, rows: int, most: int, deadline: int) -> int:
        """Takes up to `most` rows of the source, `rows` a batch, until a time of the monotonic clock; returns how many. 0: the
        next batch is to go the way of batches, and all has been settled."""
        if rows > self._room_asked:
            self.settle()
            self._make_room(rows)
        if not self._begun and not self._begin():
            return 0
        turn, before = self._turn, self._made
        producers = self._producers
        promises = len(producers) if producers and not any(lane.pending for lane in self._lanes) else 0
        # no calls of min and max: a lone batch takes 4.4 us in all
        turn_ns, most_rows = self._unit.worker.turn_ns, turn.most_rows
        listens = deadline - turn_ns + LISTEN_NS if deadline > turn_ns else 0
        why = turn.run(rows if rows < most_rows else most_rows, most, promises, deadline, listens)
        self._made = made = turn.made
        self._promised = promises > 0
        self.ended = why in (DUE, RUNG)
        if why not in GOES_ON or (why == ROWS and made - before < most):
            self.settle()
        return made - before

    def _begin(self) -> bool:
        """Asks the source and the last member what comes next and what may come. False: nothing without Python."""
        admitted = {place: end.admits() for place, end in self._ends.items()}
        room = min(each.room for each in admitted.values())
        made, most, bound = self._turn.made, NO_MORE, NO_MORE
        if room > 0 and self._rows is not None:
            made, most, bound = self._rows.next()
        if room <= 0 or most <= 0:
            return False
        for place, each in admitted.items():
            self._panes[place].late_below(each.low)
        # a state that refuses late rows must be the only one, since another one may have changed before
        low = max(each.low for each in admitted.values()) if len(admitted) > 1 else NOTHING
        due = min(each.due for each in admitted.values())
        self._turn.begin(made, most, low=low, due=due, bound=bound)
        self._room = {place: each.room for place, each in admitted.items()}
        self._turn.admit(self._room)
        self._made, self._begun = made, True
        return True

    def promise(self) -> bool:
        """Promises the event time that the source has reached, if only lanes need to know of it now; returns whether it has."""
        if not self._begun or not self._lanes or not self.makes_rows:
            return False
        if not self._promised:
            frontier = self._turn.frontier
            if frontier > self._told:
                self._told = frontier
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
        if self._rows is not None:
            self._rows.took(turn.made, turn.latest)
            if unit.watermarks is not None:
                unit.watermarks.passed(unit.source.origin, turn.latest)
        head = unit.head
        head.entry_min = head.entry_max = before.entered
        head.execute_ns += before.took_ns
        sent: dict[tuple[int, str], int] = {}
        for place, (member, count, link) in enumerate(zip(self.members, counts, self._links)):
            sent[link.before, link.output] = count.rows
            if count.rows:
                member.count_input(count.rows, count.entered, count.entered, count.began)
                member.jumbo_in += count.batches - 1
                member.execute_ns += count.took_ns
                member.events_out += count.rows if place in self._splits else 0
            if place in self._ends:
                self._ends[place].took(self._room[place] - turn.room(place))
        for (place, _), rows in sent.items():
            if place not in self._splits:
                (head if place < 0 else self.members[place]).events_out += rows


def _is_split(replica: Replica) -> bool:
    """Whether all rows that come to it go on, each to one of its outputs."""
    return goes_with_batches(type(replica.actor), "link_outputs")


def _linked(member: Replica, linking: Linking, rows: LinkedRows, wanted: set[str]) -> dict[str, LinkedRows]:
    """The rows that a member without a state leaves at each output that is wanted, and maybe at others."""
    actor: Any = member.actor
    if _is_split(member):
        return actor.link_outputs(linking, rows, wanted)  # type: ignore[no-any-return]
    return {"default": actor.link(linking, rows)}


def _lanes(head: Replica, members: list[Replica]) -> list[SendLane]:
    """The lanes by which the head and the members of its chain promise event time; none if they promise it in other ways, too."""
    edges = [
        edge
        for replica in (head, *members)
        for edges in replica.edges.values()
        for edge in edges
        if not (isinstance(edge, DirectEdge) and edge.consumer in members)
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
