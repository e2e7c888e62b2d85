"""The sending end of a channel: rows wait here until they are worth sending (natural batching), and promises behind them.

Marks (barrier, end) queue behind the rows before them, so nothing overtakes anything on a channel.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from time import monotonic_ns
from typing import TYPE_CHECKING, Protocol

from actorstream.errors import SchemaError
from actorstream.events.sending import piece, whole_jumbo
from actorstream.metrics.batch_sizes import BatchSizes
from actorstream.transports.base import Frame, FrameKind, SendChannel
from actorstream.transports.fast_paths import PieceSending

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.native.pieces import ColumnTable
    from actorstream.runtime.fast_paths.single_events import SendSingle
    from actorstream.runtime.framing import Framing
    from actorstream.scheduling.gathered_size import GatheredSize
    from actorstream.transports.fast_paths import EventSender, JumboSender, PieceSender

RUN_ROWS = 1024
"""The most rows of a run of jumbo tuples."""
RUN_WAITS = 256
"""A run of so many rows is sent at once; fewer rows are sent at the end of the turn."""
BEYOND = 1 << 62
"""Above every event time. A promise from here on says no more than the end mark. Where lanes may be idle it is not sent, so
that the channel keeps the last promise before it, which counts while all other lanes are idle."""
POLL_EVERY = 8
"""Frames between two looks at what the consumer has returned."""


class Numbers(Protocol):
    """Says the number of the rows that are pushed now. Event time then travels in band, behind the rows of its number."""

    number: int


class SendingClock(Protocol):
    """A clock whose time each frame carries, as of when it is sent."""

    now: int


class Waiting(Enum):
    """Which rows wait in a lane for others to join them while the consumer has something to do."""

    ALL = 0
    SELECTIONS = 1
    """Rows that were picked out of a batch; they are copied anyway."""


class _Rows:
    """Rows of one key that wait on a lane."""

    __slots__ = ("batches", "key", "rows")

    def __init__(self, key: int) -> None:
        self.key, self.rows = key, 0
        self.batches: list[Batch] = []


class SendLane:
    """The rows that wait for one replica of one consumer, in order, and the promises behind them.

    Rows carry a key: a serial number, an implementation tag, or 0. The frame's `serial` says it. Rows of two keys never
    share a jumbo tuple; rows of one key keep their order, and no row overtakes a mark.

    Args:
        channel: the sending end. framing: makes its jumbo tuples.
        batch_size: rows a jumbo tuple at most has, and how many make one worth sending; None: `sizing` says it.
        sizing: finds both; None: they stay as they are.
        on_blocked: called with this lane when the channel has no credit.
        single: sends a single event by itself, if it can; send_event: the same, of an event just made at a source.
        waiting: which rows may wait for others of their key.
        numbers: the key of what is pushed without one. clock: what hand-overs bear instead of a key.
        idles: the frontier word that says whether rows are to be expected; None: nobody asks.
    """

    __slots__ = (
        "_idles",
        "_open",
        "_promises",
        "_since",
        "_single",
        "_waiting",
        "batch_size",
        "blocked",
        "byte_limit",
        "channel",
        "clock",
        "enough",
        "framing",
        "gathered_ns",
        "numbers",
        "on_blocked",
        "passing",
        "pending",
        "producer",
        "rows",
        "runs",
        "send_event",
        "send_jumbo",
        "send_piece",
        "sequence",
        "sizes",
        "sizing",
        "transfer_ns",
    )

    def __init__(
        self,
        channel: SendChannel,
        framing: Framing,
        *,
        batch_size: int,
        sizing: GatheredSize | None = None,
        on_blocked: Callable[[SendLane], None],
        single: SendSingle | None = None,
        send_event: EventSender | None = None,
        waiting: Waiting = Waiting.ALL,
        numbers: Numbers | None = None,
        clock: SendingClock | None = None,
        idles: int | None = None,
    ) -> None:
        self.channel, self.framing, self.sizing = channel, framing, sizing
        self.batch_size = self.enough = batch_size
        """Rows that a jumbo tuple at most has, and with which it is sent even if the consumer has something to do."""
        self.passing = batch_size // 2 + 1
        """Rows with which a batch that need not be copied goes by itself."""
        if sizing is not None:
            self._resize(sizing)
        self.sizes = BatchSizes()
        self.producer = framing.producer
        self._waiting, self.numbers, self.clock, self._idles = waiting, numbers, clock, idles
        self.byte_limit = max(channel.channel.budget // 4, 4096)
        """Bytes up to which batches are put together."""
        framing.cut_bytes = self.byte_limit
        if waiting is Waiting.SELECTIONS and not framing.encodes:  # a part of a batch would free no memory
            framing.cut_bytes = max(channel.channel.budget, self.byte_limit)
        self.on_blocked = on_blocked
        self.pending: list[_Rows | Frame] = []
        """Rows, marks, and before them a jumbo tuple for which there was no credit. A deque has 700 bytes more, in each of very
        many lanes."""
        self._open: dict[int, _Rows] = {}
        """Key -> where its next rows wait: behind the last mark."""
        self.rows = 0
        self.blocked = False
        self.runs = False
        """Whether the consumer takes in all rows that wait at once. Small jumbo tuples are then encoded together and sent as
        a run: several ring entries that share a block."""
        self.sequence = 0
        """How many frames the channel has taken: jumbo tuples, single events and marks."""
        self.transfer_ns = self.gathered_ns = self._since = 0
        """Time spent in sending; for how long rows have waited here; since when some do."""
        self._promises: dict[int, int] | None = None
        """Frontier word -> a promise that waits until the rows before it are sent."""
        self._single, self.send_event = single, send_event
        self.send_jumbo: JumboSender | None = None
        """Sends a batch that is a whole jumbo tuple already, where rows travel between processes with their values only."""
        self.send_piece: PieceSender | None = None
        """Encodes rows and sends them by one call of C, where the channel can."""
        fingerprint = framing.schemas.plain.fingerprint
        if framing.arena is not None:
            if waiting is Waiting.ALL and clock is None and numbers is None:
                self.send_jumbo = channel.jumbo_sender(fingerprint, self.producer)
            if isinstance(channel, PieceSending):
                most = framing.cut_bytes + framing.cut_bytes // 2
                self.send_piece = channel.piece_sender(fingerprint, self.producer, framing.plan, most)

    def push(self, batch: Batch, key: int = 0) -> None:
        """Queues rows. They are sent at once when a jumbo tuple is full or the consumer has nothing to do; where they go in
        runs, when there are enough of them for a run. The unit sends the others at the end of its turn."""
        if self.numbers is not None:
            key = self.numbers.number
        rows = batch.rows
        waits = self._waiting is Waiting.ALL or (self._waiting is Waiting.SELECTIONS and batch.is_selection)
        if not (self.pending or self.runs):
            if rows == 1 and self._single is not None and self._single(batch, self.sequence):
                self.sequence += 1
                return
            alone = not waits or rows + rows > self.enough or self.channel.is_empty()
            if rows <= self.batch_size and (alone or rows >= self.passing):
                if self._send_whole(batch, rows) or (alone and self._send_piece(batch, key)):
                    return
                frame = self.framing.whole(batch) if alone else None
                if frame is not None:
                    frame.serial = key
                    if not self.sequence % POLL_EVERY:
                        self.channel.poll()
                    if not self._hand_over(frame):
                        self._put_off(frame)
                    return
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = _Rows(key)
            self.pending.append(found)
        if not self.rows:
            self._since = monotonic_ns()
        found.batches.append(batch)
        found.rows += rows
        self.rows += rows
        if self.blocked:
            return
        if self.runs:
            if self.rows >= RUN_WAITS:
                self.flush()
        elif not waits or found.rows >= self.enough or self.channel.is_empty():
            self.flush()

    def _send_whole(self, batch: Batch, rows: int) -> bool:
        """Sends a batch that is a jumbo tuple in shared memory already, by one call of C; False: it is no such batch."""
        send, sequence, schema = self.send_jumbo, self.sequence, self.framing.schemas.plain
        jumbo = None if send is None else whole_jumbo(batch, schema)
        if send is None or jumbo is None:
            return False
        if not sequence % POLL_EVERY:
            self.channel.poll()
        if send(jumbo, rows, sequence, batch.entry_min, batch.entry_max, batch.began):
            self.sequence = sequence + 1
            self.sizes.count(rows)
        else:
            self._put_off(self.framing.frame(batch, jumbo, 0, jumbo.nbytes, schema))
        return True

    def _send_piece(self, batch: Batch, key: int) -> bool:
        """Encodes and sends rows that lie in columns, by one call of C. False: nothing was sent; they are events, can go by
        reference, have watermarks, cannot be encoded, or the channel has no credit."""
        if self.send_piece is None or batch._events is not None or batch.sealed()._jumbo is not None:
            return False
        if not self.framing.is_plain(batch):
            return False
        try:
            return self._publish(batch, key, *piece(batch, self.framing.schemas.plain))
        except SchemaError:
            return False

    def send_share(self, batch: Batch, table: ColumnTable, index: int, rows: int) -> bool:
        """Sends rows of a batch, whose columns `table` describes: those at the uint32 row numbers at address `index`. False:
        nothing was sent, since they have to wait or as `_send_piece` says; they are to be pushed."""
        if self.pending or self.runs or rows > self.batch_size:
            return False
        if rows + rows <= self.enough and not self.channel.is_empty():
            return False
        key = 0 if self.numbers is None else self.numbers.number
        return self._publish(batch, key, table, index, 0, rows)

    def _publish(self, batch: Batch, key: int, table: ColumnTable, index: int, first: int, rows: int) -> bool:
        send, sequence = self.send_piece, self.sequence
        if send is None:
            return False
        if not sequence % POLL_EVERY:
            self.channel.poll()
        key = key if self.clock is None else self.clock.now
        if not send(table, index, first, rows, sequence, key, batch.entry_min, batch.entry_max, batch.began):
            return False
        self.sequence = sequence + 1
        self.sizes.count(rows)
        return True

    def _put_off(self, frame: Frame) -> None:
        """Sends a frame when there is credit, since the channel has not taken it, although nothing waited before it."""
        self.pending.append(frame)
        self.flush()

    def _resize(self, sizing: GatheredSize) -> None:
        """Takes what has been found of how large jumbo tuples should be."""
        self.batch_size, self.enough, self.passing = sizing.most, sizing.enough, sizing.passing

    def control(self, kind: FrameKind, barrier: int) -> None:
        """Queues a barrier or end mark behind everything pushed so far, and sends what can be sent."""
        self._mark(Frame(kind, producer=self.producer, barrier=barrier))

    def _mark(self, frame: Frame) -> None:
        self._open.clear()
        self.pending.append(frame)
        if not self.blocked:
            self.flush()

    def advance(self, frontier: int) -> None:
        """Promises event time to the consumer. Where rows have numbers the promise travels in band, so that it takes effect
        behind the rows of the same number on every lane; else it is made once the rows before it are sent."""
        if self.numbers is not None:
            number = self.numbers.number
            self._mark(Frame(FrameKind.HEARTBEAT, producer=self.producer, serial=number, max_time=frontier))
        elif self._idles is None or frontier < BEYOND:
            self.promise(0, frontier)

    def promise(self, word: int, bound: int) -> None:
        """Advances a frontier word once the rows before the promise are sent."""
        if self.pending:
            if self._promises is None:
                self._promises = {}
            self._promises[word] = bound
            if self.numbers is not None and not self.blocked:
                self.flush()  # the number of the rows that wait is complete
        else:
            self.channel.advance(word, bound)

    def tell_idle(self, count: int) -> None:
        """Tells the consumer that the sender is idle (odd), behind the rows that wait, or busy (even), before rows follow."""
        if self._idles is None:
            return
        if count & 1:
            self.promise(self._idles, count)
        else:
            if self._promises:
                self._promises.pop(self._idles, None)
            self.channel.advance(self._idles, count)

    def clear(self) -> bool:
        """Sends all rows that wait; returns whether the channel had room for them."""
        return self.flush() if self.pending else True

    def flush(self) -> bool:
        """Sends all rows and marks that wait. False: the channel has no credit; `on_blocked` was called, and the rest waits."""
        started, rows = monotonic_ns(), self.rows
        if rows:
            self.gathered_ns += started - self._since
            self._since = started
        self.channel.poll()
        while self.pending:
            frame = self._next_frame()
            if frame is not None:
                if self._hand_over(frame):
                    continue
                self.pending.insert(0, frame)
            self.blocked = True
            self.transfer_ns += monotonic_ns() - started
            self.on_blocked(self)
            return False
        self.blocked = False
        ended = monotonic_ns()
        self.transfer_ns += ended - started
        if self.sizing is not None and rows:
            self.sizing.sent(rows, started, ended)
            self._resize(self.sizing)
        if self._promises:
            for word, bound in self._promises.items():
                self.channel.advance(word, bound)
            self._promises.clear()
        return True

    def _hand_over(self, frame: Frame) -> bool:
        """Sends a frame; returns whether the channel has taken it. What it has not taken of a run is left in the frame."""
        frame.sequence = sequence = self.sequence
        if self.clock is not None:
            frame.serial = self.clock.now
        if self.runs and frame.rows > self.batch_size:
            self.channel.send_run_nowait(frame, self.batch_size)
            self.sequence = frame.sequence
            return not frame.rows
        if not self.channel.send_nowait(frame):
            return False
        self.sequence = sequence + 1
        if frame.rows:
            self.sizes.count(frame.rows)
        return True

    def _next_frame(self) -> Frame | None:
        """Takes the next jumbo tuple, run of them, or mark off the queue; None if the channel would admit no part of it."""
        waiting = self.pending[0]
        if isinstance(waiting, Frame):
            del self.pending[0]
            return waiting
        head = waiting.batches[0]
        limit = max(self.batch_size, RUN_ROWS) if self.runs else self.batch_size
        size = self.framing.size(head)
        if (pieces := self.framing.pieces(size)) > 1:
            limit = max(1, min(limit, -(-head.rows // pieces)))
        if head.rows >= limit:
            parts, rows = [head], min(limit, head.rows)
            nbytes = size * rows // head.rows if head.rows else size
        else:
            parts, rows, nbytes = self._gather(waiting, limit)
        each = nbytes if not self.runs or rows <= self.batch_size else -(-nbytes * self.batch_size // rows)
        if not self.channel.admits(each):
            return None
        if len(parts) == 1 and rows < head.rows:
            parts, rest = [head.slice(0, rows)], head.slice(rows, head.rows - rows)
            waiting.batches[0] = rest
        else:
            del waiting.batches[: len(parts)]
        self.rows -= rows
        waiting.rows -= rows
        if not waiting.batches:
            del self.pending[0]
            if self._open.get(waiting.key) is waiting:
                del self._open[waiting.key]
        whole = self.framing.whole(parts[0]) if len(parts) == 1 else None
        frame = whole or self.framing.joined(parts, nbytes)
        if self.runs and rows > self.batch_size:
            frame.nbytes = -(-frame.nbytes * self.batch_size // rows)
        frame.serial = waiting.key
        return frame

    def _gather(self, waiting: _Rows, limit: int) -> tuple[list[Batch], int, int]:
        """The first batches that make one jumbo tuple of at most `limit` rows, with the number of their rows and bytes."""
        parts: list[Batch] = []
        rows = nbytes = 0
        schema, mixed = self.framing.schema(waiting.batches[0]), self.framing.schemas.marked is not None
        row_bytes = schema.row_bytes if schema.bounded else 0
        for batch in waiting.batches:
            size = batch.rows * row_bytes or batch.nbytes
            if (
                (mixed and self.framing.schema(batch) is not schema)
                or rows + batch.rows > limit
                or (parts and nbytes + size > self.byte_limit)
            ):
                break
            parts.append(batch)
            rows += batch.rows
            nbytes += size
        return parts, rows, nbytes
