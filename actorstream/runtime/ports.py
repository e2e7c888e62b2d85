"""What a part of the engine asks of the part that owns it: a unit of its worker, a replica of its unit, a source of its
consumer. So that none of them knows the whole of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.native.alarms import Alarm, Alarms
    from actorstream.native.doorbell import Doorbell
    from actorstream.plan.job import Job
    from actorstream.runtime.async_hooks import AsyncHooks
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.pausing import PausedHooks
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.timers import UnitTimers
    from actorstream.transports.base import Transport


class WorkerPort(Protocol):
    """The worker, as units and what they are made of see it (`runtime.worker.Worker`)."""

    job: Job
    process: int
    transport: Transport | None
    alarms: Alarms
    turn_ns: int
    units: list[Any]
    by_bit: dict[int, Any]
    turns: Any
    barriers: Any
    loop: asyncio.AbstractEventLoop

    @property
    def starting(self) -> bool: ...
    def ring(self, bit: int, /) -> None: ...
    def mark(self, unit: Any, /) -> None: ...
    def mark_later(self, unit: Any, seconds: float, /) -> Alarm: ...
    def ref(self, name: str) -> Any: ...
    def fail(self, error: BaseException) -> None: ...
    def unit_done(self, unit: Any) -> None: ...


class UnitPort(Protocol):
    """The unit, as its replicas, timers and async hooks see it (`runtime.unit.Unit`)."""

    worker: WorkerPort
    head: Any
    timers: UnitTimers
    async_hooks: AsyncHooks
    blocked: list[SendLane]
    paused: PausedHooks
    closers: list[Callable[[], None]]
    done: bool

    def publish(self) -> None: ...
    def unblock(self) -> bool: ...
    def snapshot(self, replica: Any) -> Any: ...


class MergingUnit(UnitPort, Protocol):
    """A unit whose head merges several inputs, as those see it that call it past its channels (`OperatorUnit`)."""

    at_head: Any
    members: list[Any]
    merged: list[Any]
    static: Any

    def admits(self, lane: InLane) -> bool: ...
    def take(self, batch: Batch, lane: InLane) -> None: ...
    def came(self, entered: int) -> None: ...


class ReplicaPort(Protocol):
    """A replica, as the parts that it is made of see it (`runtime.replica.Replica`)."""

    actor: Any
    name: str
    replica: int
    outbox: Any
    failures: Any
    arena: Any
    schemas: Any
    stamp: Any
    unit: Any
    edges: dict[str, list[Any]]
    started: bool
    ended: bool
    paused: bool
    pausing: Any
    busy: int
    has_run: bool
    call: Callable[..., Any]
    unfit: Any

    def dispatch(self) -> None: ...


class EventTaker(Protocol):
    """A unit to which a source in its process gives single events directly."""

    def take_event(self, now: int) -> None: ...


class WatchingUnit(Protocol):
    """A unit that can wait for the next single event or message itself, as the turns of its worker see it."""

    ready: bool
    status: Any

    @property
    def wait(self) -> Callable[[Doorbell, int], list[int] | None]: ...
    def step(self) -> Any: ...


class Promising(Protocol):
    """A source, as a worker of a plan in its process sees it."""

    def hurry(self) -> None: ...
