"""actorstream: streaming dataflows as asyncio actors, at the speed of C.

Everything public is imported from here, on first use; importing the package starts nothing and touches no event loop.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "Actor": "actors.actor",
    "Contract": "actors.contract",
    "ActorRef": "actors.ref",
    "System": "actors.system",
    "Batch": "events.batch",
    "Event": "events.event",
    "Schema": "events.schema",
    "Int8": "events.event",
    "Int16": "events.event",
    "Int32": "events.event",
    "Int64": "events.event",
    "UInt8": "events.event",
    "UInt16": "events.event",
    "UInt32": "events.event",
    "UInt64": "events.event",
    "Float32": "events.event",
    "Float64": "events.event",
    "EventTime": "events.event",
    "Source": "connectors.source",
    "Position": "connectors.position",
    "SourceKeys": "connectors.source_keys",
    "InterleavedSource": "connectors.interleaved",
    "NumberedSource": "connectors.numbered",
    "Sink": "connectors.sink",
    "MapAsync": "operators.map_async",
    "map_async": "operators.map_async",
    "Topology": "topology.builder",
    "RunResult": "launch.run",
    "CompileError": "native.c_module",
    "NativeAggregate": "operators.native_aggregate",
    "NativeFunction": "operators.functions",
    "compile_c": "native.c_module",
}

if TYPE_CHECKING:
    from actorstream.actors.actor import Actor as Actor
    from actorstream.actors.contract import Contract as Contract
    from actorstream.actors.ref import ActorRef as ActorRef
    from actorstream.actors.system import System as System
    from actorstream.connectors.interleaved import InterleavedSource as InterleavedSource
    from actorstream.connectors.numbered import NumberedSource as NumberedSource
    from actorstream.connectors.position import Position as Position
    from actorstream.connectors.sink import Sink as Sink
    from actorstream.connectors.source import Source as Source
    from actorstream.connectors.source_keys import SourceKeys as SourceKeys
    from actorstream.events.batch import Batch as Batch
    from actorstream.events.event import (
        Event as Event,
    )
    from actorstream.events.event import (
        EventTime as EventTime,
    )
    from actorstream.events.event import (
        Float32 as Float32,
    )
    from actorstream.events.event import (
        Float64 as Float64,
    )
    from actorstream.events.event import (
        Int8 as Int8,
    )
    from actorstream.events.event import (
        Int16 as Int16,
    )
    from actorstream.events.event import (
        Int32 as Int32,
    )
    from actorstream.events.event import (
        Int64 as Int64,
    )
    from actorstream.events.event import (
        UInt8 as UInt8,
    )
    from actorstream.events.event import (
        UInt16 as UInt16,
    )
    from actorstream.events.event import (
        UInt32 as UInt32,
    )
    from actorstream.events.event import (
        UInt64 as UInt64,
    )
    from actorstream.events.schema import Schema as Schema
    from actorstream.launch.run import RunResult as RunResult
    from actorstream.native.c_module import CompileError as CompileError
    from actorstream.native.c_module import compile_c as compile_c
    from actorstream.operators.functions import NativeFunction as NativeFunction
    from actorstream.operators.map_async import MapAsync as MapAsync
    from actorstream.operators.map_async import map_async as map_async
    from actorstream.operators.native_aggregate import NativeAggregate as NativeAggregate
    from actorstream.topology.builder import Topology as Topology

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
