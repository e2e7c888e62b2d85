"""An input in timestamp order inside a process: a ScaleGate (viper-scalegate section 3.3) for all replicas of an actor, or
for one of them. A reader that finds nothing puts the rows that wait in the channels into the gate, for all readers; each
reader takes stretches out of it.

native/src/scalegate.c decides the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from actorstream.checkpoint.alignment import Alignment
from actorstream.events.interleaved import cut
from actorstream.events.saved import save_rows, saved_rows
from actorstream.native.scalegate import LEAVES, ScaleGate, Stretches
from actorstream.native.stretches import StretchColumns
from actorstream.runtime.timestamp.gate_columns import addresses_of, batch_of, columns_for, packed
from actorstream.runtime.timestamp.gate_rows import GateRows
from actorstream.runtime.timestamp.lane_rows import LaneRows, times_of
from actorstream.runtime.timestamp.lane_snapshots import SavedLanes, by_lane, count_tied, saved_lane
from actorstream.runtime.timestamp.ready_rows import LEAST_MERGED, LONG_RUN
from actorstream.transports.base import DATA, FRONTIER_MIN, FrameKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.native.scalegate import View

RUNS = 64
"""Runs of each source that may be in the gate."""
MOST_STRETCHES = 1 << 16


Found = list[tuple["Batch", str]]
"""Batches, and the name of the input that each is of."""


class Made(NamedTuple):
    """Batches that one reader has made of stretches; the other readers take them too."""

    end: int
    """The stretch behind them."""
    batches: Found


class GateInput:
    """The channels, the gate, and the state of both.

    Args:
        ring: wakes the reader of a doorbell bit.
        lanes: one for each replica that sends.
        ties: columns that tell tied rows of one rank apart.
        schema: of the rows of all sources, with the system columns to keep; of fixed width.
        one_stream: whether rows of several inputs may become one batch.
        readers: how many.
    """

    most_tied: ClassVar[int] = 64 << 20
    """Bytes of each source that wait in memory for their tie; beyond it rows are spilled to a file."""

    def __init__(
        self,
        ring: Callable[[int], None],
        lanes: list[LaneRows],
        ties: int,
        schema: Schema,
        *,
        one_stream: bool,
        readers: int,
        batch_size: int,
    ) -> None:
        self._ring, self.all_rows, self.ties, self.schema = ring, lanes, ties, schema
        self.sources = [GateRows(rows) for rows in lanes]
        self.batch_size = max(batch_size, LEAST_MERGED)
        self.room = min(MOST_STRETCHES, 1 << (self.batch_size - 1).bit_length())
        self.gate = ScaleGate(
            [rows.order.rank for rows in lanes],
            readers,
            runs=RUNS,
            stretches=min(MOST_STRETCHES, 4 * self.room),
            ties=ties,
        )
        self.made: dict[int, Made] = {}
        """First stretch -> the batches made of it and of those behind it. Kept until all readers have passed them."""
        self.positions = [0] * readers
        """Stretches that each reader was given."""
        self.seen = (0, FRONTIER_MIN)
        """As of the last look at the gate: the number of stretches, and the time below which no later stretch has a row."""
        self.alignment = Alignment([rows.lane for rows in lanes])
        self.barrier: int | None = None
        """A barrier that all sources have brought: nothing comes in until all readers have passed it."""
        self.at: int | None = None
        """The stretch that the barrier stands before, once that is known."""
        self.passing: set[int] = set()
        """Readers that have not passed the barrier."""
        self.is_over = False
        """Whether all sources have ended, and no rows wait beside the gate."""
        self.bits: list[int] = []
        """Doorbell bits of the readers."""
        self.first = 0
        """The replica that reads first; its channels are the sources'."""
        self.row: np.ndarray | None = None
        """Its counters."""
        self._pending: list[list[Batch]] = []
        self._saved: SavedLanes | None = None
        self._widths = np.array([field.width for field in schema.fields], np.uint64)
        inputs = [0 if one_stream else rows.order.rank for rows in lanes]
        self._runs = StretchColumns(len(lanes) * RUNS, [field.width for field in schema.fields], inputs)
        self._batches: list[Batch | None] = [None] * (len(lanes) * RUNS)
        self._waited = LEAVES
        self._told: tuple[object, ...] = ()
        self._is_restored = False

    # -- input

    def ring(self, bit: int) -> None:
        """The doorbell of the channels: a producer has sent or promised something. It wakes the readers, which put many jumbo
        tuples into the gate at once; to do it at each hand-over costs more (cases keyed-K-R and broadcast-K-R of the suite
        `scalegate`)."""
        self._tell()

    def intake(self, reader: int = -1) -> None:
        """Puts the rows that wait into the gate, and wakes the other readers if that has made rows ready. A reader that has
        taken stretches calls it before it rests, because taking them may have merged more."""
        gate, sources = self.gate, self.sources
        if self.at is not None and not self.passing:
            self.barrier = self.at = self._saved = None
            self._pending = []
        for source in sources:
            self._release(source)
            self._take(source)
        view = gate.look()
        while view is not None and self.barrier is None and self._relieve(view):
            for source in sources:
                self._take(source)
            view = gate.look()
        if view is not None:
            self._see(view)
        if self.made:
            least = min(self.positions)
            for start in [each for each in self.made if each < least]:
                del self.made[start]
        told = (*self.seen, self.at, self.barrier, self.is_over)
        if told != self._told:
            self._told = told
            self._tell(reader)

    def _release(self, source: GateRows) -> None:
        """Releases the runs of a source that all readers have passed."""
        passed = self.gate.acknowledged(source.index)
        for run in range(source.gone, passed):
            self._batches[source.index * RUNS + run % RUNS] = None
        source.release_runs(passed)

    def _see(self, view: View) -> None:
        self.seen = (view.logged, view.reached)
        self.is_over = view.reached == LEAVES and all(source.over for source in self.sources)
        if self.barrier is not None and self.at is None and not view.is_full:
            self._pending = [source.pending(*self.gate.gone(source.index)) for source in self.sources]
            self.at = view.logged
        if self.row is not None and any(rows.buffered for rows in self.all_rows):
            count_tied(self.all_rows, self.row)

    def _tell(self, but: int = -1) -> None:
        for number, bit in enumerate(self.bits):
            if number != but:
                self._ring(bit)

    def _take(self, source: GateRows) -> None:
        """Puts the rows that wait in a source into the gate, as far as there is room."""
        gate, channel = self.gate, source.lane.channel
        while not source.lane.held and not source.over and self.barrier is None:
            while source.waits and self._has_room(source):
                self._add(source, source.next_waiting())
            if source.lane.ended:
                if source.waits:
                    return
                source.over = True
                gate.promise(source.index, LEAVES)
                return
            bound = channel.frontier(0)  # before the head: what it covers is there
            head = channel.peek(source.rows.open)
            if head is None:
                if not source.waits:
                    gate.promise(source.index, bound)
                return
            if head.kind != DATA:
                self._mark(source, head.kind, head.barrier)
            elif not source.waits and self._has_room(source):
                batch = source.rows.take_in()
                if batch.rows:
                    self._add(source, batch)
                else:
                    source.rows.drop()
            elif source.crowded and (source.last == self._waited or self.alignment.barrier is not None):
                self._put_behind(source)
            else:
                return

    def _has_room(self, source: GateRows) -> bool:
        """Whether one more run of a source may be in the gate. The first one always may."""
        runs = source.added - source.gone
        return runs == 0 or (runs < RUNS and source.rows.buffered <= self.most_tied)

    def _add(self, source: GateRows, batch: Batch) -> None:
        """Puts a run of the source into the gate."""
        batch = packed(batch, self.schema)
        times = times_of(batch)
        ties = source.rows.order.ties(batch, self.ties)
        reference = source.index * RUNS + source.added % RUNS
        marks = (batch.entry_min, batch.entry_max, batch.began)
        self._runs.put(reference, addresses_of(batch, self.schema, self._widths), marks)
        self._batches[reference] = batch
        source.add(batch, (times, *ties))
        added = self.gate.add(source.index, times, reference, ties)
        assert added, "there is room for the run"

    def _put_behind(self, source: GateRows) -> None:
        """Takes rows off their channel; they wait here until there is room in the gate, in memory or in a file."""
        rows = source.rows
        rows.buffer()
        crowded = self._is_crowded(rows)
        batch = rows.take_in()
        if not batch.rows:
            rows.drop()
            return
        source.last = int(times_of(batch)[-1])
        if crowded:
            rows.put_aside()
        else:
            rows.buffer()

    def _is_crowded(self, rows: LaneRows) -> bool:
        """Whether further rows that leave their channel are too many for memory."""
        return bool(rows.spill) or rows.buffered > self.most_tied

    def _relieve(self, view: View) -> bool:
        """Lets rows leave their channels if all of them are tied at the time that is waited on, or, while a barrier is
        aligned, if they came before it. Returns whether something waits behind them."""
        self._waited, aligns, found = view.waited, self.alignment.barrier is not None, False
        for source in self.sources:
            source.crowded = (
                not source.lane.held and not source.lane.ended and (aligns or source.last == view.waited)
            )
            if source.crowded:
                source.rows.buffer()
                found = found or source.lane.channel.peek() is not None
        return found

    # -- marks

    def _mark(self, source: GateRows, kind: int, barrier: int) -> None:
        """Takes a barrier or end mark off a channel."""
        source.rows.buffer()
        source.lane.consume()
        if kind == FrameKind.BARRIER:
            complete = self.alignment.deliver(source.lane, barrier)
        else:
            source.lane.ended = True
            complete = self.alignment.ended(source.lane)
        if complete is not None:
            self.passing = set(range(len(self.positions)))
            self.barrier = complete

    def passed(self, reader: int) -> None:
        """A reader has passed the barrier."""
        self.passing.discard(reader)
        self.intake()

    def snapshot(self) -> SavedLanes:
        """By source, the rows before the barrier that no reader has got."""
        if self.at is None:
            return [saved_lane(rows, []) for rows in self.all_rows]
        if self._saved is None:
            self._saved = [
                saved_lane(rows, [*map(save_rows, pending), *rows.spill.saved()])
                for rows, pending in zip(self.all_rows, self._pending)
            ]
        return self._saved

    def restore(self, snapshot: SavedLanes, schemas: Mapping[str, Schema]) -> None:
        """Restores the rows of the first reader's snapshot; those of all readers are the same."""
        if self._is_restored:
            return
        self._is_restored = True
        for rows, saved in by_lane(snapshot, self.all_rows):
            for each in saved:
                crowded = self._is_crowded(rows)
                rows.append(saved_rows(schemas[rows.input], each))
                if crowded:
                    rows.put_aside()

    # -- output

    def read(self, reader: int, into: Stretches) -> Found:
        """The next rows in order, about a batch of them; an empty list if none is ready."""
        at, made, gate = self.positions[reader], self.made, self.gate
        if len(self.positions) == 1:
            gate.give(reader, into, self.room, self.batch_size)
            self.positions[reader] = at + into.count
            batches = self._batches_of(into)
            gate.acknowledge(reader)
            return batches
        found = made.get(at)
        if found is None:
            behind = [start for start in made if start > at]
            gate.give(reader, into, min(behind) - at if behind else self.room, self.batch_size)
            if not into.count:
                return []
            found = Made(at + into.count, self._batches_of(into))
            made[at] = found
        else:  # another reader has made it
            gate.give(reader, into, found.end - at)
        self.positions[reader] = found.end
        gate.acknowledge(reader)
        return found.batches

    def _batches_of(self, stretches: Stretches) -> Found:
        """Batches of the stretches that a reader was given and has not acknowledged: slices, or gathered rows."""
        found: Found = []
        at = 0
        while at < stretches.count:
            count, rows = self._runs.cut(stretches, at, LONG_RUN, self.batch_size)
            first = stretches[at]
            source = self.sources[first.source]
            if count == 1:
                batch = self._batches[first.reference]
                assert batch is not None
                found.append((cut(batch, first.first, rows), source.lane.input))
            else:
                columns, addresses = columns_for(self.schema, rows)
                self._runs.pour(stretches, at, count, addresses)
                made = batch_of(self.schema, columns)
                made.entry_min, made.entry_max, made.began = self._runs.marks(stretches, at, count)
                found.append((made, source.lane.input))
            at += count
        return found
