"""The sending side of a replica: edges, and per consumer the rows that wait to be sent (natural batching).

Rows are gathered by reference until a jumbo tuple is worth sending and are encoded at most once, straight into the
arena. Control marks (barrier, end) queue behind the rows before them, so nothing overtakes anything on a channel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Protocol

from actorstream.errors import ResourceError
from actorstream.events.batch import Batch
from actorstream.events.jumbo import encode
from actorstream.transports.base import Frame, FrameKind, SendChannel

if TYPE_CHECKING:
    from actorstream.events.jumbo import JumboTuple
    from actorstream.events.schema import Schema
    from actorstream.native.arena import Arena
    from actorstream.runtime.routing import Router
    from actorstream.runtime.single_row import SendSingle
    from actorstream.runtime.wire import Wire
    from actorstream.transports.ways import EventSender, WholeSender


RUN_ROWS = 1024
"""Most rows of a run of jumbo tuples."""
RUN_WAITS = 256
"""Rows that are handed over before the turn that sends them has ended; what is less goes at its end."""
POLL_EVERY = 8
"""Frames between two looks at what the consumer has returned."""


class Edge(Protocol):
    """Where one output of one replica leads: to a consumer's replicas by channels, or directly to its neighbour."""

    def push(self, batch: Batch) -> None: ...
    def flush(self) -> None: ...
    def control(self, kind: FrameKind, barrier: int) -> None: ...
    def advance(self, frontier: int) -> None: ...


