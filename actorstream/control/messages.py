"""The messages between the coordinator of a run and its workers, and their encoding. They say what is the case;
`coordinator.py` decides."""

from __future__ import annotations

from typing import Any

import msgspec

from actorstream.checkpoint.checkpoint import StateFile
from actorstream.errors import BrokenError


class Message(msgspec.Struct, tag=True):
    """Base of all control messages."""


# -- from a worker


class Started(Message):
    """Every replica's on_start is through."""

    worker: int


class Bound(Message):
    """The worker's threads and arena were bound, as far as the system let them be.

    Attributes:
        node, cpus: of its threads. memory: the node of its arena. refused: what the system forbade; "": nothing.
    """

    worker: int
    node: int
    cpus: list[int]
    memory: int
    refused: str = ""


class Failed(Message):
    """The run cannot go on. `kind` is the error's class; the worker ends after it."""

    worker: int
    kind: str
    text: str
    operator: tuple[str, int, str, str, str] | None = None
    """actor, replica, error, event, traceback of an OperatorError."""


class Snapshot(Message):
    """A replica passed a barrier.

    Attributes:
        state: what it wants kept. file: where its state is, if it was too large for a message.
        token: what its sink has prepared, as msgpack; None: it is no sink.
    """

    worker: int
    replica: int
    barrier: int
    state: bytes
    token: bytes | None
    file: StateFile | None = None


class Begun(Message):
    """A program has started the barrier that it was granted; all sources are to start it too."""

    worker: int
    barrier: int


class Ended(Message):
    """All units of the worker have ended. Units elsewhere may still pass barriers, and this worker still answers these."""

    worker: int


class Prepared(Message):
    """All input has ended and every sink of the worker has prepared. `tokens`: of its sinks by replica, if they are kept."""

    worker: int
    tokens: dict[int, bytes] = {}


class Collected(Message):
    """A part of what an in-memory sink received."""

    worker: int
    actor: str
    data: bytes


class Counted(Message):
    """Rows of the counter table, by replica, from a worker that does not share the table's memory."""

    worker: int
    rows: dict[int, bytes]


class Finished(Message):
    """The worker has committed (or stopped at a checkpoint) and ended."""

    worker: int


class Asked(Message):
    """Somebody has sent a signal to the process of a worker that no launcher watches.

    Attributes:
        signal: its number. count: how many this process has got so far, with this one.
    """

    worker: int
    signal: int
    count: int


class Gone(Message):
    """The last message of a worker that no launcher watches: it has let go of everything. `cpu_s`: processor time of its
    process; `pss`: most bytes of memory that were seen in it."""

    worker: int
    cpu_s: float
    pss: int


# -- to a worker


class Barrier(Message):
    """Sources start barrier `barrier`."""

    barrier: int


class Grant(Message):
    """A program that wants a checkpoint may start `barrier`."""

    barrier: int


class Prepare(Message):
    """The units of every worker have ended: sinks prepare the end, and no barrier follows."""


class Drain(Message):
    """Sources end now; the rest runs to the orderly end."""


class Suspend(Message):
    """The run stops where its last checkpoint is, to be resumed: sinks neither commit nor abort."""


class Commit(Message):
    """Every worker has prepared `barrier`, and what belongs to it is kept."""

    barrier: int


class Abort(Message):
    """Stop at once, commit nothing."""


class Lost(Message):
    """A worker is lost: nobody waits for it any more. `why`: which it is and how that is known, in words."""

    lost: int
    why: str


class Leave(Message):
    """The run is over, and the process of a worker that no launcher watches may end.

    Attributes:
        status: its exit status. in_order: every process ends so; else some were lost, and nobody waits for them.
        text: how the run ended, in words; "" if all is well.
    """

    status: int
    in_order: bool
    text: str = ""


AnyMessage = (
    Started
    | Bound
    | Failed
    | Snapshot
    | Begun
    | Ended
    | Prepared
    | Collected
    | Counted
    | Finished
    | Asked
    | Gone
    | Barrier
    | Grant
    | Prepare
    | Drain
    | Suspend
    | Commit
    | Abort
    | Lost
    | Leave
)
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(AnyMessage)
_encoder = msgspec.msgpack.Encoder()


def encode(message: Message) -> bytes:
    """A message as bytes, for a link."""
    return _encoder.encode(message)


def decode(data: bytes) -> Message:
    """The message in `data`. BrokenError: it is none."""
    try:
        return _decoder.decode(data)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BrokenError(f"a control message cannot be decoded: {error}") from error
