"""The control link between two threads of one process."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from actorstream.control.messages import Message


class ThreadLink:
    """One end, used by one thread. Messages are handed over as objects; nothing ever waits."""

    def __init__(self) -> None:
        self._received: deque[Message] = deque()
        self._other: ThreadLink = self
        self._wake: Callable[[], None] | None = None
        self._is_left = False
        self.closed = False

    @staticmethod
    def pair() -> tuple[ThreadLink, ThreadLink]:
        left, right = ThreadLink(), ThreadLink()
        left._other, right._other = right, left
        return left, right

    def send(self, message: Message) -> None:
        if not self.closed:
            self._other._received.append(message)
            self._other._ring()

    def receive(self) -> list[Message]:
        closed = self._is_left  # read first: what the other end sent before it closed is here by then
        received = self._received
        found = []
        while received:
            found.append(received.popleft())
        if closed:
            self.closed = True
        return found

    def listen(self, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        def wake() -> None:
            try:
                loop.call_soon_threadsafe(heard)
            except RuntimeError:
                """The loop has ended: nobody listens any more."""

        self._wake = wake
        if self._received or self._is_left:
            wake()

    def _ring(self) -> None:
        wake = self._wake
        if wake is not None:
            wake()

    def leave(self) -> None:
        self._wake = None

    def close(self) -> None:
        if not self.closed:
            self.closed = True
        self._other._is_left = True
        self._other._ring()
