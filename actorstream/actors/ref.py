"""What one holds to talk to an actor, wherever it runs; `LocalRef` is the one for actors of this process.

Refs are used on the event loop's thread; from another thread: `loop.call_soon_threadsafe(ref.tell, message)`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorstream.actors.cell import State
from actorstream.actors.size import SIZES, estimate
from actorstream.errors import ActorError, AskTimeoutError, MailboxFullError

if TYPE_CHECKING:
    from actorstream.actors.cell import Cell
    from actorstream.actors.mailbox import MailboxStatistics

DEFAULT: Any = object()
"""As a timeout: the system's `ask_timeout`."""


class ActorRef(ABC):
    """An actor's address and the four things one can do with it. Order is kept from one sender to one actor."""

    __slots__ = ("name",)

    name: str
    """What `system.ref(name)` finds it by: `"counter"`, or `"othersystem/counter"` in another process."""

    @property
    @abstractmethod
    def address(self) -> str:
        """`"system/actor"`: good in every connected system."""

    @property
    @abstractmethod
    def life(self) -> object:
        """The same object for as long as the ref means the same actor, alive or dead; another once a later one of its name
        has taken its place. None: its system is not connected."""

    @property
    @abstractmethod
    def alive(self) -> bool:
        """False once the actor is known to be dead, or its system is not connected."""

    @abstractmethod
    def tell(self, message: Any) -> None:
        """Queues a message and returns. In this process it is passed by reference.

        Raises MailboxFullError if there is no credit, ActorDeadError if the actor is dead, BrokenError if its system
        is lost."""

    @abstractmethod
    async def send(self, message: Any) -> None:
        """Like `tell`, but waits for credit."""

    @abstractmethod
    async def ask(self, message: Any, *, timeout: float | None = DEFAULT) -> Any:
        """Returns what the hook answers, or raises what it raised. Waits for credit as well.

        timeout: seconds; None: as long as the actor lives. Raises AskTimeoutError, ActorDeadError, BrokenError."""

    @abstractmethod
    async def stop(self) -> bool:
        """Stops the actor after the messages it has now, and waits until it is dead. False: it was dead already."""

    @abstractmethod
    def on_termination(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Calls back once with the reason when the actor dies or is lost, at once if it is dead.

        Returns a function that takes the callback off."""

    async def wait_stopped(self) -> str:
        """Waits until the actor is dead or lost, and returns the reason."""
        dead: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        cancel = self.on_termination(lambda reason: None if dead.done() else dead.set_result(reason))
        try:
            return await dead
        finally:
            cancel()

    def __repr__(self) -> str:
        return f"<ActorRef {self.address}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorRef) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)


class LocalRef(ActorRef):
    """A ref to an actor of this process. It means this one actor: not a later one of the same name."""

    __slots__ = ("_cell", "_mailbox")

    def __init__(self, cell: Cell) -> None:
        self.name = cell.name
        self._cell = cell
        self._mailbox = cell.mailbox

    @property
    def address(self) -> str:
        return f"{self._cell.system.name}/{self.name}"

    @property
    def life(self) -> object:
        return self._cell

    @property
    def alive(self) -> bool:
        return self._cell.state not in (State.STOPPING, State.DEAD)

    def tell(self, message: Any) -> None:
        size = SIZES.get(message.__class__)
        if size.__class__ is not int:
            size = estimate(message)
        if not self._mailbox.offer((message, size, None, None), size):  # type: ignore[arg-type]
            raise self._refusal(size)  # type: ignore[arg-type]
        if self._cell.asleep:
            self._cell.wake()

    async def send(self, message: Any) -> None:
        size = estimate(message)
        entry = (message, size, None, None)
        if self._mailbox.offer(entry, size):
            if self._cell.asleep:
                self._cell.wake()
        else:
            room = self._wait(entry)
            try:
                await room
            except BaseException:
                self._give_up(room)
                raise

    async def ask(self, message: Any, *, timeout: float | None = DEFAULT) -> Any:
        cell = self._cell
        system = cell.system
        size = estimate(message)
        reply: asyncio.Future[Any] = system.loop.create_future()
        if cell.in_flight is not None and cell.task is asyncio.current_task():
            raise ActorError(
                f"actor {self.name!r} asks itself and would wait for ever; call its method instead"
            )
        entry = (message, size, reply, None)
        room: asyncio.Future[None] | None = None
        if self._mailbox.offer(entry, size):
            if cell.asleep:
                cell.wake()
        else:
            room = self._wait(entry)
        if timeout is DEFAULT:
            timeout = system.ask_timeout
        alarm = None
        if timeout is not None:
            clock = system.clock
            alarm = clock.call_at(clock.time() + timeout, expire, self, message, timeout, room, reply)
        try:
            if room is not None:
                await room
            return await reply
        except BaseException:
            if room is not None:
                self._give_up(room)
            raise
        finally:
            if alarm is not None:
                alarm.cancel()

    async def stop(self) -> bool:
        cell = self._cell
        if cell.state is State.DEAD:
            return False
        if cell.in_flight is not None and cell.task is asyncio.current_task():
            raise ActorError(f"actor {self.name!r} waits for its own stop; call self.stop() instead")
        cell.request_stop()
        await self.wait_stopped()
        return True

    def on_termination(self, callback: Callable[[str], None]) -> Callable[[], None]:
        if self._cell.state is State.DEAD:
            callback(self._cell.reason)
            return _nothing
        return self._cell.deathwatch.add(callback)

    def statistics(self) -> MailboxStatistics:
        """What its mailbox holds and has done."""
        return self._mailbox.statistics()

    def _refusal(self, size: int) -> Exception:
        mailbox = self._mailbox
        if mailbox.closed:
            return self._cell.dead_error()
        return MailboxFullError(
            f"actor {self.name!r}: a message of about {size} bytes finds {mailbox.used} of {mailbox.capacity} bytes "
            f"in use and {len(mailbox.waiting)} senders waiting; `await ref.send(...)` waits for credit, "
            "`mailbox_bytes` of spawn sets it"
        )

    def _wait(self, entry: Any) -> asyncio.Future[None]:
        cell = self._cell
        if self._mailbox.closed:
            raise cell.dead_error()
        if cell.in_flight is not None and cell.task is asyncio.current_task():
            raise self._refusal(entry[1])  # its own hook would wait for itself
        room: asyncio.Future[None] = cell.system.loop.create_future()
        self._mailbox.wait(entry, room)
        return room

    def _give_up(self, room: asyncio.Future[None]) -> None:
        if self._mailbox.withdraw(room):
            self._cell.admit()


def expire(
    ref: ActorRef,
    message: Any,
    timeout: float,
    room: asyncio.Future[None] | None,
    reply: asyncio.Future[Any],
) -> None:
    """Ends an ask whose time is over, whether it waits for credit (`room`) or for the answer."""
    waiting = room is not None and not room.done()
    where = "had no credit for" if waiting else "did not answer"
    error = AskTimeoutError(f"actor {ref.name!r} {where} a {type(message).__name__} within {timeout:g} s")
    if waiting:
        assert room is not None
        room.set_exception(error)
        reply.cancel()
    elif not reply.done():
        reply.set_exception(error)


def _nothing() -> None:
    pass
