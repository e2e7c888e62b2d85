"""The two ends of a channel between two processes: entries that refer to blocks, their way back, and
frontiers.

Moves references and promises only: what lies in a block, and when to send, is decided above."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from actorstream.errors import ClosedError
from actorstream.native._core import ffi, lib
from actorstream.native.arena import Arena, Block
from actorstream.native.doorbell import Doorbell
from actorstream.native.frames import entry_frame
from actorstream.native.memory import ControlMemory
from actorstream.native.status import AGAIN, opened, raise_errno, raise_status

ENTRY = Struct("<IHHIIQQQIIQQIIqqqqqqQ")
"""The bytes of an entry, and of a frame's header on a network; the last field is producer | loan << 32."""
ENTRY_MAGIC = 0x4A544153
ENTRY_VERSION = 1
NO_LOAN = 0xFFFFFFFF
TAKEN = 0xFFFFFFFF

_send = lib.as_channel_send
_send_whole = lib.as_channel_send_whole
_send_run = lib.as_channel_send_run
_run = lib.as_channel_run
_send_row = lib.as_channel_send_row
_take_row = lib.as_channel_take_row
_wait_row = lib.as_channel_wait_row
_peek = lib.as_channel_peek
_consume = lib.as_channel_consume
_borrow = lib.as_channel_borrow
_frontier = lib.as_frontier_load
_NULL = ffi.NULL


class Entry(NamedTuple):
    """The fields of an entry by name. It is the plain tuple that `SendRing.send` takes and `ReceiveRing.peek` gives.

    Times in the event's unit, entry times in monotonic ns; `bytes` is the weight against the budget;
    `arena`, `offset`, `generation` and the loan are filled by sending."""

    magic: int = ENTRY_MAGIC
    version: int = ENTRY_VERSION
    kind: int = 1
    flags: int = 0
    epoch: int = 0
    schema: int = 0
    sequence: int = 0
    serial: int = 0
    piece: int = 0
    pieces: int = 1
    offset: int = 0
    bytes: int = 0
    arena: int = 0
    generation: int = 0
    first: int = 0
    rows: int = 0
    min_time: int = 2**63 - 1
    max_time: int = -(2**63)
    min_entry: int = 0
    max_entry: int = 0
    producer_and_loan: int = 0

    @property
    def producer(self) -> int:
        """Replica that sent it."""
        return self.producer_and_loan & 0xFFFFFFFF

    @property
    def loan(self) -> int:
        """Number under which its block is handed back; NO_LOAN if it has none."""
        return self.producer_and_loan >> 32


class SendStatistics(NamedTuple):
    """Since the end was opened; `loans` counts blocks that the consumer has not given back."""

    sent: int
    waiting: int
    waiting_bytes: int
    loans: int
    peak_bytes: int
    sent_bytes: int


class ReceiveStatistics(NamedTuple):
    """Since the end was opened; `loans` counts blocks that are still used here."""

    consumed: int
    waiting: int
    loans: int


def channel_size(slots: int, returns: int, frontiers: int) -> int:
    """Bytes of control memory for a channel of `slots` entries, `returns` loans out at once, `frontiers`
    words."""
    return int(lib.as_channel_size(slots, returns, frontiers))


def lay_out_channel(
    memory: ControlMemory, offset: int, slots: int, returns: int, frontiers: int, plan: int, *, start: int = 0
) -> None:
    """Makes a channel at `offset`. Once, before either end opens it. `slots` and `returns` are powers of two,
    slots <= returns <= 2**20; `plan`: fingerprint that both ends must name; `start`: first index, for tests.

    ValueError: the numbers break these rules."""
    code = lib.as_channel_init_at(memory.pointer(offset), slots, returns, frontiers, plan, start)
    if code != lib.AS_OK:
        raise_status(
            code, f"channel of {slots} slots, {returns} returns, {frontiers} frontier words at {offset}"
        )


