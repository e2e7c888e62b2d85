"""What a transport is: it moves jumbo tuples and promises between workers, and knows nothing of actors or rows.

A transport has two parts. The `Fabric` is what exists before the workers do (memory, sockets), sized by the plan. Forks
inherit it, other processes of the host are handed it, and ranks that start on their own each make it. The `Transport` is one
worker's end of it. Rules that every transport keeps, and that `actorstream.testing.check_transport` checks:

* FIFO per channel; what `send_nowait` accepted arrives exactly once, unless the other side is lost (`BrokenError`).
* Budgets are bytes: `send_nowait` answers False while the channel's unconsumed bytes would pass its budget, unless
  nothing is unconsumed (one jumbo tuple larger than the budget is admitted alone), or while all slots are taken.
  Nothing is changed then, and the sender's `credit` bit rings when there is room again: at the latest when all is
  consumed, so that a slow consumer need not wake its producer for every frame.
* A frontier word only rises, and never overtakes the frames sent before it. A full channel cannot delay it.
* Arrivals, frontiers and credit ring the worker's doorbell: bit `channel.receive_bit` at the receiving worker, bit
  `channel.send_bit` at the sending one.
* A channel ends by an END frame that the receiver consumes, never by the close of a socket. A sender that closes or is
  lost before it sent one makes the receiver's `peek` raise BrokenError once it has drained what arrived; a receiver
  that closes or is lost makes `send_nowait` raise it. Both ring the other side's bit, so that nobody waits for ever.
* A ring may come for nothing; an arrival, a risen frontier, wished credit or a loss never comes without one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from actorstream.errors import ConfigurationError
from actorstream.transports.fabric import Fabric as Fabric
from actorstream.transports.fabric import HandedOver as HandedOver
from actorstream.transports.fast_paths import EventSender, EventWatch, JumboSender, RowSender, RowTaker

if TYPE_CHECKING:
    from actorstream.events.jumbo import JumboTuple
    from actorstream.events.row_format import RowFormat
    from actorstream.native.arena import Arena
    from actorstream.native.doorbell import Doorbell
    from actorstream.transports.assembly import Assembly

NO_TIME_MIN = FRONTIER_END = 2**63 - 1
NO_TIME_MAX = FRONTIER_MIN = -(2**63)


class FrameKind(IntEnum):
    DATA = 1
    HEARTBEAT = 2
    BARRIER = 3
    END = 4


DATA = int(FrameKind.DATA)


class Frame:
    """One hand-over on a channel: a jumbo tuple with what belongs to this hand-over, or a barrier or end mark.

    `payload` is what `kind == DATA` carries: between processes a `JumboTuple` (encoded bytes in a block), or the `bytes`
    of a row that was sent by itself (`SendChannel.rows`); inside a process whatever the two ends agree on (the runtime
    hands over `Batch` objects as they are).
    Times are event time; entry times are monotonic ns at which contributing tuples entered the system (0: unknown),
    `began` when the first operator took them (it travels as microseconds since `max_entry`).
    """

    __slots__ = (
        "barrier",
        "began",
        "first",
        "kind",
        "max_entry",
        "max_time",
        "min_entry",
        "min_time",
        "nbytes",
        "payload",
        "piece",
        "pieces",
        "producer",
        "rows",
        "schema",
        "sequence",
        "serial",
    )

    def __init__(
        self,
        kind: int,
        payload: Any = None,
        *,
        rows: int = 0,
        first: int = 0,
        nbytes: int = 0,
        schema: int = 0,
        producer: int = 0,
        sequence: int = 0,
        serial: int = 0,
        piece: int = 0,
        pieces: int = 1,
        barrier: int = 0,
        min_time: int = NO_TIME_MIN,
        max_time: int = NO_TIME_MAX,
        min_entry: int = 0,
        max_entry: int = 0,
        began: int = 0,
    ) -> None:
        self.kind, self.payload = kind, payload
        self.rows, self.first, self.nbytes = rows, first, nbytes
        self.schema, self.producer = schema, producer
        self.sequence, self.serial = sequence, serial
        self.piece, self.pieces = piece, pieces
        self.barrier = barrier
        self.min_time, self.max_time = min_time, max_time
        self.min_entry, self.max_entry, self.began = min_entry, max_entry, began

    @classmethod
    def data(
        cls,
        payload: Any,
        rows: int,
        first: int,
        nbytes: int,
        schema: int,
        producer: int,
        min_entry: int,
        max_entry: int,
        began: int = 0,
    ) -> Frame:
        """A frame of rows without order or times: what most frames are, at half the cost."""
        frame = cls.__new__(cls)
        frame.kind = DATA
        frame.payload, frame.rows, frame.first, frame.nbytes = payload, rows, first, nbytes
        frame.schema, frame.producer, frame.min_entry, frame.max_entry = (
            schema,
            producer,
            min_entry,
            max_entry,
        )
        frame.sequence = frame.serial = frame.piece = frame.barrier = 0
        frame.pieces = 1
        frame.began = began
        frame.min_time, frame.max_time = NO_TIME_MIN, NO_TIME_MAX
        return frame

    def __repr__(self) -> str:
        return f"<Frame {FrameKind(self.kind).name} rows={self.rows} sequence={self.sequence}>"


def follows(frame: Frame, head: Frame, row: int) -> bool:
    """Whether a frame hands over rows of `head`'s payload from `row` on, and says the same of them."""
    return (
        frame.payload is head.payload
        and frame.first == row
        and frame.kind == head.kind
        and frame.schema == head.schema
        and frame.min_entry == head.min_entry
        and frame.max_entry == head.max_entry
        and frame.began == head.began
    )


