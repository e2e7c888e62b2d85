"""Control links and ways between systems that are no sockets: two ends in one event loop, which hand objects over."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from actorstream.actors.peer_end import Made
from actorstream.control.messages import Message, decode, encode


class MemoryLink:
    """One end of a control link."""

    def __init__(self) -> None:
        self.closed = False
        self.other: MemoryLink | None = None
        self._came: deque[bytes] = deque()
        self._heard: Callable[[], None] | None = None

    @staticmethod
    def pair() -> tuple[MemoryLink, MemoryLink]:
        left, right = MemoryLink(), MemoryLink()
        left.other, right.other = right, left
        return left, right

    def send(self, message: Message) -> None:
        if self.other is not None:
            self.other._came.append(encode(message))
            self.other._wake()

    def receive(self) -> list[Message]:
        found = [decode(data) for data in self._came]
        self._came.clear()
        return found

    def listen(self, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        self._heard = heard
        self._wake()

    def leave(self) -> None:
        self._heard = None

    def close(self) -> None:
        other, self.other, self.closed = self.other, None, True
        if other is not None:
            other.other, other.closed = None, True
            other._wake()

    def _wake(self) -> None:
        if self._heard is not None:
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        if self._heard is not None:
            self._heard()


class MemoryEnd(asyncio.Transport):
    """One end of a way between two systems."""

    def __init__(self) -> None:
        super().__init__()
        self.other: MemoryEnd | None = None
        self._protocol: asyncio.Protocol | None = None
        self._unread: list[bytes] = []
        self._is_lost = False

    @staticmethod
    def pair() -> tuple[MemoryEnd, MemoryEnd]:
        left, right = MemoryEnd(), MemoryEnd()
        left.other, right.other = right, left
        return left, right

    async def join(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Made]) -> Made:
        protocol = make()
        self._protocol = protocol
        protocol.connection_made(self)
        loop.call_soon(self._give)
        return protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.other is not None:
            self.other._unread.append(bytes(data))
            asyncio.get_running_loop().call_soon(self.other._give)

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        for end in (self, self.other):
            if end is not None and not end._is_lost and end._protocol is not None:
                end._is_lost = True
                asyncio.get_running_loop().call_soon(end._lose)

    abort = close

    def _give(self) -> None:
        if self._protocol is not None:
            unread, self._unread = self._unread, []
            for data in unread:
                self._protocol.data_received(data)

    def _lose(self) -> None:
        self._give()
        assert self._protocol is not None
        self._protocol.connection_lost(None)
