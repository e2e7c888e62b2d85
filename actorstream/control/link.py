"""What a worker and the coordinator know of the way between them: one end of a link that carries control messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from actorstream.control.messages import Message


class ControlLink(Protocol):
    """One end. Messages arrive whole, once, and in the order in which they were sent; none is lost while both ends live.

    An implementation that carries bytes uses `messages.encode` and `messages.decode`. `pipe.ControlPipe` is one for two
    processes of one host."""

    @property
    def closed(self) -> bool:
        """Whether the other end is gone, or this one was closed: nothing more comes than `receive` has returned."""

    def send(self, message: Message) -> None:
        """Hands over one message. That the other end is gone is no error here: `closed` says it."""

    def receive(self) -> list[Message]:
        """All messages that have arrived. Never waits. BrokenError: something else has arrived."""

    def listen(self, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        """From now on `heard` is called in the loop when something has arrived or the other end is gone, and `send` does
        not wait for room."""

    def leave(self) -> None:
        """`heard` is called no more; what has been sent is on its way when this returns."""

    def close(self) -> None:
        """Lets go of this end."""