class Channel(msgspec.Struct, frozen=True):
    """One directed channel of the plan between two replicas, with the doorbell bits of its two ends."""

    id: int
    sender: int
    """Worker of the producer."""
    receiver: int
    """Worker of the consumer."""
    send_bit: int
    """Bit in the sender's doorbell that means "credit again"."""
    receive_bit: int
    """Bit in the receiver's doorbell that means "something arrived, or a frontier rose"."""
    slots: int = 256
    budget: int = 4 << 20
    frontiers: int = 1
    """Frontier words: 0 is event time, 1 (serial edges) the serial number, 2 idleness, further ones tags of programs."""

    @property
    def is_remote(self) -> bool:
        """Whether it leads to another process."""
        return self.sender != self.receiver


class SendChannel(ABC):
    """The producer's end. One owner: the worker's loop thread."""

    channel: Channel

    @abstractmethod
    def send_nowait(self, frame: Frame) -> bool:
        """Accepts the frame; False: no credit, nothing changed. BrokenError: receiver lost; ClosedError: this end closed."""

    def jumbo_sender(self, schema: int, producer: int) -> JumboSender:
        """A function that sends whole jumbo tuples of one schema, without order or times, the shortest way there is: (jumbo
        tuple, rows, sequence, min_entry, max_entry, began) -> what `send_nowait` says."""

        def send_jumbo(
            jumbo: JumboTuple, rows: int, sequence: int, min_entry: int, max_entry: int, began: int
        ) -> bool:
            frame = Frame.data(jumbo, rows, 0, jumbo.nbytes, schema, producer, min_entry, max_entry, began)
            frame.sequence = sequence
            return self.send_nowait(frame)

        return send_jumbo

    def send_run_nowait(self, frame: Frame, step: int) -> int:
        """Hands a frame of data over as frames of `step` rows each, which share its payload and follow each other in it;
        `nbytes`: of each of these. Answers how many rows were accepted, with as much credit as there was; `first`, `rows`
        and `sequence` of the frame have moved past them. Else as `send_nowait`."""
        sent = 0
        while frame.rows:
            rows = min(step, frame.rows)
            part = Frame.data(
                frame.payload,
                rows,
                frame.first,
                frame.nbytes,
                frame.schema,
                frame.producer,
                frame.min_entry,
                frame.max_entry,
                frame.began,
            )
            part.sequence = frame.sequence
            if not self.send_nowait(part):
                break
            frame.first += rows
            frame.rows -= rows
            frame.sequence += 1
            sent += rows
        return sent

    def rows(self, layout: str) -> RowSender | None:
        """A function that sends one row of few bytes by itself, the shortest way there is; None: there is none.

        `layout`: format of `struct` for the row's values, of at most `Transport.row_bytes`. The function takes (values, schema,
        producer, sequence, min_entry, max_entry, began) and answers False, with nothing changed, unless the receiver
        has consumed everything before. struct.error: a value does not fit. Otherwise as `send_nowait`."""
        return None

    def events(self, rows: RowFormat, schema: int, producer: int) -> EventSender | None:
        """As `rows`, for events of one format: (event, sequence, entry time) -> whether it fits and was sent; None: no."""
        return None

    @abstractmethod
    def advance(self, word: int, value: int, *, ring: bool = True) -> None:
        """Raises frontier word `word` to `value`; a lower value changes nothing."""

    @abstractmethod
    def admits(self, nbytes: int) -> bool:
        """Whether a frame of `nbytes` would be accepted now; if not, credit will ring `send_bit`."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the receiver has consumed everything (natural batching flushes then)."""

    def poll(self) -> None:
        """Takes back what the receiver returned; called before sending, and once in a while."""

    @abstractmethod
    def statistics(self) -> dict[str, int]:
        """sent, waiting, waiting_bytes, loans, peak_bytes, sent_bytes."""

    @abstractmethod
    def close(self) -> None: ...


