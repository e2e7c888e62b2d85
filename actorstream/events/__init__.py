"""Events, their schemas, and batches of them as rows, columns and bytes. Knows nothing of actors and channels."""

from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.event import (
    Event,
    EventDatetime,
    EventTime,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from actorstream.events.fields import Field, Kind
from actorstream.events.jumbo import JumboTuple, decode, encode, from_bytes, to_bytes
from actorstream.events.schema import Schema
from actorstream.events.writable import WritableBatch, allocate

__all__ = [
    "Batch",
    "Column",
    "Event",
    "EventDatetime",
    "EventTime",
    "Field",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "JumboTuple",
    "Kind",
    "Schema",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "WritableBatch",
    "allocate",
    "decode",
    "encode",
    "from_bytes",
    "to_bytes",
]
