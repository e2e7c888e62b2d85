"""The control link between two processes of one host: a stream socket, with a length before each message."""

from __future__ import annotations

import select
import socket
import struct
from collections import deque
from typing import TYPE_CHECKING

from actorstream.control.messages import decode, encode

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from actorstream.control.messages import Message

_LENGTH = struct.Struct("<Q")


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
        data = encode(message)
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

    def receive(self) -> list[Message]:
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

    def _messages(self) -> Iterator[Message]:
        buffer = self._received
        while len(buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer)
            if len(buffer) < _LENGTH.size + length:
                return
            with memoryview(buffer) as view:
                data = bytes(view[_LENGTH.size : _LENGTH.size + length])
            del buffer[: _LENGTH.size + length]
            yield decode(data)

    def close(self) -> None:
        self.closed = True
        self.sock.close()
