"""The sending side of a link: one actor of another system, its credit, and the ref that users hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorstream.actors.ref import DEFAULT, ActorRef, expire
from actorstream.actors.watch import Deathwatch
from actorstream.actors.window import SendWindow
from actorstream.actors.wire import ActorFrameKind, Need
from actorstream.errors import ActorDeadError, BrokenError, MailboxFullError

if TYPE_CHECKING:
    from actorstream.actors.link import PeerLink
    from actorstream.actors.system import System

_TELL = int(ActorFrameKind.TELL)
_ASK = int(ActorFrameKind.ASK)


class Parked:
    """A frame that waits for credit, and the future of its sender (`room`)."""

    __slots__ = ("done", "frame", "room")

    def __init__(self, frame: bytes, room: asyncio.Future[None]) -> None:
        self.frame = frame
        self.room = room
        self.done = room.done


class RemoteActor:
    """An actor of the other side under the number that this side gave it. `dead`: why it is, as far as is known;
    each one that has the name has its own `deathwatch`."""

    __slots__ = ("dead", "deathwatch", "link", "name", "number", "window")

    def __init__(self, link: PeerLink, number: int, name: str) -> None:
        self.link = link
        self.number = number
        self.name = name
        self.window = SendWindow()
        self.dead: str | None = None
        self.deathwatch = Deathwatch()

    def wait(self, start: int) -> Parked:
        """Takes the frame that begins at `start` back out of the link's buffer and lets it wait for credit."""
        link = self.link
        frame = link.outbox.cut(start)
        waiter = Parked(frame, link.system.loop.create_future())
        self.window.wait(len(frame), waiter)
        if len(self.window.waiting) == 1 and self.window.starved:
            link.control(Need(self.number))
        return waiter

    def give_up(self, waiter: Parked) -> None:
        if self.window.withdraw(waiter):
            self._admit()

    def credit(self, size: int) -> None:
        self.window.give(size)
        self._admit()

    def resize(self, limit: int) -> None:
        self.window.limit = limit
        self._admit()

    def died(self, reason: str) -> None:
        self.dead = reason
        self._fail_waiting(self.dead_error())
        self.deathwatch.tell(reason)

    def revived(self) -> None:
        """Another actor of that name has been spawned. Who watched the dead one has been told."""
        if self.dead is not None:
            self.dead, self.deathwatch = None, Deathwatch()

    def lost(self, error: Exception) -> None:
        """The link is gone."""
        self._fail_waiting(error)
        self.deathwatch.tell(str(error))

    def _admit(self) -> None:
        admitted = self.window.admit()
        for waiter in admitted:
            self.link.outbox.frames += waiter.frame
            waiter.room.set_result(None)
        if admitted:
            self.link.mark()
        if self.window.starved:
            self.link.control(Need(self.number))

    def _fail_waiting(self, error: Exception) -> None:
        for waiter in self.window.drain():
            if not waiter.done():
                waiter.room.set_exception(type(error)(str(error)))

    def dead_error(self) -> ActorDeadError:
        return ActorDeadError(f"actor {self.link.peer}/{self.name} is dead ({self.dead})")


class RemoteRef(ActorRef):
    """A ref to an actor of another system. It means whatever actor has that name there."""

    __slots__ = ("_actor", "_found", "_peer", "_system")

    def __init__(self, system: System, peer: str, actor: str) -> None:
        self.name = f"{peer}/{actor}"
        self._system = system
        self._peer = peer
        self._actor = actor
        self._found: RemoteActor | None = None

    @property
    def address(self) -> str:
        return self.name

    @property
    def life(self) -> object:
        try:
            return self._target().deathwatch
        except BrokenError:
            return None

    @property
    def alive(self) -> bool:
        try:
            return self._target().dead is None
        except BrokenError:
            return False

    def tell(self, message: Any) -> None:
        target = self._found
        if target is None or target.link.closed is not None or target.dead is not None:
            target = self._living()
        link = target.link
        outbox = link.outbox
        start = outbox.encode(_TELL, target.number, 0, message)
        size = len(outbox.frames) - start
        if not target.window.take(size):
            outbox.cut(start)
            window = target.window
            raise MailboxFullError(
                f"actor {self.name}: a message of {size} bytes finds {window.outstanding} of {window.limit} bytes "
                f"outstanding and {len(window.waiting)} senders waiting; `await ref.send(...)` waits for credit"
            )
        link.mark()

    async def send(self, message: Any) -> None:
        target = self._living()
        link = target.link
        start = link.outbox.encode(_TELL, target.number, 0, message)
        if target.window.take(len(link.outbox.frames) - start):
            link.mark()
            return
        waiter = target.wait(start)
        try:
            await waiter.room
        except BaseException:
            target.give_up(waiter)
            raise

    async def ask(self, message: Any, *, timeout: float | None = DEFAULT) -> Any:
        target = self._living()
        link = target.link
        number, reply = link.new_ask()
        waiter: Parked | None = None
        alarm = None
        try:
            start = link.outbox.encode(_ASK, target.number, number, message)
            if target.window.take(len(link.outbox.frames) - start):
                link.mark()
            else:
                waiter = target.wait(start)
            if timeout is DEFAULT:
                timeout = self._system.ask_timeout
            if timeout is not None:
                clock = self._system.clock
                room = waiter.room if waiter is not None else None
                alarm = clock.call_at(clock.time() + timeout, expire, self, message, timeout, room, reply)
            if waiter is not None:
                await waiter.room
            return await reply
        except BaseException:
            if waiter is not None:
                target.give_up(waiter)
            raise
        finally:
            if alarm is not None:
                alarm.cancel()
            link.pending.pop(number, None)

    async def stop(self) -> bool:
        target = self._target()
        if target.dead is not None:
            return False
        number, reply = target.link.new_ask()
        try:
            target.link.outbox.stop(target.number, number)
            target.link.mark()
            return bool(await reply)
        finally:
            target.link.pending.pop(number, None)

    def on_termination(self, callback: Callable[[str], None]) -> Callable[[], None]:
        try:
            target = self._target()
        except BrokenError as error:
            callback(str(error))
            return lambda: None
        if target.dead is not None:
            callback(target.dead)
            return lambda: None
        return target.deathwatch.add(callback)

    def _target(self) -> RemoteActor:
        target = self._found
        if target is None or target.link.closed is not None:
            target = self._found = self._system.link(self._peer).target(self._actor)
        return target

    def _living(self) -> RemoteActor:
        target = self._target()
        if target.dead is not None:
            raise target.dead_error()
        return target
