"""The two ends of a shared-memory channel: frames become ring entries, jumbo tuples travel as loans of their blocks.

Nothing is copied, except what must be: a payload whose memory the receiver could not map.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from actorstream.errors import BrokenError, ClosedError
from actorstream.events.jumbo import JumboTuple
from actorstream.native.arena import Arena, Block
from actorstream.native.channel import ENTRY_MAGIC, ENTRY_VERSION, Entry, ReceiveRing, SendRing
from actorstream.native.doorbell import Doorbell
from actorstream.native.line import CacheLine
from actorstream.transports.base import (
    Channel,
    Frame,
    FrameKind,
    ReceiveChannel,
    SendChannel,
)
from actorstream.transports.fast_paths import (
    EventSender,
    EventWatch,
    JumboSender,
    PieceSender,
    RowSender,
    RowTaker,
)
from actorstream.transports.shm.copying import copied
from actorstream.transports.shm.fast_batches import jumbo_sender, piece_sender
from actorstream.transports.shm.layout import CLOSED, OPEN
from actorstream.transports.shm.names import described, worker_name
from actorstream.transports.shm.retired import retire
from actorstream.transports.shm.rows import (
    ROW,
    event_sender,
    event_watch,
    row_frame,
    row_sender,
    row_taker,
    waited_flags,
)
from actorstream.transports.shm.untrusted import own_frame

if TYPE_CHECKING:
    from actorstream.events.row_format import RowFormat

DATA = int(FrameKind.DATA)
BARRIER = int(FrameKind.BARRIER)
END = int(FrameKind.END)
HOARD_EVERY = 256
"""Frames between two looks at how many jumbo tuples the consumer keeps, at most. Where it may keep few, a quarter of those:
then what it keeps until the next look and the frames that wait in the ring do not take up all loans."""


UNTRUSTED = 1
"""Flag of an entry: the bytes come from outside the run, the receiver checks every offset before it reads."""


class ShmSendChannel(SendChannel):
    """The producer's end. A block is used until the receiver has returned its loan, also after `close`."""

    def __init__(
        self,
        channel: Channel,
        ring: SendRing,
        line: CacheLine,
        peer: Doorbell,
        arena: Arena,
        reachable: frozenset[int],
    ) -> None:
        """Payloads that do not lie in one of the `reachable` arenas are copied into `arena`."""
        self.channel = channel
        self._ring = ring
        self._send = ring.send
        self._line = line
        self._peer = peer
        self._arena = arena
        self._reachable = reachable
        self._stopped: Callable[[], Exception] | None = None
        self._closed = False
        self.is_empty = ring.is_empty  # type: ignore[method-assign] # one call less, once for every emitted batch
        line[0] = OPEN

    def send_nowait(self, frame: Frame) -> bool:
        if self._stopped is not None:
            raise self._stopped()
        payload = frame.payload
        block = None
        flags = 0
        if payload is not None:
            block = payload.block
            if type(block) is not Block or block.arena_id not in self._reachable:
                if not self.admits(frame.nbytes):
                    return False
                frame.payload = payload = copied(payload, self._arena)
                block = payload.block
            if not payload.trusted:
                flags = UNTRUSTED
            if frame.began:
                flags |= waited_flags(frame.began, frame.max_entry)
        kind = frame.kind
        return self._send(
            (
                ENTRY_MAGIC,
                ENTRY_VERSION,
                kind,
                flags,
                0,
                frame.schema,
                frame.sequence,
                frame.serial if kind != BARRIER else frame.barrier,
                frame.piece,
                frame.pieces,
                0,
                frame.nbytes,
                0,
                0,
                frame.first,
                frame.rows,
                frame.min_time,
                frame.max_time,
                frame.min_entry,
                frame.max_entry,
                frame.producer,
            ),
            block,
        )

    def jumbo_sender(self, schema: int, producer: int) -> JumboSender:
        frames = super().jumbo_sender(schema, producer)
        return jumbo_sender(self._ring, self, self._reachable, schema, producer, frames)

    def piece_sender(self, schema: int, producer: int, plan: int, most: int) -> PieceSender:
        return piece_sender(self._ring, self, self._arena, schema, producer, plan, most)

    def send_run_nowait(self, frame: Frame, step: int) -> int:
        payload = frame.payload
        block = payload.block
        if (
            self._stopped is not None
            or type(block) is not Block
            or block.arena_id not in self._reachable
            or not payload.trusted
        ):
            return super().send_run_nowait(frame, step)
        flags = waited_flags(frame.began, frame.max_entry) if frame.began else 0
        entry = Entry(
            flags=flags,
            schema=frame.schema,
            sequence=frame.sequence,
            bytes=frame.nbytes,
            first=frame.first,
            rows=frame.rows,
            min_entry=frame.min_entry,
            max_entry=frame.max_entry,
            producer_and_loan=frame.producer,
        )
        sent = self._ring.send_run(entry, block, step)
        rows = min(sent * step, frame.rows)
        frame.first += rows
        frame.rows -= rows
        frame.sequence += sent
        return rows

    def rows(self, layout: str) -> RowSender | None:
        return row_sender(self._ring, layout, self)

    def events(self, rows: RowFormat, schema: int, producer: int) -> EventSender | None:
        return event_sender(self._ring, rows, self, schema, producer)

    def advance(self, word: int, value: int, *, ring: bool = True) -> None:
        self._ring.advance(word, value, ring)

    def frontier_end(self) -> Any:
        return self._ring.handle

    def admits(self, nbytes: int) -> bool:
        if self._stopped is not None:
            raise self._stopped()
        return self._ring.admits(nbytes)

    def is_empty(self) -> bool:
        return self._ring.is_empty()

    def poll(self) -> None:
        self._ring.reap()

    def statistics(self) -> dict[str, int]:
        if not self._closed:
            self._last = self._ring.statistics()
        return self._last._asdict()

    def lose(self) -> None:
        """The receiver's process is gone."""
        if self._stopped is None:
            self._stopped = lambda: BrokenError(f"{self}: {worker_name(self.channel.receiver)} is lost")

    def close(self) -> None:
        if self._closed:
            return
        self.statistics()
        self._closed = True
        self._stopped = lambda: ClosedError(
            f"{self}: this sending end was closed; nothing can be sent any more"
        )
        # all that was sent is committed before the line says closed, and the ring comes after both
        self._line[0] = CLOSED
        self._peer.ring(self.channel.receive_bit)
        retire(self._ring)  # the receiver may still read its blocks

    def __repr__(self) -> str:
        return described(self.channel)


