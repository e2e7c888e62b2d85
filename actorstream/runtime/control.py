"""Control messages between launcher and workers, and the pipe that carries them. The data path does not use it."""

from __future__ import annotations

import select
import socket
import struct
import traceback
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from actorstream.checkpoint.checkpoint import StateFile
from actorstream.errors import ActorstreamError, BrokenError, OperatorError, RunError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_LENGTH = struct.Struct("<Q")


class Message(msgspec.Struct, tag=True):
    """Base of all control messages."""


class Started(Message):
    """Worker: every replica's on_start is through."""

    worker: int


class Failed(Message):
    """Worker: the run cannot go on. `kind` is the error's class; the worker ends after it."""

    worker: int
    kind: str
    text: str
    operator: tuple[str, int, str, str, str] | None = None
    """actor, replica, error, event, traceback of an OperatorError."""


class Snapshot(Message):
    """Worker: a replica passed a barrier; `state` is what it wants kept, `token` what its sink prepared. `file`: where
    its state is, if it was too large for a message."""

    worker: int
    replica: int
    barrier: int
    state: bytes
    token: bytes | None
    file: StateFile | None = None


class Begun(Message):
    """Worker: a program has started the barrier that it was granted; all sources are to start it too."""

    worker: int
    barrier: int


class Ended(Message):
    """Worker: all its units have ended. What still runs elsewhere may pass barriers yet, and this worker answers them."""

    worker: int


class Prepared(Message):
    """Worker: all input has ended and every sink has prepared. `tokens`: of its sinks by replica, if they are kept."""

    worker: int
    tokens: dict[int, bytes] = {}


class Collected(Message):
    """Worker: a part of what an in-memory sink received."""

    worker: int
    actor: str
    data: bytes


class Finished(Message):
    """Worker: committed (or aborted) and stopped."""

    worker: int


class Barrier(Message):
    """Launcher: sources start barrier `barrier`."""

    barrier: int


class Grant(Message):
    """Launcher: a program that wants a checkpoint may start `barrier`."""

    barrier: int


class Prepare(Message):
    """Launcher: the units of every worker have ended: sinks prepare the end, and no barrier follows."""


class Drain(Message):
    """Launcher: sources end now; the rest runs to the orderly end."""


class Suspend(Message):
    """Launcher: the run stops where its last checkpoint is, to be resumed: sinks neither commit nor abort."""


class Commit(Message):
    """Launcher: every worker has prepared `barrier`."""

    barrier: int


class Abort(Message):
    """Launcher: stop at once, commit nothing."""


AnyMessage = (
    Started
    | Failed
    | Snapshot
    | Begun
    | Ended
    | Prepared
    | Collected
    | Finished
    | Barrier
    | Prepare
    | Grant
    | Drain
    | Suspend
    | Commit
    | Abort
)
_decoder = msgspec.msgpack.Decoder(AnyMessage)
_encoder = msgspec.msgpack.Encoder()


class Aborted(RunError):
    """The launcher said stop, or is gone."""


def failed_message(worker: int, error: BaseException) -> Failed:
    """What the launcher is told of an error."""
    kind = type(error).__name__
    if isinstance(error, OperatorError):
        details = (error.actor, error.replica, error.error, error.event, error.traceback)
        return Failed(worker, kind, str(error), details)
    if isinstance(error, ActorstreamError):
        return Failed(worker, kind, str(error))
    lines = "".join(traceback.format_exception(error))
    return Failed(worker, kind, f"worker {worker} failed: {kind}: {error}\n{lines}")


def reported_error(message: Failed) -> RunError:
    """The error that a worker reported, as far as it can be made again here."""
    if message.operator is not None:
        return OperatorError(*message.operator)
    return RunError(message.text)


class ControlPipe:
    """One end of a stream socket that carries control messages. Reading never blocks; writing does not in a loop that
    listens: what there is no room for waits here."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._received = bytearray()
        self._unsent: deque[memoryview] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closed = False

    @staticmethod
    def pair() -> tuple[ControlPipe, ControlPipe]:
        left, right = socket.socketpair()
        return ControlPipe(left), ControlPipe(right)

    def fileno(self) -> int:
        return self.sock.fileno()

    def listen(self, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        """From now on `heard` is called when something has come, and `send` leaves the waiting to the loop."""
        self._loop = loop
        loop.add_reader(self.fileno(), heard)

    def leave(self) -> None:
        """The loop listens no more; what waited is written."""
        if self._loop is not None:
            self._loop.remove_reader(self.fileno())
            self._loop.remove_writer(self.fileno())
            self._loop = None
        self._write()

    def send(self, message: Message) -> None:
        """Writes one message; a peer that is gone is not an error here, its end is seen elsewhere."""
        data = _encoder.encode(message)
        waited = bool(self._unsent)
        self._unsent += (memoryview(_LENGTH.pack(len(data))), memoryview(data))
        if not waited or self._loop is None:
            self._write()

    def _write(self) -> None:
        unsent = self._unsent
        while unsent:
            try:
                sent = self.sock.send(unsent[0], socket.MSG_DONTWAIT)
            except BlockingIOError:
                if self._loop is not None:
                    self._loop.add_writer(self.fileno(), self._write)
                    return
                self._wait_for_room()
                continue
            except OSError:
                unsent.clear()  # what the peer sent before it went can still be received
                break
            unsent[0] = unsent[0][sent:]
            if not unsent[0]:
                unsent.popleft()
        if self._loop is not None:
            self._loop.remove_writer(self.fileno())

    def _wait_for_room(self) -> None:
        poll = select.poll()
        poll.register(self.sock, select.POLLOUT)
        poll.poll()

    def receive(self) -> list[Any]:
        """All messages that have arrived; sets `closed` at the peer's end. BrokenError on malformed bytes."""
        while not self.closed:
            try:
                data = self.sock.recv(1 << 18, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.closed = True
                break
            self._received += data
        return list(self._messages())

    def _messages(self) -> Any:
        buffer = self._received
        while len(buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer)
            if len(buffer) < _LENGTH.size + length:
                return
            with memoryview(buffer) as view:
                data = bytes(view[_LENGTH.size : _LENGTH.size + length])
            del buffer[: _LENGTH.size + length]
            try:
                yield _decoder.decode(data)
            except msgspec.DecodeError as error:
                raise BrokenError(f"a control message cannot be decoded: {error}") from error

    def close(self) -> None:
        self.closed = True
        self.sock.close()


class Granting(Protocol):
    """What is granted a barrier."""

    granted: int


class Controlled(Protocol):
    """What does as the launcher says: a worker."""

    @property
    def barriers(self) -> Granting: ...
    def drain(self) -> None: ...
    def barrier(self, barrier: int) -> None: ...
    def prepare(self) -> None: ...
    def commit(self, barrier: int) -> None: ...
    def suspend(self) -> None: ...
    def abort(self, why: str) -> None: ...


def obey(worker: Controlled, message: Any) -> None:
    """Has a worker do what the launcher's message says."""
    match message:
        case Drain():
            worker.drain()
        case Barrier(barrier):
            worker.barrier(barrier)
        case Grant(barrier):
            worker.barriers.granted = barrier
        case Prepare():
            worker.prepare()
        case Commit(barrier):
            worker.commit(barrier)
        case Suspend():
            worker.suspend()
        case Abort():
            worker.abort("stopped by the launcher")