class OutsideChannel(SendChannel):
    """The producer's end of a channel that `Transport.listen` opened, in a process that is no worker of the plan."""

    @property
    @abstractmethod
    def doorbell(self) -> Doorbell:
        """Rings `channel.send_bit` when there is credit again."""

    @property
    @abstractmethod
    def arena(self) -> Arena | None:
        """As `SendChannel.arena`."""

    @abstractmethod
    async def send(self, frame: Frame) -> None:
        """Waits for credit, then sends. BrokenError: the receiver is lost; ClosedError: this end was closed."""


class ReceiveChannel(ABC):
    """The consumer's end. One owner: the worker's loop thread."""

    channel: Channel
    forwardable: bool = True
    """False: a received payload cannot be sent on as it is (`send_nowait` copies it), because its memory belongs to a
    producer outside the plan that other workers do not know."""

    @abstractmethod
    def peek(self, ahead: int = 0) -> Frame | None:
        """The frame `ahead` places behind the head, without consuming it; None: not there yet.

        The same object is answered until it is consumed. BrokenError: the sender is lost or sent what it must not."""

    def rows(self, layout: str) -> RowTaker | None:
        """A function that takes the head away if it is a row sent by itself, and answers (values, min_entry, max_entry,
        began), else None: `peek` answers what it leaves, such rows, too, as frames of their bytes. None: no such rows."""
        return None

    def watch_events(self, rows: RowFormat) -> EventWatch | None:
        """A way to wait for the worker's doorbell and to take the event that rang at once; None: there is none."""
        return None

    @abstractmethod
    def consume(self) -> None:
        """Takes the head away and gives its bytes back as credit. Views of it stay valid for as long as they live."""

    def run(self, most: int, ahead: int = 0) -> tuple[int, int]:
        """How many frames from the head on, at most `most`, hand over rows that follow each other in one payload, and
        how many rows they have together; (0, 0): nothing waits, or no data. ahead: frames before the head that were looked at
        and not consumed."""
        head = self.peek(ahead)
        if head is None or head.kind != DATA:
            return 0, 0
        count, rows = 1, head.rows
        while count < most:
            each = self.peek(ahead + count)
            if each is None or not follows(each, head, head.first + rows):
                break
            count += 1
            rows += each.rows
        return count, rows

    def consume_run(self, count: int) -> None:
        """`consume`, so many times."""
        for _ in range(count):
            self.consume()

    @abstractmethod
    def frontier(self, word: int = 0) -> int:
        """The promise as of now. Read it, then drain `waiting` frames, and only then act on it."""

    @abstractmethod
    def waiting(self) -> int:
        """Frames that can be peeked now."""

    @abstractmethod
    def statistics(self) -> dict[str, int]:
        """received, waiting, kept (jumbo tuples consumed whose memory is still in use)."""

    @abstractmethod
    def close(self) -> None: ...


