"""Pausing: a hook that makes its output in portions pauses while an output of its unit is full, and goes on when there is
room. What its replica is given meanwhile waits, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from actorstream.runtime.ports import ReplicaPort, UnitPort


class PausedHooks:
    """The hooks of a unit's members that wait for room in an output.

    Attributes:
        allowed: whether hooks may wait for room: no order anywhere needs the promise that comes behind their rows.
        replicas: members with such a hook, those first that the others call.
    """

    __slots__ = ("_room", "_unit", "allowed", "replicas")

    def __init__(self, unit: UnitPort) -> None:
        self._unit = unit
        self.allowed = False
        self.replicas: list[ReplicaPort] = []
        self._room: asyncio.Future[None] | None = None
        """The end of the unit waits for it while a hook is paused."""

    def resume(self) -> bool:
        """Goes on with hooks that wait for room; returns whether none is left."""
        while self.replicas and not self._unit.blocked:
            waiting, self.replicas = self.replicas, []
            waiting[0].pausing.resume()
            self.replicas += waiting[1:]
        return not self.replicas

    async def wait_resumed(self) -> None:
        """Waits until no hook is paused, at the end of the unit."""
        while self.replicas:
            self._room = self._unit.worker.loop.create_future()
            self._unit.worker.mark(self._unit)
            await self._room
            self.resume()

    def tell_room(self) -> None:
        """Lets the end of the unit go on if it waits for room, and there is some."""
        if self._room is not None and not self._room.done() and self._unit.unblock():
            self._room.set_result(None)


class Pausing:
    """The hook of one replica that is paused, and what is to be done after it."""

    __slots__ = ("_done", "_later", "_portions", "_replica")

    def __init__(self, replica: ReplicaPort) -> None:
        self._replica = replica
        self._portions: Iterator[None] = iter(())
        self._done: Callable[[], object] | None = None
        self._later: deque[Callable[[], object]] = deque()

    def run(self, portions: Iterator[None], done: Callable[[], object]) -> bool:
        """Runs a hook by its portions, sends each, and calls `done`. False: the hook has paused, and `done` is called once
        the hook has ended. A unit that may not pause runs it to its end."""
        replica = self._replica
        unit = replica.unit
        for _ in portions:
            replica.dispatch()
            if unit is not None and unit.blocked and unit.paused.allowed:
                self._portions, self._done = portions, done
                replica.paused = True
                unit.paused.replicas.append(replica)
                return False
        done()
        return True

    def later(self, call: Callable[[], object]) -> None:
        """Calls `call` when the hook has ended, and what was to be called before."""
        self._later.append(call)

    def resume(self) -> None:
        """Goes on with the hook, then with what waits, until it is done or a hook pauses again."""
        replica, done, waiting = self._replica, self._done, self._later
        assert done is not None
        self._later = deque()
        replica.paused = False
        self.run(self._portions, done)
        while waiting and not replica.paused:
            waiting.popleft()()
        self._later.extend(waiting)