class ShmReceiveChannel(ReceiveChannel):
    """The consumer's end. A received jumbo tuple holds its loan until the last view of it dies."""

    def __init__(
        self,
        channel: Channel,
        ring: ReceiveRing,
        line: CacheLine,
        arena_of: Callable[[int], Arena],
        most_kept: int,
        *,
        bell: Doorbell | None = None,
        outside: bool = False,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """`most_kept`: jumbo tuples that may be kept by reference; further ones are copied, so that a consumer that
        hoards does not stop its producer. `bell`: the worker's own. `outside`: the sender is no worker of the plan, so
        its bytes are copied and checked, and other workers cannot map them. `on_close`: called once, when this end is
        closed."""
        self.channel = channel
        self.forwardable = not outside
        self._ring = ring
        self._peek = ring.peek_frame
        self._take = ring.consume
        self._line = line
        self._arena_of = arena_of
        self._bell = bell
        self._on_close = on_close
        self._most_kept = most_kept
        self._look_every = max(1, min(HOARD_EVERY, most_kept // 4))
        self._copies = False
        self._seen: dict[int, Frame] = {}
        """Frames that were looked at and not consumed, by their number in the channel."""
        self._taken = 0
        self._stopped: Callable[[], Exception] | None = None
        self._lost = False
        self._ended = False

    def peek(self, ahead: int = 0) -> Frame | None:
        number = self._taken + ahead
        frame = self._seen.get(number)
        if frame is None:
            found = self._peek(Frame, ahead) if self._stopped is None else None
            if found is None:
                return self._nothing(ahead)
            self._seen[number] = frame = self._filled(*found)
        return frame

    def _filled(self, frame: Frame, flags: int, offset: int, arena: int) -> Frame:
        """The frame of the entry that was just peeked, with its payload."""
        if not self.forwardable:
            return own_frame(frame, offset, arena, self._ring, self._arena_of)
        if frame.kind == ROW:
            return row_frame(frame, self._ring)
        if offset:
            block = self._ring.borrow(self._arena_of(arena))
            frame.payload = JumboTuple(block, trusted=not flags & UNTRUSTED)
            if self._copies:
                frame.payload = copied(frame.payload, None)
        elif frame.kind == BARRIER:
            frame.barrier, frame.serial = frame.serial, 0
        return frame

    def rows(self, layout: str) -> RowTaker | None:
        return None if not self.forwardable else row_taker(self._ring, layout, self._seen)

    def watch_events(self, rows: RowFormat) -> EventWatch | None:
        bell, bit = self._bell, self.channel.receive_bit
        return None if bell is None else event_watch(self._ring, rows, self._seen, bell, bit)

    def _nothing(self, ahead: int) -> Frame | None:
        """No frame there: is there never one again?"""
        if self._stopped is not None:
            raise self._stopped()
        if self._ended or self._seen or not (self._lost or self._line[0] == CLOSED):
            return None
        if self._ring.waiting():  # committed after we looked and before it closed
            return self.peek(ahead)
        why = (
            f"{worker_name(self.channel.sender)} is lost"
            if self._lost
            else "the sender has closed without an end mark"
        )
        raise BrokenError(f"{self}: {why}")

    def consume(self) -> None:
        frame = self._seen.pop(self._taken, None)
        if frame is None:
            if self.peek() is None:
                raise IndexError(f"{self}: nothing waits, so nothing can be consumed")
            frame = self._seen.pop(self._taken)
        self._take()
        self._taken = taken = self._taken + 1
        if frame.kind == END:
            self._ended = True
        elif not taken % self._look_every:
            self._copies = self._ring.statistics().loans > self._most_kept

    def run(self, most: int, ahead: int = 0) -> tuple[int, int]:
        return self._ring.run(most, ahead) if self.forwardable else super().run(most, ahead)

    def consume_run(self, count: int) -> None:
        if not self.forwardable:
            super().consume_run(count)
            return
        seen, before = self._seen, self._taken
        self._taken = end = before + count
        borrowed = [number for number in seen if number < end]
        for first, last in pairwise([*sorted({before, *borrowed}), end]):
            self._ring.consume_run(seen.pop(first, None) is not None, last - first)
        if before // self._look_every != end // self._look_every:
            self._copies = self._ring.statistics().loans > self._most_kept

    def frontier(self, word: int = 0) -> int:
        return self._ring.frontier(word)

    def waiting(self) -> int:
        return self._ring.waiting()

    def statistics(self) -> dict[str, int]:
        if self._stopped is None:
            self._last = self._ring.statistics()
        consumed, waiting, loans = self._last
        peeked = sum(1 for frame in self._seen.values() if frame.payload is not None)
        return {"received": consumed, "waiting": waiting, "kept": loans - peeked}

    def lose(self) -> None:
        """The sender's process is gone."""
        self._lost = True

    def close(self) -> None:
        if self._stopped is None:
            self.statistics()
            self._stopped = lambda: ClosedError(
                f"{self}: this receiving end was closed; nothing can be received any more"
            )
            if self._seen:
                self.consume_run(max(self._seen) + 1 - self._taken)
            with contextlib.suppress(BrokenError):  # what an outside producer has damaged goes back to nobody
                for _ in range(self._ring.waiting()):  # not what comes meanwhile: that could go on for good
                    entry = self._ring.peek()
                    if entry is None:
                        break
                    self._ring.consume()
                    self._ring.give_back(entry[-1] >> 32)
            self._ring.close()
            self._on_close()

    def __repr__(self) -> str:
        return described(self.channel)
