"""The timers that a unit's members have set. One that has fired waits until the unit's next turn runs its hook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from actorstream.runtime.ports import UnitPort


class UnitTimers:
    """Those of one unit, by replica and name. A timer that fires again before its hook has run counts once."""

    __slots__ = ("_handles", "_unit", "fired")

    def __init__(self, unit: UnitPort) -> None:
        self._unit = unit
        self._handles: dict[tuple[Any, str], asyncio.TimerHandle] = {}
        self.fired: dict[tuple[Any, str], None] = {}
        """UnitTimers whose hooks are due, in order."""

    def set(self, replica: Any, name: str, after: float, every: float | None) -> None:
        """Starts a timer, in place of one of that name."""
        self.cancel(replica, name)
        self._start(replica, name, after, every)

    def cancel(self, replica: Any, name: str) -> None:
        """Stops a timer; its hook is not due any more."""
        self.fired.pop((replica, name), None)
        handle = self._handles.pop((replica, name), None)
        if handle is not None:
            handle.cancel()

    def run(self) -> None:
        """Calls the hooks that are due, until one of them awaits or pauses."""
        hooks = self._unit.async_hooks
        while self.fired and not hooks.due and not self._unit.paused.replicas:
            replica, name = next(iter(self.fired))
            del self.fired[replica, name]
            coroutine = replica.call("on_timer", name)
            if coroutine is not None:
                hooks.due.append(coroutine)

    def stop(self) -> None:
        """Stops all timers."""
        for handle in self._handles.values():
            handle.cancel()
        self._handles.clear()

    def _start(self, replica: Any, name: str, delay: float, every: float | None) -> None:
        loop = self._unit.worker.loop
        self._handles[replica, name] = loop.call_later(delay, self._fire, replica, name, every)

    def _fire(self, replica: Any, name: str, every: float | None) -> None:
        del self._handles[replica, name]
        if self._unit.done:
            return
        self.fired[replica, name] = None
        if every is not None:
            self._start(replica, name, every, every)
        self._unit.worker.mark(self._unit)
