"""What is compared of each sink, and how. Pure: a checked graph is looked at, nothing is run."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

import msgspec

from actorstream.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Collection

    from actorstream.topology.graph import Graph, GraphActor
    from actorstream.verify.comparison import How

ORDERED = ("serial", "timestamp")
"""Orders in which an actor sees one sequence, whatever the deployment."""
FIXED_ROUTES = ("key", "range", "broadcast", "global")
"""Routes that give a row to the same replica however rows are batched."""


class SinkOutput(msgspec.Struct, frozen=True):
    """What a sink leaves behind.

    Attributes:
        sink: its actor.
        kind: a file (or folder of parts), lines on standard output, or events in memory.
        how: as what its rows are compared; of a folder of parts, each of them if `each`, else all together.
        name: of the file or folder, as the topology calls it.
        header: whether the first line is none of the rows.
        format: of the rows: csv records, lines, or those of a Parquet file.
    """

    sink: str
    kind: Literal["file", "console", "memory"]
    how: How
    name: str = ""
    each: bool = False
    header: bool = False
    format: Literal["csv", "lines", "parquet"] = "lines"


def outputs(
    graph: Graph, *, memory: bool, no_console: str = "", skip: Collection[str] = ()
) -> tuple[list[SinkOutput], list[str], list[Problem]]:
    """What is compared; notes on sinks that are not; and problems of those that must not run several times.

    memory: whether events of in-memory sinks can be had (of a topology built in Python).
    no_console: why the lines of console-sinks are not compared; "": they are."""
    found: list[SinkOutput] = []
    notes: list[str] = []
    problems = [
        Problem("--skip", f"{name!r} is no sink", ", ".join(each.name for each in graph.sinks()))
        for name in skip
        if name not in {each.name for each in graph.sinks()}
    ]
    consoles = [each.name for each in graph.sinks() if each.contract.destination == "console"]
    for sink in graph.sinks():
        if sink.name in skip or sink.contract.destination == "nowhere":
            notes.append(f"{sink.name} is not compared")
        elif sink.contract.destination == "console" and no_console:
            notes.append(f"{sink.name} is not compared: {no_console}")
        elif sink.contract.destination == "console":
            alone = consoles == [sink.name] and sink.replicas == 1
            how: How = "sequence" if alone and is_settled(graph, sink.name) else "multiset"
            if sink.name == consoles[0]:
                found.append(SinkOutput(" and ".join(consoles), "console", how))
        elif sink.contract.destination == "caller":
            if memory:
                found.append(SinkOutput(sink.name, "memory", _how(graph, sink)))
            else:
                notes.append(
                    f"{sink.name} is not compared: its rows are only there for who runs it in Python"
                )
        elif "path" in sink.keys:
            found.append(_file(graph, sink))
        else:
            problems.append(
                Problem(
                    f"actors.{sink.name}",
                    f"{sink.type_name!r} has no key path, so verify cannot redirect its output",
                    "sinks that write a file, console-sink, null-sink",
                    f"with --skip {sink.name} it takes part in every run and is not compared",
                )
            )
    return found, notes, problems


def _how(graph: Graph, sink: GraphActor) -> How:
    return "sequence" if is_settled(graph, sink.name) else "multiset"


def _file(graph: Graph, sink: GraphActor) -> SinkOutput:
    name = PurePath(sink.keys["path"]).name
    format = sink.contract.file_format
    parts = sink.replicas > 1
    each = parts and all(
        edge.route in FIXED_ROUTES and (edge.order in ORDERED or _is_only(graph, sink))
        for edge in sink.inputs
    )
    return SinkOutput(
        sink.name,
        "file",
        "sequence" if each or (not parts and is_settled(graph, sink.name)) else "multiset",
        name,
        each,
        header=format == "csv" and bool(sink.keys.get("header", True)),
        format=format,
    )


def is_settled(graph: Graph, name: str) -> bool:
    """Whether an actor with one replica sees one sequence whatever the deployment: its inputs say so, or there is one
    channel into it, from an actor that itself sees one, and so on up to a source."""
    actor = graph.actors[name]
    if actor.replicas != 1 or actor.auto:
        return False
    flows = [edge for edge in actor.inputs if not edge.static]
    if all(edge.order in ORDERED for edge in flows):
        return True
    return _is_only(graph, actor)


def _is_only(graph: Graph, actor: GraphActor) -> bool:
    flows = [edge for edge in actor.inputs if not edge.static]
    if len(flows) != 1 or flows[0].order == "dependency":  # which lets independent rows pass each other
        return False
    producer = graph.actors[flows[0].producer]
    return _sorts(producer, flows[0].output) or (
        is_settled(graph, producer.name) and not _by_time(producer, flows[0].order)
    )


def _sorts(actor: GraphActor, output: str) -> bool:
    """Whether an actor's rows have an order of their own, however its input comes."""
    return actor.contract.sorts and actor.replicas == 1 and not actor.auto and output == "default"


def _by_time(actor: GraphActor, order: str) -> bool:
    """Whether where an actor's rows stand among each other depends on when it is told something."""
    if order in ORDERED:
        return False
    if actor.contract.timely is not None:
        return actor.contract.timely
    return any(_overrides(actor.cls, hook) for hook in ("on_timer", "on_heartbeat"))


def _overrides(cls: type, hook: str) -> bool:
    for base in cls.__mro__:
        if hook in vars(base):
            return base.__module__ != "actorstream.actors.actor"
    return False