class OutLane:
    """Rows that wait for one replica of one consumer, in order, and the channel to it.

    Args:
        channel: the sending end.
        arena: where jumbo tuples are built; None: the channel hands batches over as they are (inside a process).
        batch_size: rows a jumbo tuple at most has.
        on_blocked: called with this lane when the channel has no credit.
        to_events: whether the consumer takes events rather than columns.
        unfit: makes the error of rows that cannot be encoded; it names who emitted them.
        single: sends a single event by itself, if it can; send_event: the same, of an event just made at a source.
    """

    __slots__ = (
        "_encoded",
        "_single",
        "_spare",
        "arena",
        "batch_size",
        "blocked",
        "byte_limit",
        "channel",
        "cut_bytes",
        "frontier",
        "jumbo_out",
        "on_blocked",
        "pending",
        "plan",
        "producer",
        "rows",
        "runs",
        "send_event",
        "send_whole",
        "sequence",
        "to_events",
        "transfer_ns",
        "unfit",
        "wire",
    )

    def __init__(
        self,
        channel: SendChannel,
        arena: Arena | None,
        *,
        wire: Wire,
        plan: int,
        producer: int,
        batch_size: int,
        on_blocked: Callable[[OutLane], None],
        unfit: Callable[[Exception], Exception],
        to_events: bool = False,
        single: SendSingle | None = None,
        send_event: EventSender | None = None,
    ) -> None:
        self.channel, self.arena = channel, arena
        self.wire, self.plan, self.producer, self.batch_size = wire, plan, producer, batch_size
        self.byte_limit = max(channel.channel.budget // 4, 4096)
        """Bytes up to which batches are put together."""
        self.cut_bytes = self.byte_limit
        """From which on a batch is cut."""
        self.on_blocked, self.unfit, self.to_events = on_blocked, unfit, to_events
        self.pending: deque[Any] = deque()  # of Batch, or Frame for barrier and end
        self.rows = 0
        self.blocked = False
        self.runs = False
        """Whether the consumer takes in what waits together: small jumbo tuples are then encoded together, and sent as a
        run of hand-overs that share a block."""
        self.sequence = 0
        self.jumbo_out = 0
        self.transfer_ns = 0
        self.frontier: int | None = None  # promise that waits until the rows before it are sent
        self._encoded: Frame | None = None
        self._single, self.send_event = single, send_event
        self.send_whole: WholeSender | None = None
        """Sends a jumbo tuple that a batch is all of, if rows travel between processes and with nothing but their values."""
        if arena is not None and wire.marked is None:
            self.send_whole = channel.wholes(wire.plain.fingerprint, producer)
        # a channel between processes copies what a frame says, so one frame serves for all
        self._spare = None if arena is None else Frame.data(None, 0, 0, 0, 0, producer, 0, 0)

    def push(self, batch: Batch) -> None:
        """Queues rows; sends at once when a jumbo tuple is full or the consumer has nothing to do, or, where they go in
        runs, when there are enough for one: the unit sends the others at the end of its turn."""
        if not (self.pending or self.runs or self.blocked) and self._encoded is None:
            rows = batch.rows
            if rows == 1 and self._single is not None and self._single(batch, self.sequence):
                self.sequence += 1
                self.jumbo_out += 1
                return
            if rows <= self.batch_size and (rows + rows > self.batch_size or self.channel.is_empty()):
                if self._send_whole(batch, rows):
                    return
                frame = self._whole(batch)
                if frame is not None:
                    self._send(frame)
                    return
        self.pending.append(batch)
        self.rows += batch.rows
        if self.blocked:
            return
        if self.runs:
            if self.rows >= RUN_WAITS:
                self.flush()
        elif self.rows >= self.batch_size or self.channel.is_empty():
            self.flush()

    def _send_whole(self, batch: Batch, rows: int) -> bool:
        """The shortest way, for a batch that is a jumbo tuple in shared memory already; False: it has to go another."""
        send, sequence, schema = self.send_whole, self.sequence, self.wire.plain
        jumbo = None if send is None else batch.whole_jumbo(schema)
        if send is None or jumbo is None:
            return False
        if not sequence % POLL_EVERY:
            self.channel.poll()
        if send(jumbo, rows, sequence, batch.entry_min, batch.entry_max, batch.began):
            self.sequence = sequence + 1
            self.jumbo_out += 1
        else:
            self._encoded = self._frame(batch, jumbo, 0, jumbo.nbytes, schema)
            self.flush()
        return True

    def _send(self, frame: Frame) -> None:
        """Sends a frame that has nothing before it."""
        frame.sequence = sequence = self.sequence
        if not sequence % POLL_EVERY:
            self.channel.poll()
        if self.channel.send_nowait(frame):
            self.sequence = sequence + 1
            self.jumbo_out += 1
        else:
            self._encoded = frame
            self.flush()

    def control(self, kind: FrameKind, barrier: int) -> None:
        """Queues a barrier or end mark behind everything pushed so far, and sends what can be sent."""
        self.pending.append(Frame(kind, producer=self.producer, barrier=barrier))
        if not self.blocked:
            self.flush()

    def advance(self, frontier: int) -> None:
        """Promises `frontier` to the consumer, as soon as the rows before the promise are sent."""
        if self.pending or self._encoded is not None:
            self.frontier = frontier
        else:
            self.channel.advance(0, frontier)

    def tell_idle(self, count: int) -> None:
        """Whether rows are to be expected: only `IdleOutLane` passes it on."""

    def flush(self) -> bool:
        """Sends all that waits. False: the channel has no credit; `on_blocked` was called and the rest still waits."""
        started = monotonic_ns()
        self.channel.poll()
        while self._encoded is not None or self.pending:
            frame = self._encoded or self._next_frame()
            if frame is None or not self._hand_over(frame):
                self._encoded = frame
                self.blocked = True
                self.transfer_ns += monotonic_ns() - started
                self.on_blocked(self)
                return False
            self._encoded = None
        self.blocked = False
        self.transfer_ns += monotonic_ns() - started
        if self.frontier is not None:
            self.channel.advance(0, self.frontier)
            self.frontier = None
        return True

    def _hand_over(self, frame: Frame) -> bool:
        """Whether the channel has taken the frame; of a run, what it has not taken is left in it."""
        frame.sequence = before = self.sequence
        if self.runs and frame.rows > self.batch_size:
            self.channel.send_run_nowait(frame, self.batch_size)
            self.sequence = frame.sequence
            self.jumbo_out += frame.sequence - before
            return not frame.rows
        if not self.channel.send_nowait(frame):
            return False
        self.sequence = before + 1
        self.jumbo_out += 1
        return True

    def _next_frame(self) -> Frame | None:
        """Takes the next jumbo tuple or run of them, or control mark, off the queue; None if the channel would not admit
        it, or nothing of it."""
        head = self.pending[0]
        if isinstance(head, Frame):
            self.pending.popleft()
            return head
        limit = max(self.batch_size, RUN_ROWS) if self.runs else self.batch_size
        if head.nbytes > self.cut_bytes:
            limit = max(1, min(limit, head.rows * self.cut_bytes // head.nbytes))
        if head.rows >= limit:
            parts, rows = [head], min(limit, head.rows)
            nbytes = head.nbytes * rows // head.rows if head.rows else head.nbytes
        else:
            parts, rows, nbytes = self._gather(limit)
        each = nbytes if not self.runs or rows <= self.batch_size else -(-nbytes * self.batch_size // rows)
        if not self.channel.admits(each):
            return None
        if len(parts) == 1 and rows < head.rows:
            parts = [head.slice(0, rows)]
            self.pending[0] = head.slice(rows, head.rows - rows)
        else:
            for _ in parts:
                self.pending.popleft()
        self.rows -= rows
        frame = (
            self._parts(parts, nbytes)
            if len(parts) > 1
            else self._whole(parts[0]) or self._parts(parts, nbytes)
        )
        if self.runs and rows > self.batch_size:
            frame.nbytes = -(-frame.nbytes * self.batch_size // rows)
        return frame

    def _gather(self, limit: int) -> tuple[list[Batch], int, int]:
        parts: list[Batch] = []
        rows = nbytes = 0
        schema: Schema | None = None
        for item in self.pending:
            if (
                isinstance(item, Frame)
                or self._schema(item) is not (schema := schema or self._schema(item))
                or rows + item.rows > limit
                or (parts and nbytes + item.nbytes > self.byte_limit)
            ):
                break
            parts.append(item)
            rows += item.rows
            nbytes += item.nbytes
        return parts, rows, nbytes

    def _schema(self, batch: Batch) -> Schema:
        """The schema a batch travels in: with its rows' watermarks if some are behind theirs."""
        wire = self.wire
        return wire.plain if wire.marked is None or not batch.marked else wire.marked

    def _whole(self, batch: Batch) -> Frame | None:
        """A jumbo tuple of just this batch, by reference where it can be; None if it is too large and must be cut."""
        schema = self._schema(batch)
        whole = batch.whole_jumbo(schema) if self.arena is not None else None
        if whole is not None:
            return self._frame(batch, whole, 0, whole.nbytes, schema)
        found = batch.shared_jumbo(self.arena, schema)
        if found is not None:
            jumbo, first = found
            nbytes = jumbo.nbytes * batch.rows // jumbo.rows if first else jumbo.nbytes
            return self._frame(batch, jumbo, first, nbytes, schema)
        nbytes = schema.row_bytes * batch.rows if schema.fixed else batch.nbytes
        if nbytes > self.cut_bytes and batch.rows > 1:
            return None
        if self.arena is None:
            if batch.is_selection and not schema.fixed and not self.to_events:
                # gathered in C here, 3 ns a string; by Arrow in the consumer, 11
                batch = self._rebuilt(batch, self._encode((batch,), None, schema), schema)
            return self._frame(batch, batch, 0, nbytes, schema)
        jumbo = self._encode((batch,), self.arena, schema)
        return self._frame(batch, jumbo, 0, jumbo.nbytes, schema)

    def _parts(self, parts: list[Batch], nbytes: int) -> Frame:
        """A jumbo tuple of several batches, of which all or none have rows behind their watermark."""
        made: Any
        schema = self._schema(parts[0])
        if self.arena is None:
            made = self._joined(parts, schema)
        else:
            made = self._encode(parts, self.arena, schema)
            nbytes = made.nbytes
        frame = self._frame(parts[0], made, 0, nbytes, schema)
        frame.rows = sum(part.rows for part in parts)
        frame.min_entry = min(part.entry_min for part in parts)
        frame.max_entry = max(part.entry_max for part in parts)
        return frame

    def _frame(self, batch: Batch, payload: Any, first: int, nbytes: int, schema: Schema) -> Frame:
        frame = self._spare
        if frame is None:
            return Frame.data(
                payload,
                batch.rows,
                first,
                nbytes,
                schema.fingerprint,
                self.producer,
                batch.entry_min,
                batch.entry_max,
                batch.began,
            )
        frame.payload, frame.rows, frame.first, frame.nbytes = payload, batch.rows, first, nbytes
        frame.schema, frame.min_entry, frame.max_entry = schema.fingerprint, batch.entry_min, batch.entry_max
        frame.began = batch.began
        return frame

    def _rebuilt(self, batch: Batch, jumbo: Any, schema: Schema) -> Batch:
        made = Batch.from_jumbo(schema, jumbo)
        made.entry_min, made.entry_max, made.began = batch.entry_min, batch.entry_max, batch.began
        return made

    def _joined(self, parts: list[Batch], schema: Schema) -> Batch:
        """One batch of several for a consumer in this process: events stay events if it takes events, the rest is
        copied once, in C."""
        if len(parts) == 1:
            return parts[0]
        if self.to_events and not schema.system and all(part.has_events for part in parts):
            return Batch.of_events(schema, [event for part in parts for event in part.events()])
        return Batch.from_jumbo(schema, self._encode(parts, None, schema))

    def _encode(self, parts: Sequence[Batch], arena: Arena | None, schema: Schema) -> JumboTuple:
        try:
            return encode(parts, arena, schema, self.plan)
        except ResourceError:
            raise
        except Exception as error:
            raise self.unfit(error) from error


class ChannelEdge:
    """An edge whose consumer's replicas are reached by channels."""

    __slots__ = ("lanes", "router")

    def __init__(self, router: Router, lanes: list[OutLane]) -> None:
        self.router, self.lanes = router, lanes

    def push(self, batch: Batch) -> None:
        lanes = self.lanes
        for consumer, part in self.router(batch):
            lanes[consumer].push(part)

    def flush(self) -> None:
        for lane in self.lanes:
            if lane.pending and not lane.blocked:
                lane.flush()

    def control(self, kind: FrameKind, barrier: int) -> None:
        for lane in self.lanes:
            lane.control(kind, barrier)

    def advance(self, frontier: int) -> None:
        for lane in self.lanes:
            lane.advance(frontier)


class LaneEdge:
    """An edge to one replica: no route to decide."""

    __slots__ = ("advance", "control", "lane", "push")

    def __init__(self, lane: OutLane) -> None:
        self.lane = lane
        self.push, self.control, self.advance = lane.push, lane.control, lane.advance

    @property
    def lanes(self) -> tuple[OutLane, ...]:
        return (self.lane,)

    def flush(self) -> None:
        if self.lane.pending and not self.lane.blocked:
            self.lane.flush()
