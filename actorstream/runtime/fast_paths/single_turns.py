"""Turns of an operator's unit that only run the hook on single events, straight from the lanes that bring them."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.runtime.unit import Status

if TYPE_CHECKING:
    from actorstream.native.doorbell import Doorbell
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.operator_unit import OperatorUnit


class SingleTurns:
    """The single events of one unit, whose input has no order and whose hooks are plain."""

    def __init__(self, unit: OperatorUnit) -> None:
        self._unit = unit
        self._lanes = [lane for lane in unit.in_lanes if lane.single is not None]
        self._watched: InLane | None = None
        """The lane that brought the last single event, if the worker can wait for its next one."""

    @classmethod
    def of(cls, unit: OperatorUnit) -> SingleTurns | None:
        """Those of a unit; None: its events cannot go from a lane to the hook directly."""
        head = unit.head
        calls = [head.calls[lane.input] for lane in unit.in_lanes]
        if (
            not unit.inbox.passes_singles
            or head.descent is not None
            or all(lane.single is None for lane in unit.in_lanes)
            or any(call.takes_batch or call.is_async for call in calls)
        ):
            return None
        return cls(unit)

    def take(self) -> Status | None:
        """Runs the hook on single events at the heads of lanes. None: there is none; READY: more waits."""
        unit, found = self._unit, False
        calls = unit.head.calls
        for lane in self._lanes:
            if lane.held or lane.ended:
                continue
            taken = lane.single()  # type: ignore[misc] # these lanes have it
            if taken is not None:
                found = True
                event, entered, began = taken
                unit.head.context.input, started = lane.input, monotonic_ns()
                more = calls[lane.input].run_one(event)  # type: ignore[union-attr]
                if not self._ran(lane, started, more, entered, began):
                    break
        return self._after() if found else None

    def wait(self, bell: Doorbell, ns: int) -> list[int] | None:
        """Returns what rings `bell` within `ns`. None: the lane that brought the last single event has brought another one;
        the hook has run on it before anything else was done, and `status` of the unit is that of the turn."""
        lane, unit = self._watched, self._unit
        if lane is None or lane.held or lane.ended or unit.events or unit.ready or not unit.is_free:
            return bell.wait(ns) if ns else bell.collect()
        watch, head = lane.watch, unit.head
        head.context.input, run_one = lane.input, head.calls[lane.input].run_one  # type: ignore[union-attr]
        found = watch.wait(ns)  # type: ignore[union-attr]
        if type(found) is list:
            return found
        started = monotonic_ns()
        more = run_one(found)
        _, entered, began = watch.marks()  # type: ignore[union-attr]
        self._ran(lane, started, more, entered, began)
        unit.status = unit.settle_turn(self._after())
        return None

    def _ran(self, lane: InLane, started: int, more: Any, entered: int, began: int) -> bool:
        """The hook has run on an event since `started`, and answered `more`: counts the event, and sends on what the hook
        returned. Returns whether the hook has ended. `entered`, `began`: when the event entered, and when its processing
        began, 0 if only now."""
        unit, ended = self._unit, monotonic_ns()
        head = unit.head
        head.count_input(1, entered, entered, began or started)
        head.execute_ns += ended - started
        unit.aged_ns += started - entered
        lane.taken += 1
        head.finish(1)
        unit.count_wait(started)
        turns = unit.worker.turns
        if lane.watch is not None and turns.watches:
            self._watched, turns.watched = lane, unit
        return more is None or head.pausing.run(more, head.dispatch)

    def _after(self) -> Status:
        unit = self._unit
        unit.follow(resting=False)
        waits = any(not (lane.held or lane.ended) and lane.head() is not None for lane in unit.in_lanes)
        return Status.READY if waits or unit.async_hooks.due else Status.IDLE
