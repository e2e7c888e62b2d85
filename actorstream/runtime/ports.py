"""What a part of the engine asks of the part that owns it: a unit of its worker, a replica of its unit, a source of its
consumer. So that none of them knows the whole of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from actorstream.plan.job import Job
    from actorstream.runtime.alarms import Alarm, Alarms
    from actorstream.runtime.send_lane import SendLane
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

    @property
    def starting(self) -> bool: ...
    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...
    def ring(self, bit: int, /) -> None: ...
    def mark(self, unit: Any, /) -> None: ...
    def mark_later(self, unit: Any, seconds: float, /) -> Alarm: ...
    def ref(self, name: str) -> Any: ...
    def fail(self, error: BaseException) -> None: ...
    def unit_done(self, unit: Any) -> None: ...


class UnitPort(Protocol):
    """The unit, as its replicas and those who reach it through a replica see it (`runtime.unit.Unit`)."""

    worker: WorkerPort
    blocked: list[SendLane]
    paused: list[Any]
    may_pause: bool

    def set_timer(self, replica: Any, name: str, after: float, every: float | None) -> None: ...
    def cancel_timer(self, replica: Any, name: str) -> None: ...
    def await_soon(self, coroutine: Coroutine[Any, Any, None]) -> None: ...
    def kept_of(self, replica: Any) -> Any: ...


class Dispatching(Protocol):
    """A replica, as its hook that may pause sees it."""

    unit: Any
    paused: bool

    def dispatch(self) -> None: ...


class Startable(Protocol):
    """A replica, as what starts it sees it."""

    started: bool

    @property
    def call(self) -> Callable[..., Any]: ...


class Promising(Protocol):
    """A source, as a worker of a plan in its process sees it."""

    def hurry(self) -> None: ...