class Transport(ABC):
    """One worker's end of the fabric."""

    name: ClassVar[str]
    crosses_processes: ClassVar[bool] = True
    """False: all workers of the plan run in one process and payloads are handed over as objects."""
    row_bytes: ClassVar[int] = 0
    """Most bytes of a row that a channel carries by itself (`SendChannel.rows`); 0: it knows no such way."""
    assembly: ClassVar[type[Assembly] | None] = None
    """How the processes of a run find each other that start on their own; None: workers are started by a launcher."""
    causal: ClassVar[bool] = False
    """Whether cause comes before effect on different channels: if A sends a frame and then a message to B, and B sends a
    frame because of it, whoever can see B's frame can see A's too. Otherwise A waits until its frame was consumed."""

    @classmethod
    @abstractmethod
    def fabric(cls, workers: int, channels: list[Channel], plan: int, **options: Any) -> Fabric:
        """Makes what has to exist before the workers. `plan`: fingerprint of the execution plan, checked by every
        handshake. Raises ResourceError when the machine's limits are too small."""

    @classmethod
    def take_over(cls, workers: int, channels: list[Channel], plan: int, handed: HandedOver) -> Fabric:
        """The fabric that another process made for the same plan and handed over; its descriptors are this process's own
        from now on. Arguments as of `fabric`."""
        raise ConfigurationError(f"transport {cls.name!r} has no fabric that can be handed over")

    @abstractmethod
    def __init__(self, fabric: Fabric, worker: int) -> None:
        """Called in the worker (after fork where the transport forks)."""

    @abstractmethod
    async def start(self) -> None:
        """Connects and checks the plan's fingerprint with every peer; ConfigurationError if it differs."""

    @property
    @abstractmethod
    def doorbell(self) -> Doorbell:
        """This worker's doorbell."""

    @property
    @abstractmethod
    def arena(self) -> Arena | None:
        """Where outgoing jumbo tuples are to be built, if this transport hands over memory."""

    @abstractmethod
    def sender(self, channel: Channel) -> SendChannel: ...

    @abstractmethod
    def receiver(self, channel: Channel) -> ReceiveChannel: ...

    async def listen(self, receive_bit: int, *, slots: int = 256, budget: int = 4 << 20) -> str:
        """Opens a channel for a producer that is not part of the plan; answers the token to give it."""
        raise NotImplementedError(f"transport {self.name!r} has no channels for outside producers")

    @classmethod
    async def attach(cls, token: str) -> OutsideChannel:
        """Joins a channel that another process opened with `listen`, from any process of this user and host. ConfigurationError:
        the token is no token, or of another version; BrokenError: nobody listens under it any more, or somebody has
        attached already."""
        raise NotImplementedError(f"transport {cls.name!r} has no channels for outside producers")

    async def accept(self, token: str) -> ReceiveChannel:
        """The receiving end of a `listen`ed channel, once its producer has attached."""
        raise NotImplementedError(f"transport {self.name!r} has no channels for outside producers")

    def lose(self, worker: int, why: str) -> None:
        """Another worker is lost, as is known elsewhere; so nobody waits for it here."""

    @abstractmethod
    async def close(self) -> None: ...
