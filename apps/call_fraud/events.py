"""What flows between the operators. Times are seconds, places km, speeds km/h."""

from __future__ import annotations

from actorstream import Event


class Call(Event):
    """A call data record: who called whom, and where."""

    time: int
    caller: int
    callee: int
    area: str
    x_km: float
    y_km: float
    duration: int


class Location(Event):
    """A phone was here then."""

    time: int
    phone: int
    x_km: float
    y_km: float


class Speed(Event):
    """How fast a phone must have been since its last location."""

    time: int
    phone: int
    speed_kmh: float


class Alert(Event):
    """How many suspect speeds a window of time has."""

    window_start: int
    count: int
