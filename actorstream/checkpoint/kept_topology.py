"""Compares the topology that made a checkpoint with the one that is to go on from it, and says in words what differs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from actorstream.errors import Problem

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.topology.graph import Edge, Graph, GraphActor

Parts = dict[str, str]
"""Parts of one actor that must stay as they are, as text: {"its type": "aggregate", "key window": "{'size': …}"}."""
_MOST_SHOWN = 400


def parts_of(graph: Graph) -> dict[str, Parts]:
    """The parts of each actor: type, inputs, outputs, and its keys if its class says so (`Contract.keeps_by_keys`)."""
    return {actor.name: _parts(actor) for actor in graph.actors.values()}


def _parts(actor: GraphActor) -> Parts:
    found = {"its type": actor.type_name}
    found |= {f"input {rank}": _input(edge) for rank, edge in enumerate(actor.inputs)}
    own = {name: schema for name, schema in actor.outputs.items() if name not in ("late", "dead")}
    found |= {f"output {name}": _fields(schema) for name, schema in own.items()}
    contract = actor.contract
    if contract.keeps_by_keys:
        found |= {
            f"key {name}": repr(_plain(value))
            for name, value in actor.keys.items()
            if name not in contract.varied and name not in contract.free_keys
        }
    return found


def _input(edge: Edge) -> str:
    bounds = f", bounds {edge.bounds!r}" if edge.bounds else ""
    return f"{edge.source} as {edge.name}, {edge.how}{bounds}"


def _fields(schema: Schema) -> str:
    time = f", event time {schema.event_time} ({schema.time_unit})" if schema.event_time else ""
    return f"{{{', '.join(map(str, schema.fields))}}}{time}"


def _plain(value: Any) -> Any:
    """A value whose `repr` is the same in every process: functions and classes become their names, others that of their class."""
    if isinstance(value, Mapping):
        return {
            str(name): _plain(each) for name, each in sorted(value.items(), key=lambda item: str(item[0]))
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [
            _plain(each) for each in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)
        ]
    if value is None or isinstance(value, bool | int | float | str | bytes | date | time):
        return value
    if isinstance(value, timedelta | PurePath):
        return str(value)
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}:{named.__qualname__}"


def differences(kept: Mapping[str, Parts], now: Mapping[str, Parts], where: str) -> list[Problem]:
    """A problem for each part that an actor of both topologies has otherwise. `where`: the store, for the messages."""
    found = []
    for name in (each for each in now if each in kept):
        before, after = kept[name], now[name]
        for what in sorted(before.keys() | after.keys()):
            old, new = before.get(what), after.get(what)
            if old != new:
                found.append(
                    Problem(
                        where,
                        f"actor {name!r}: {what} is {_short(new)}, and was {_short(old)} when the checkpoint was made",
                        "what it was",
                        "set it back, or start anew without --resume",
                    )
                )
    return found


def _short(text: str | None) -> str:
    if text is None:
        return "not there"
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "..."