def refused(code: int) -> bool:
    """False for a send that was not admitted; raises what any other status but 0 says."""
    if code != lib.AS_AGAIN:
        raise_status(code, "send")
    return False


class SendRing:
    """The producer's end of a channel. One thread at a time. Opening it takes the end over from whoever
    had it."""

    __slots__ = ("_buffer", "_entry", "_keep", "_producer", "_row", "_sent", "row")

    def __init__(
        self,
        memory: ControlMemory,
        offset: int,
        *,
        plan: int,
        budget: int,
        peer: Doorbell | None = None,
        peer_bit: int = 0,
    ) -> None:
        """`budget`: bytes that may wait unconsumed; `peer`, `peer_bit`: what to ring when something was sent.

        ValueError: no channel there. BrokenError: a channel of another plan, or a damaged one."""
        self._producer: Any = None
        self._keep = (memory, peer and peer.memory)
        bell = _NULL if peer is None else peer.handle
        handle = lib.as_producer_open(memory.pointer(offset), plan, budget, bell, peer_bit)
        self._producer = opened(handle, f"sending end of the channel at {offset}")
        self._entry = ffi.new("as_entry *")
        self._buffer = ffi.buffer(self._entry)
        self._sent = ffi.new("uint32_t *")
        self._row = ffi.new("as_entry *")
        self.row = ffi.buffer(self._row)
        """The entry that `send_row` sends: 128 bytes; kind, magic and loan are filled by sending."""

    def send(self, fields: tuple[int, ...], block: Block | None = None) -> bool:
        """Publishes an entry of the 21 `fields` of `Entry` and lends `block` with it. False: no credit,
        nothing changed; the consumer rings when there is.

        BrokenError: the consumer has closed, or this end was taken over. ClosedError: it was closed."""
        ENTRY.pack_into(self._buffer, 0, *fields)
        code = _send(
            self._producer or self.handle,
            self._entry,
            _NULL if block is None else block._hold or block.handle,
        )
        if code == 0:
            return True
        if code != 1:
            raise_status(code, "send")
        return False

    def jumbo_sender(
        self, schema: int, producer: int
    ) -> Callable[[Block, int, int, int, int, int, int], bool]:
        """A function (block, sequence, bytes, rows, min_entry, max_entry, flags) that does what `send` does with an entry of
        data without order or times: the shortest way for a jumbo tuple."""
        form = ffi.new("as_entry *")
        ENTRY.pack_into(ffi.buffer(form), 0, *Entry(schema=schema, producer_and_loan=producer))

        def send_jumbo(
            block: Block, sequence: int, nbytes: int, rows: int, min_entry: int, max_entry: int, flags: int
        ) -> bool:
            code = _send_whole(
                self._producer or self.handle,
                form,
                block._hold or block.handle,
                sequence,
                nbytes,
                rows,
                min_entry,
                max_entry,
                flags,
            )
            return code == 0 or refused(code)

        return send_jumbo

    def send_run(self, fields: tuple[int, ...], block: Block, step: int) -> int:
        """Publishes the rows of an entry as hand-overs of `step` rows each, as many as there is credit for, and lends
        `block` with each; answers how many. `bytes`: of one hand-over. If they are fewer than all, the consumer rings
        when there is credit.

        BrokenError, ClosedError: as in `send`."""
        ENTRY.pack_into(self._buffer, 0, *fields)
        code = _send_run(
            self._producer or self.handle, self._entry, block._hold or block.handle, step, self._sent
        )
        if code not in (0, 1):
            raise_status(code, "send")
        return int(self._sent[0])

    def send_row(self) -> bool:
        """Publishes the entry in `row`, if all before it is consumed. False: it is not, and nothing was changed.

        BrokenError, ClosedError: as in `send`."""
        code = _send_row(self._producer or self.handle, self._row)
        if code == 0:
            return True
        if code != 1:
            raise_status(code, "send")
        return False

    def row_entry(self) -> tuple[Any, Any, Any]:
        """An entry to be filled as `row`: its memory, what the core calls it, and the core's function that sends it:
        (`_producer`, entry) -> status, which is 0 or for `refused`. For whoever knows that this end is open."""
        entry = ffi.new("as_entry *")
        return ffi.buffer(entry), entry, _send_row

    @property
    def handle(self) -> Any:
        """What the core's functions take. ClosedError after `close`."""
        if self._producer is None:
            raise ClosedError("this end of the channel was closed")
        return self._producer

    def admits(self, nbytes: int) -> bool:
        """Whether an entry of `nbytes` would be admitted now; if not, the consumer rings when there is credit.

        BrokenError: as in `send`."""
        code = lib.as_channel_admits(self.handle, nbytes)
        if code < 0:
            raise_status(code, "send")
        return bool(code == 0)

    def reap(self) -> int:
        """Takes back the blocks that the consumer has returned; answers how many."""
        return int(lib.as_channel_reap(self._producer or self.handle))

    def advance(self, word: int, value: int, ring: bool = True) -> None:
        """Raises frontier `word` to `value` (never lowers it) and, if it rose and `ring`, rings the
        consumer."""
        lib.as_frontier_advance(self._producer or self.handle, word, value, ring)

    def is_empty(self) -> bool:
        """Whether the consumer has consumed everything."""
        return bool(lib.as_channel_is_empty(self._producer or self.handle))

    def statistics(self) -> SendStatistics:
        out = ffi.new("uint64_t[6]")
        lib.as_producer_statistics(self.handle, out)
        return SendStatistics(*ffi.unpack(out, 6))

    def close(self) -> None:
        """Takes back every block that is out. Call it when the consumer is gone, or has returned all."""
        handle, self._producer = self._producer, None
        if handle is not None:
            lib.as_producer_close(handle)

    def abandon(self) -> None:
        """Gives the end up without taking back what is lent: that stays valid for the consumer, and is not
        reused by this process any more. This is also what happens to an end that is dropped unclosed."""
        handle, self._producer = self._producer, None
        if handle is not None:
            lib.as_producer_finish(handle)

    def __del__(self, _finish: Any = lib.as_producer_finish) -> None:
        if self._producer is not None:
            _finish(self._producer)


