"""The local end of a stream of bytes between two processes: what is written to a socket here goes to the peer in messages, and
what comes in messages is written to the socket. At most a window of bytes is under way; more waits in the socket."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from actorstream.errors import BrokenError
from actorstream.transports.network.message import CREDIT, CREDITS, STREAM, STREAM_END

PIECE = 64 << 10
WINDOW = 1 << 20
"""Bytes that the peer may not have passed on yet."""


class StreamPump:
    """Owned by the thread of an event loop.

    Args:
        sock: the end that belongs to the pump; somebody else has the other. send: sends a message of a kind to the peer.
    """

    def __init__(
        self, sock: socket.socket, loop: asyncio.AbstractEventLoop, send: Callable[[int, bytes], None]
    ) -> None:
        self._sock, self._loop, self._send = sock, loop, send
        self._sent = self._passed = 0
        """Bytes that were sent to the peer, and those of them that it has passed on."""
        self._came = self._written = self._told = 0
        self._waiting: deque[memoryview] = deque()
        self._reads = self._writes = False
        self._is_ended = self._is_read = False
        sock.setblocking(False)
        self._watch_reading()

    def _watch_reading(self) -> None:
        wanted = not self._is_read and self._sent - self._passed < WINDOW
        if wanted != self._reads:
            self._reads = wanted
            if wanted:
                self._loop.add_reader(self._sock, self._read)
            else:
                self._loop.remove_reader(self._sock)

    def _read(self) -> None:
        try:
            data = self._sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._sent += len(data)
            self._send(STREAM, data)
        else:
            self._is_read = True
            self._send(STREAM_END, b"")
        self._watch_reading()

    def drain(self) -> None:
        """Sends what was written here and is not sent yet, however much that is."""
        while not self._is_read:
            sent = self._sent
            self._read()
            if self._sent == sent:
                break

    # -- what comes

    def arrived(self, data: bytes) -> None:
        """Bytes of the peer. BrokenError: it has sent more than it may."""
        self._came += len(data)
        if self._came - self._written > 2 * WINDOW:
            raise BrokenError(f"{self._came - self._written} bytes of a stream; allowed: {WINDOW}")
        self._waiting.append(memoryview(data))
        self._write()

    def credit(self, passed: int) -> None:
        """The peer has passed on so many bytes in all. BrokenError: it cannot have."""
        if not self._passed <= passed <= self._sent:
            raise BrokenError(f"{passed} bytes of a stream were passed on, {self._sent} were sent")
        self._passed = passed
        self._watch_reading()

    def end(self) -> None:
        """The peer sends no more."""
        self._is_ended = True
        self._write()

    def _write(self) -> None:
        waiting = self._waiting
        while waiting:
            try:
                count = self._sock.send(waiting[0], socket.MSG_NOSIGNAL)
            except BlockingIOError:
                break
            except OSError:  # nobody reads here any more
                self._written += sum(len(each) for each in waiting)
                waiting.clear()
                break
            self._written += count
            waiting[0] = waiting[0][count:]
            if not waiting[0]:
                waiting.popleft()
        if self._written - self._told >= WINDOW // 4:
            self._told = self._written
            self._send(CREDIT, CREDITS.pack(0, self._written))
        if bool(waiting) != self._writes:
            self._writes = bool(waiting)
            if waiting:
                self._loop.add_writer(self._sock, self._write)
            else:
                self._loop.remove_writer(self._sock)
        if self._is_ended and not waiting:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Lets go of the socket."""
        if self._reads:
            self._loop.remove_reader(self._sock)
        if self._writes:
            self._loop.remove_writer(self._sock)
        self._reads = self._writes = False
        self._sock.close()
