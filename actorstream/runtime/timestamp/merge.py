"""The merge of lanes in timestamp order (viper-scalegate section 3.3), for one reader or for all replicas of an actor. A reader
that finds nothing takes in what waits in the channels, for all readers; each gets the same sequence.

native/src/scalegate.c decides the order, `merged_runs.py` makes batches. Here frames are taken in and given back: a frame stays
in its channel until all readers have passed its rows, unless a tie or a barrier keeps these.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.checkpoint.alignment import Alignment
from actorstream.events.saved import save_rows, saved_rows
from actorstream.metrics.counters import Counter
from actorstream.native.scalegate import LEAVES
from actorstream.ordering.timestamp import times_of
from actorstream.runtime.idleness import Idleness
from actorstream.runtime.timestamp.lane_rows import LaneRows, SavedLanes, by_lane, saved_lane
from actorstream.runtime.timestamp.merged_runs import RUNS, MergedRuns
from actorstream.runtime.timestamp.ties import ValueTies
from actorstream.transports.base import FRONTIER_MIN, Frame, FrameKind
from actorstream.windows.watermark import AT_END

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.native.scalegate import View
    from actorstream.runtime.inbox import Ports

IDLE = AT_END
"""What is promised for a lane that is idle: only rows that come when everything has ended wait for it, and it may bring rows
again."""


class TimestampMerge:
    """The lanes, what was merged of them, and the barrier that stands between.

    Args:
        lanes: one for each replica that sends. row: counters of the first reader.
    """

    most_tied = 64 << 20
    """Bytes of each lane that wait in memory for their tie; beyond it rows are spilled to a file."""

    def __init__(self, lanes: list[LaneRows], runs: MergedRuns, row: np.ndarray) -> None:
        self.lanes, self.runs, self.row = lanes, runs, row
        self.readers: list[MergeReader] = []
        self.wake: Callable[[MergeReader], None] | None = None
        """Wakes a reader; None: there is only one, which the channels wake."""
        self.seen = (0, FRONTIER_MIN)
        """As of the last look: the number of stretches, and the time below which no later stretch has a row."""
        self.alignment = Alignment([rows.lane for rows in lanes])
        self.barrier: int | None = None
        """A barrier that all lanes have brought: nothing comes in until all readers have passed it."""
        self.at: int | None = None
        """The stretch that the barrier stands before, once that is known."""
        self.passing: set[int] = set()
        """Readers that have not passed the barrier."""
        self.is_over = False
        """Whether all lanes have ended, and no rows wait here."""
        self._saved: SavedLanes = []
        self._waited = LEAVES
        self._is_due = True
        """Whether the gate is to be looked at even if nothing has come in: rows in it wait for room, or the last look failed."""
        self._told: tuple[object, ...] = ()
        self._is_restored = False

    def intake(self, reader: int = -1) -> None:
        """Takes in and merges what waits, and wakes the other readers if that has changed what they can take. A reader that has
        taken something calls it before it rests, because the room that it has made may have let more come in."""
        is_due = self._is_due
        if self.at is not None and not self.passing:
            self.barrier = self.at = None
            is_due = True
        for rows in self.lanes:
            for _ in range(self.runs.passed(rows.index)):
                rows.release()
            is_due = self._take(rows) or is_due
        if not is_due:
            return
        view = self.runs.gate.look()
        while view is not None and self.barrier is None and self._relieve(view):
            for rows in self.lanes:
                self._take(rows)
            view = self.runs.gate.look()
        self._is_due = view is None or view.is_full
        if view is not None:
            self._see(view)
        if self.wake is not None:
            told = (*self.seen, self.at, self.barrier, self.is_over)
            if told != self._told:
                self._told = told
                self.wake_readers(other_than=reader)

    def has_given(self, reader: int) -> bool:
        """Whether there may be stretches that a reader has not got; no: there is none, as of the last look."""
        return self._is_due or self.runs.positions[reader] < self.seen[0]

    def wake_readers(self, *, other_than: int = -1) -> None:
        """Wakes all readers, or those `other_than` one: a producer has sent or promised something, or rows became ready.
        Many jumbo tuples are merged at once then; to merge at each hand-over costs more (cases keyed-K-R and
        broadcast-K-R of the suite `scalegate`)."""
        for reader in self.readers:
            if reader.number != other_than and self.wake is not None:
                self.wake(reader)

    def _see(self, view: View) -> None:
        self.seen = (view.logged, view.reached)
        self.is_over = view.reached == LEAVES and all(rows.over for rows in self.lanes)
        if self.barrier is not None and self.at is None and not view.is_full:
            self._saved = [self._kept(rows) for rows in self.lanes]
            self.at = view.logged
        if any(rows.buffered for rows in self.lanes):
            spilled = sum(rows.spill.nbytes for rows in self.lanes)
            tied = spilled + sum(rows.buffered for rows in self.lanes)
            self.row[Counter.TIE_BYTES] = max(self.row[Counter.TIE_BYTES], tied)
            self.row[Counter.SPILLED_BYTES] = max(self.row[Counter.SPILLED_BYTES], spilled)

    # -- lanes

    def _waits(self, rows: LaneRows) -> bool:
        """Whether rows of a lane that have left its channel are still to be merged."""
        return len(rows.runs) > self.runs.inside(rows.index) or rows.spill.nbytes > 0

    def _has_room(self, rows: LaneRows) -> bool:
        """Whether one more run of a lane may be merged. The first one always may."""
        inside = self.runs.inside(rows.index)
        return inside == 0 or (inside < RUNS and rows.buffered <= self.most_tied)

    def _take(self, rows: LaneRows) -> bool:
        """Merges the rows that wait in a lane, as far as there is room. Returns whether the gate may have more to give now."""
        lane, gate, has_more = rows.lane, self.runs.gate, False
        channel = lane.channel
        while not (lane.held or rows.over or self.barrier is not None):
            while (waits := self._waits(rows)) and self._has_room(rows):
                self._add(rows)
                has_more = True
            if lane.ended:
                if not waits:
                    rows.over = has_more = True
                    gate.promise(rows.index, LEAVES)
                return has_more
            head = None if rows.rests else channel.peek(rows.open)
            if head is None:
                is_idle = lane.is_idle()
                bound = channel.frontier(0)  # before the head: what it covers is there
                head = channel.peek(rows.open)
                if rows.rests and (head is not None or not is_idle):
                    rows.rests = False
                    promised = max(self.readers[0].frontier, self.readers[0].last)
                    rows.least = gate.join(rows.index, max(bound, promised))
                    rows.promised = None
                if head is None:
                    if not waits:
                        rows.rests = is_idle
                        promised = IDLE if is_idle else bound
                        if promised != rows.promised:
                            rows.promised, has_more = promised, True
                            gate.promise(rows.index, promised)
                    return has_more
            if head.kind != FrameKind.DATA:
                self._mark(rows, head)
                has_more = True
            elif not waits and self._has_room(rows):
                if self._take_in(rows, head):
                    self._add(rows)
                    has_more = True
            elif rows.crowded and (rows.last == self._waited or self.alignment.barrier is not None):
                self._put_behind(rows)
                has_more = True
            else:
                return has_more
        return has_more

    def _take_in(self, rows: LaneRows, head: Frame) -> bool:
        """Takes in the rows at the head of a lane. Returns whether some of them can still get their place."""
        batch = rows.take_in(head)
        self.readers[0].idleness.wake()
        times = times_of(batch)
        if len(times) and times[0] < rows.least:
            late = times < rows.least
            self.readers[0].ports.late(batch.take(late))
            batch, times = batch.take(~late), times[~late]
            rows.runs[-1] = rows.runs[-1]._replace(batch=batch)
        if not len(times):
            rows.drop()
            return False
        rows.last = int(times[-1])
        return True

    def _add(self, rows: LaneRows) -> None:
        """Merges the first rows of a lane that are not."""
        at = self.runs.inside(rows.index)
        if len(rows.runs) == at:
            rows.append(rows.spill.take())
        batch = rows.runs[at].batch
        self.runs.add(rows.index, batch, times_of(batch), rows.order.ties(batch, self.runs.ties))

    def _put_behind(self, rows: LaneRows) -> None:
        """Takes rows off their channel; they wait here until there is room in the merge, in memory or in a file."""
        rows.buffer()
        head = rows.lane.channel.peek()
        assert head is not None, "it is there still"
        keep = rows.put_aside if rows.is_crowded(self.most_tied) else rows.buffer
        if self._take_in(rows, head):
            keep()

    def _relieve(self, view: View) -> bool:
        """Lets rows leave their channels if all of them are tied at the time that is waited on, or, while a barrier is
        aligned, if they came before it. Returns whether something waits behind them."""
        self._waited, aligns, found = view.waited, self.alignment.barrier is not None, False
        for rows in self.lanes:
            lane = rows.lane
            rows.crowded = not (lane.held or lane.ended) and (aligns or rows.last == view.waited)
            if rows.crowded:
                rows.buffer()
                found = found or lane.channel.peek() is not None
        return found

    # -- marks and checkpoints

    def _mark(self, rows: LaneRows, frame: Frame) -> None:
        """Takes a barrier or end mark off a channel."""
        rows.buffer()
        rows.lane.consume()
        if frame.kind == FrameKind.BARRIER:
            complete = self.alignment.deliver(rows.lane, frame.barrier)
        else:
            rows.lane.ended = True
            complete = self.alignment.ended(rows.lane)
        if complete is not None:
            self.passing = {reader.number for reader in self.readers}
            self.barrier = complete

    def passed(self, reader: int) -> None:
        """A reader has passed the barrier."""
        self.passing.discard(reader)
        self.intake()

    def _kept(self, rows: LaneRows) -> Any:
        """The rows of a lane before the barrier that no reader gets before it."""
        behind = [run.batch for run in list(rows.runs)[self.runs.inside(rows.index) :]]
        waiting = [*self.runs.waiting(rows.index), *behind]
        return saved_lane(rows, [*map(save_rows, waiting), *rows.spill.saved()])

    def snapshot(self) -> SavedLanes:
        """By lane, the rows before the barrier that no reader has got."""
        return self._saved if self.at is not None else [saved_lane(rows, []) for rows in self.lanes]

    def restore(self, snapshot: SavedLanes, schemas: Mapping[str, Schema]) -> None:
        """Restores the rows of the first reader's snapshot; those of all readers are the same."""
        if self._is_restored:
            return
        self._is_restored = True
        for rows, saved in by_lane(snapshot, self.lanes):
            for each in saved:
                crowded = rows.is_crowded(self.most_tied)
                rows.append(saved_rows(schemas[rows.input], each))
                rows.last = int(times_of(rows.runs[-1].batch)[-1])
                if crowded:
                    rows.put_aside()