class ReceiveRing:
    """The consumer's end of a channel. One thread at a time; its blocks may be released by any thread."""

    __slots__ = ("_consumer", "_entry", "_keep", "_rows", "entry")

    def __init__(
        self,
        memory: ControlMemory,
        offset: int,
        *,
        plan: int,
        peer: Doorbell | None = None,
        peer_bit: int = 0,
    ) -> None:
        """`peer`, `peer_bit`: what to ring when the producer waits for credit and there is some again.

        ValueError: no channel there. BrokenError: a channel of another plan."""
        self._consumer: Any = None
        self._keep = (memory, peer and peer.memory)
        bell = _NULL if peer is None else peer.handle
        handle = lib.as_consumer_open(memory.pointer(offset), plan, bell, peer_bit)
        self._consumer = opened(handle, f"receiving end of the channel at {offset}")
        self._entry = ffi.new("as_entry *")
        self.entry = ffi.buffer(self._entry)
        """The bytes of the entry that was peeked or taken last."""
        self._rows = ffi.new("int64_t *")

    def peek(self, ahead: int = 0) -> tuple[Any, ...] | None:
        """The fields of the entry `ahead` places behind the head (`Entry._make` names them); None: not there
        yet.

        BrokenError: this end was taken over, or the entry is damaged. ClosedError: it was closed."""
        code = _peek(self._consumer or self.handle, ahead, self._entry)
        if code:
            _check_nothing(code)
            return None
        return ENTRY.unpack_from(self.entry)

    def peek_frame(self, frame: type, ahead: int = 0) -> tuple[Any, int, int, int] | None:
        """The same entry as a frame of that type, without a payload, and the entry's flags, offset and arena."""
        code = _peek(self._consumer or self.handle, ahead, self._entry)
        if code:
            _check_nothing(code)
            return None
        return entry_frame(frame, self.entry)

    def take_row(self) -> bool:
        """Consumes the head if it is a row, which then lies in `entry`. False: it is not, or nothing waits.

        BrokenError, ClosedError: as in `peek`."""
        code = _take_row(self._consumer or self.handle, self._entry)
        if code:
            _check_nothing(code)
        return not code

    def row_waiter(self, bell: Doorbell, bit: int) -> Callable[[int], int]:
        """A function (ns): waits for `bell` as `Doorbell.wait` does, 0 without spinning, and then does `take_row` if `bit`
        alone rang, in one call. It answers TAKEN, or how many bits rang: `bell.listed` says which."""
        out, most, entry = bell.out, bell.most, self._entry

        def wait(ns: int) -> int:
            return _wait_row(  # type: ignore[no-any-return]
                self._consumer or self.handle, bell._bell or bell.handle, bit, ns, entry, out, most
            )

        return wait

    def borrow(self, arena: Arena) -> Block:
        """The block of the entry that was peeked last, which lies in `arena` (mapped here). At most once an
        entry, before or after it is consumed; an entry with a block that is not borrowed must be handed
        back by `give_back`.

        BrokenError: the block has been recycled. ValueError: the entry has no block, or one of another
        arena."""
        hold = _borrow(self._consumer or self.handle, self._entry, arena.handle)
        if hold == _NULL:
            raise_errno(f"borrow from arena {arena.id}")
        return Block(hold, False, self._keep)

    def run(self, most: int, ahead: int = 0) -> tuple[int, int]:
        """How many entries from the one `ahead` places behind the head on, at most `most`, hand over rows of one block that
        follow each other, and how many rows. (0, 0): none is there, or it is no data."""
        return _run(self._consumer or self.handle, ahead, most, self._rows), self._rows[0]

    def consume_run(self, borrowed: int, count: int) -> None:
        """Takes the first `count` entries away; all but the first `borrowed` of them give their blocks back."""
        lib.as_channel_consume_run(self._consumer or self.handle, borrowed, count)

    def consume(self, count: int = 1) -> None:
        """Takes the first `count` entries away, which gives their bytes back to the producer as credit."""
        _consume(self._consumer or self.handle, count)

    def give_back(self, loan: int) -> None:
        """Returns the block of an entry that was not borrowed, by `Entry.loan`."""
        lib.as_channel_return(self.handle, loan)

    @property
    def handle(self) -> Any:
        """What the core's functions take. ClosedError after `close`."""
        if self._consumer is None:
            raise ClosedError("this end of the channel was closed")
        return self._consumer

    def waiting(self) -> int:
        """Entries that can be peeked now."""
        return int(lib.as_channel_waiting(self._consumer or self.handle))

    def frontier(self, word: int = 0) -> int:
        """The promise as of now; what it covers waits already. -2**63 if there was none yet."""
        return int(_frontier(self._consumer or self.handle, word))

    def statistics(self) -> ReceiveStatistics:
        out = ffi.new("uint64_t[3]")
        lib.as_consumer_statistics(self.handle, out)
        return ReceiveStatistics(*ffi.unpack(out, 3))

    def close(self) -> None:
        """Marks the end as closed, so that the producer's sends fail. Blocks that are used here stay valid."""
        handle, self._consumer = self._consumer, None
        if handle is not None:
            lib.as_consumer_close(handle)

    def __del__(self, _close: Any = lib.as_consumer_close) -> None:
        if self._consumer is not None:
            _close(self._consumer)


def _check_nothing(code: int) -> None:
    """Raises what the core says where it has given no entry, unless it is that nothing waits."""
    if code != AGAIN:
        raise_status(code, "receive")
