"""Event: the typed row that user code sees, and the aliases that name the width of its fields.

Knows nothing of columns: how an annotation becomes a column is annotation.py's business.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, dataclass_transform

import msgspec
from msgspec import StructMeta

from actorstream.events.fields import Kind
from actorstream.native.vectorcall import inherit_vectorcall


class EventTimeMark:
    """Marks the annotation of the field that holds the event time."""

    def __repr__(self) -> str:
        return "EVENT_TIME"


EVENT_TIME = EventTimeMark()

Int8 = Annotated[int, Kind.INT8]
Int16 = Annotated[int, Kind.INT16]
Int32 = Annotated[int, Kind.INT32]
Int64 = Annotated[int, Kind.INT64]
UInt8 = Annotated[int, Kind.UINT8]
UInt16 = Annotated[int, Kind.UINT16]
UInt32 = Annotated[int, Kind.UINT32]
UInt64 = Annotated[int, Kind.UINT64]
Float32 = Annotated[float, Kind.FLOAT32]
Float64 = Annotated[float, Kind.FLOAT64]
EventTime = Annotated[int, EVENT_TIME]
"""An int64 field that is the event time, in the class's `time_unit`."""
EventDatetime = Annotated[datetime, EVENT_TIME]
"""A datetime field that is the event time (its unit is microseconds)."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class EventMeta(StructMeta):
    """Adds the class keywords `event_time` and `time_unit` to those of msgspec.Struct."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        event_time: str | None = None,
        time_unit: str | None = None,
        **options: Any,
    ) -> Any:
        if event_time is not None:
            namespace["__event_time__"] = event_time
        if time_unit is not None:
            namespace["__time_unit__"] = time_unit
        return super().__new__(mcls, name, bases, namespace, **options)


inherit_vectorcall(EventMeta)


class Event(msgspec.Struct, metaclass=EventMeta, frozen=True, gc=False):
    """Base class of events: immutable, typed, passed by reference inside a process.

    Fields are int (int64) or `Int8` ... `UInt64`, float (float64) or `Float32`, bool, str, bytes, datetime (aware;
    kept as UTC microseconds), Literal or Enum (a dictionary code), any of them `| None`; every other type msgspec can
    decode travels as msgpack. One field may be the event time: ``class Bid(Event, event_time="ts")``, a field
    annotated `EventTime` or `EventDatetime`, or the class attribute ``__event_time__ = "ts"``. The unit of an integer
    event time is `time_unit`: "s", "ms" (unless set), "us" or "ns".
    """

    __event_time__: ClassVar[str | None] = None
    __time_unit__: ClassVar[str | None] = None
    __schema__: ClassVar[Any] = None