class Marks:
    """Brings a reader the barriers and the end of all lanes, as one lane."""

    index = -1

    def __init__(self) -> None:
        self.held = self.ended = False

    def consume(self) -> None:
        """Does nothing: a mark is gone once the unit has passed it."""


class MergeReader:
    """The sequence that one reader of a merge gets.

    Attributes:
        lanes: bring the rows. mark: brings barriers and the end, as alignment sees it.
        runs: batches that are ready, in order, each with the name of its input.
        frontier: the event time that was promised downstream. last: the time of the last row that was given, or a later one
            that was promised, as far as idle lanes need it.
    """

    def __init__(self, merge: TimestampMerge, ports: Ports, bit: int) -> None:
        """bit: of the reader's doorbell."""
        self.merge, self.ports, self.bit, self.mark = merge, ports, bit, Marks()
        self.number = len(merge.readers)
        merge.readers.append(self)
        self.lanes = [rows.lane for rows in merge.lanes]
        self.idleness = Idleness(self.lanes, ports)
        self._idles = any(lane.idles for lane in self.lanes)
        self.runs: deque[tuple[Batch, str]] = deque()
        self.frontier = self.last = FRONTIER_MIN
        self.ties = ValueTies()
        """Of rows that are ordered by what is in them; a merge with several readers has none."""

    def next(self) -> Frame | None:
        """Called when `runs` is empty: fills it, or returns the mark that is due behind all rows before it."""
        mark = self.mark
        if mark.held or mark.ended:
            return None
        self._read()
        positions, number = self.merge.runs.positions, self.number
        while not self.runs:
            at = positions[number]
            self.look()
            self._read()
            if positions[number] == at:
                break  # else rows were read that wait for their ties: their room goes back at the next look
        return None if self.runs else self._due()

    def _read(self) -> None:
        merge, ties = self.merge, self.ties
        for batch, source in merge.runs.read(self.number) if merge.has_given(self.number) else ():
            rows = merge.lanes[source]
            if self._idles:
                self.last = int(times_of(batch)[-1])
            self.runs.extend(ties.add(batch, rows))
        if ties.rows:
            self.runs.extend(ties.settled(self._bound()))

    def _due(self) -> Frame | None:
        """The mark that is due, behind all rows before it."""
        merge = self.merge
        at = merge.runs.positions[self.number]
        if merge.at == at and self.number in merge.passing:
            return Frame(FrameKind.BARRIER, barrier=merge.barrier or 0)
        over = merge.is_over and not merge.passing and merge.seen[0] == at
        return Frame(FrameKind.END) if over else None

    def look(self) -> None:
        """Takes in rows without giving any, so that promises can rise while an output is full."""
        self.merge.intake(self.number)

    def done(self) -> None:
        """The room of rows goes back once all readers have got them."""

    def passed(self) -> None:
        self.merge.passed(self.number)

    def _bound(self) -> int:
        """The time below which the merge gives this reader no row."""
        logged, reached = self.merge.seen  # read first: rows that were given since are not below it
        time = self.merge.runs.gate.next_time(self.number)
        if time is not None:
            return time
        return reached if self.merge.runs.positions[self.number] >= logged else FRONTIER_MIN

    def reached(self) -> int:
        """The event time below which no row will be given, apart from those in `runs`."""
        return min(self._bound(), self.ties.time())

    def reached_at_barrier(self) -> int:
        """As `reached`, of what came before the barrier that is being passed; the least of all times if that is not known. After
        a resume rows come in other batches and to other replicas, so that a promise from behind the barrier is not theirs."""
        reached = self.reached()  # nothing is merged while a barrier stands
        return reached if reached < IDLE else FRONTIER_MIN

    def latest(self) -> int:
        """The event time of the rows that came so far. It counts while lanes promise nothing because they are idle."""
        return max(self.last, *(rows.last for rows in self.merge.lanes))

    def snapshot(self) -> dict[str, Any]:
        return {"lanes": self.merge.snapshot(), "tied": self.ties.snapshot()}

    def restore(self, snapshot: Any, schemas: Mapping[str, Schema]) -> None:
        self.merge.restore(snapshot["lanes"], schemas)
        for rows in self.merge.lanes if self._idles else ():
            rows.least = self.last  # what an idle lane brings from before that is late, as it was
        if snapshot["tied"] is not None:
            for lane, (saved,) in by_lane([snapshot["tied"]], self.merge.lanes):
                self.ties.restore(saved_rows(schemas[lane.input], saved), lane)
