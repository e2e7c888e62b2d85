"""The receiving side of a link: one local actor as a peer sees it, and the way its answers go back."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from actorstream.actors.failure import TEXT_LIMIT, describe, portable
from actorstream.actors.window import LEAST_WINDOW, ReceiveWindow
from actorstream.actors.wire import HEADER, ActorFrameKind, Alive, Dead, DefineActor, Window
from actorstream.errors import ActorDeadError, ActorError, BrokenError

if TYPE_CHECKING:
    from actorstream.actors.cell import Cell
    from actorstream.actors.link import PeerLink

log = logging.getLogger("actorstream.actors")

_HEADER_BYTES = HEADER.size
MAX_ACTORS = 1 << 20


class Inbound:
    """An actor of this process under the number that the peer gave it. `cell` is None while there is no such actor.

    Entries that it queues carry it as their source: their bytes count here, and `processed` returns the credit.
    """

    __slots__ = ("cell", "link", "name", "number", "owing", "window")

    def __init__(self, link: PeerLink, number: int, name: str) -> None:
        self.link = link
        self.number = number
        self.name = name
        self.cell: Cell | None = None
        self.window = ReceiveWindow(LEAST_WINDOW)
        self.owing = False

    def attach(self, cell: Cell) -> int:
        """The actor exists now. Returns how many bytes the peer may have outstanding."""
        self.cell = cell
        self.window.limit = max(self.window.limit, cell.mailbox.capacity)
        return self.window.limit

    def tell(self, number: int, body: memoryview) -> None:
        size = len(body) + _HEADER_BYTES
        if not self.window.accept(size):
            raise BrokenError(f"the peer sent {size} bytes to actor {self.name!r} without credit")
        cell = self.cell
        if cell is None or cell.mailbox.closed:
            self.processed(size)
            return
        try:
            message = self.link.types.decode(number, body)
        except ActorError as error:
            log.error("actor %r: a message of system %r is dropped: %s", self.name, self.link.peer, error)
            self.link.rejected += 1
            self.processed(size)
            return
        cell.mailbox.queue.append((message, size, None, self))
        if cell.asleep:
            cell.wake()

    def ask(self, number: int, body: memoryview, reply: RemoteReply) -> None:
        size = len(body) + _HEADER_BYTES
        if not self.window.accept(size):
            raise BrokenError(f"the peer sent {size} bytes to actor {self.name!r} without credit")
        cell = self.cell
        reply.where = f"{self.link.system.name}/{self.name}"
        error: Exception | None = None
        if cell is None or cell.mailbox.closed:
            error = ActorDeadError(
                f"system {self.link.system.name!r} has no actor {self.name!r}, or it is stopping"
            )
        elif self.link.congested:
            error = BrokenError(f"system {self.link.peer!r} does not read its answers; this ask is not begun")
        else:
            try:
                message = self.link.types.decode(number, body)
            except ActorError as unknown:
                error = unknown
        if error is not None:
            self.processed(size)
            reply.set_exception(error)
            return
        assert cell is not None
        cell.mailbox.force((message, size, reply, self))
        if cell.asleep:
            cell.wake()

    def stop(self, reply: RemoteReply) -> None:
        cell = self.cell
        if cell is None:
            reply.set_result(False)
            return
        cell.ref.on_termination(lambda reason: reply.set_result(True))
        cell.request_stop()

    def processed(self, size: int) -> None:
        if self.window.processed(size) and not self.owing:
            self.owing = True
            self.link.owe(self)

    def need(self) -> None:
        if self.window.need() and not self.owing:
            self.owing = True
            self.link.owe(self)


class InboundActors:
    """The actors of this process that one peer has named, by the numbers that it gave them."""

    def __init__(self, link: PeerLink) -> None:
        self._link = link
        self._by_number: dict[int, Inbound] = {}
        self._by_name: dict[str, Inbound] = {}

    def at(self, number: int) -> Inbound:
        """The actor of a number. BrokenError: the peer never named it."""
        found = self._by_number.get(number)
        if found is None:
            raise BrokenError(f"the peer sent to actor number {number}, which it never named")
        return found

    def define(self, message: DefineActor) -> None:
        """The peer names an actor, and hears how many bytes it may have outstanding there, or that there is no such actor."""
        link = self._link
        if message.number in self._by_number or len(self._by_number) >= MAX_ACTORS:
            raise BrokenError(
                f"the peer named actor number {message.number} twice, or more than {MAX_ACTORS}"
            )
        inbound = self._by_number[message.number] = Inbound(link, message.number, message.name)
        self._by_name[message.name] = inbound
        cell = link.system.cell(message.name)
        if cell is None:
            link.control(Dead(message.number, "no actor of that name"))
        else:
            link.control(Window(message.number, inbound.attach(cell)))

    def need(self, number: int) -> None:
        """The peer waits for credit of an actor."""
        inbound = self._by_number.get(number)
        if inbound is not None:
            inbound.need()

    def spawned(self, cell: Cell) -> None:
        """An actor of this process has started."""
        inbound = self._by_name.get(cell.name)
        if inbound is not None:
            self._link.control(Alive(inbound.number))
            self._link.control(Window(inbound.number, inbound.attach(cell)))

    def died(self, cell: Cell) -> None:
        """An actor of this process has ended."""
        inbound = self._by_name.get(cell.name)
        if inbound is not None and inbound.cell is cell:
            inbound.cell = None
            reason = portable(cell.reason, min(TEXT_LIMIT, self._link.outbox.limit // 2))
            self._link.control(Dead(inbound.number, reason))


class RemoteReply:
    """Where the answer of a peer's ask goes; to the actor it looks like a future."""

    __slots__ = ("_answered", "_ask", "_link", "where")

    def __init__(self, link: PeerLink, ask: int) -> None:
        self._link = link
        self._ask = ask
        self._answered = False
        self.where = link.system.name

    def done(self) -> bool:
        return self._answered or self._link.closed is not None

    def set_result(self, result: Any) -> None:
        if self.done():
            return
        try:
            self._link.outbox.encode(ActorFrameKind.ANSWER, 0, self._ask, result)
        except ActorError as error:
            self.set_exception(error)
            return
        self._answered = True
        self._link.mark()

    def set_exception(self, error: BaseException) -> None:
        if self.done():
            return
        self._answered = True
        self._link.outbox.failure(self._ask, describe(error, self.where))
        self._link.mark()
