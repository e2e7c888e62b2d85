"""Event time at one replica: its actor hears how far the input is, and the replica promises what the actor promises."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import Actor
from actorstream.actors.operator_errors import promised
from actorstream.transports.base import FRONTIER_MIN
from actorstream.windows.watermark import AT_END

if TYPE_CHECKING:
    from actorstream.runtime.ports import ReplicaPort


class Promises:
    """The event time that one replica has heard and promised.

    Attributes:
        frontier: how far the input is.
        holds_back: whether the actor may promise less than its input, since it holds rows back.
    """

    __slots__ = ("_answered", "_has_end", "_listens", "_promised", "_replica", "frontier", "holds_back")

    def __init__(self, replica: ReplicaPort) -> None:
        cls = type(replica.actor)
        self._replica = replica
        self._listens = cls.on_heartbeat is not Actor.on_heartbeat
        self._has_end = cls.on_end is not Actor.on_end
        self.holds_back = cls.promise is not Actor.promise
        self.frontier = self._answered = self._promised = FRONTIER_MIN
        """How far the input is, how far it was when the actor promised last, and what the actor promised then."""

    def advance(self, frontier: int) -> None:
        """The input's frontier rose: tells the actor if it listens, then promises the same on every output."""
        if frontier <= self.frontier:
            return
        replica = self._replica
        if replica.paused:
            replica.pausing.later(partial(self.advance, frontier))
            return
        if replica.stamp is not None:
            replica.stamp.rises()
        self.frontier = frontier
        coroutine = replica.call("on_heartbeat", frontier) if self._listens else None
        if replica.paused:
            replica.pausing.later(partial(self._promise, frontier))
        elif coroutine is None:
            self._promise(frontier)
        elif replica.unit is not None:
            replica.unit.async_hooks.due.append(self._promise_after(coroutine, frontier))

    async def _promise_after(self, coroutine: Any, frontier: int) -> None:
        await coroutine
        self._promise(frontier)

    def _promise(self, frontier: int) -> None:
        if frontier > AT_END and self._has_end and not self._replica.ended:
            return  # the last rows are still to come; `end` promises behind them
        self._answered = frontier
        if self._replica.stamp is None:
            self.send(self.of(frontier))
        else:
            self._replica.stamp.promise(frontier)

    def end(self) -> None:
        """`on_end` has run, or ran before the checkpoint: the end of event time is promised behind its rows."""
        if self._has_end and self.frontier > AT_END:
            self._promise(self.frontier)

    def renew(self) -> None:
        """Promises what the actor can promise now if a hook has raised that without its input: rows that it held back have gone.
        Event time that travels among the rows rises at the same rows in every run, so it waits for the input."""
        replica = self._replica
        if (
            not replica.has_run
            or self._answered == FRONTIER_MIN
            or (replica.stamp is not None and replica.stamp.in_band)
        ):
            return
        replica.has_run = False
        if promised(replica.name, replica.replica, replica.actor.promise, self._answered) > self._promised:
            self._promise(self._answered)

    def of(self, frontier: int) -> int:
        """What the actor can promise when its input is at `frontier`."""
        replica = self._replica
        self._promised = frontier
        if self.holds_back:
            self._promised = promised(replica.name, replica.replica, replica.actor.promise, frontier)
        return self._promised

    def send(self, frontier: int) -> None:
        """Promises event time on every output."""
        for edges in self._replica.edges.values():
            for edge in edges:
                edge.advance(frontier)
