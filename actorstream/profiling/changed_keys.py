"""Decides how a topology is changed while it is profiled. Its built-in sinks write into a temporary folder or keep nothing, and
its built-in sources make rows without pace and without end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.connectors.null import NullSink
from actorstream.connectors.source import Source
from actorstream.profiling.stages import is_table
from actorstream.topology.graph import Graph
from actorstream.topology.keywords import constructor_keywords

if TYPE_CHECKING:
    from actorstream.topology.graph import GraphActor

FOLDER: dict[str, Any] = {"format": "parquet", "table": None, "catalog": None, "mode": "overwrite"}
"""Keys of a spark-sink that writes a folder and no table: the table of a catalog is not where the sink's path leads, and
`deltalake` does not work in processes that are forked after the sample was taken. `overwrite`: the folder has files of the
measurement before."""


def quiet(graph: Graph) -> Graph:
    """The graph with sinks that take rows and keep nothing in place of those that print, and of those that keep all rows for the
    caller of a run: a measurement has no end."""
    actors = {
        name: msgspec.structs.replace(actor, cls=NullSink, keys={})
        if actor.contract.destination in ("console", "caller")
        else actor
        for name, actor in graph.actors.items()
    }
    return Graph(graph.name, actors, graph.edges, graph.file, graph.root)


def changed_keys(
    graph: Graph,
    names: Sequence[str],
    folder: Path,
    replicas: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, dict[str, Any]]:
    """The keys to change, by actor: a built-in source has no pace and no count, and a file goes to `folder`.

    `replicas`: of actors that have several. Their path is another one: one replica writes a file, several a folder of files."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        actor = graph.actors[name]
        if actor.role == "source" and ":" not in actor.type_name:
            found[name] = {key: None for key in ("rate", "count") if key in actor.keys}
        elif actor.role == "sink" and "path" in actor.keys:
            parts = ".parts" if replicas.get(name, 1) > 1 else ""
            found[name] = {"path": folder / f"{name}{parts}.{Path(str(actor.keys['path'])).name}"}
            if actor.type_name == "spark-sink":
                found[name] |= FOLDER
    return found


def endless(
    graph: Graph, names: Sequence[str], changed: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The changed keys, with sources that begin again at their end; not those that are read as a table, whose end is waited
    for."""
    again = {
        name: {"repeat": 0} for name in names if has_repeat(graph.actors[name]) and not is_table(graph, name)
    }
    return {name: {**changed.get(name, {}), **again.get(name, {})} for name in {**changed, **again}}


def has_repeat(actor: GraphActor) -> bool:
    """Whether a source can be told to begin again at its end."""
    ours = ":" not in actor.type_name or actor.cls.__init__ is Source.__init__  # type: ignore[misc]
    return actor.role == "source" and ours and "repeat" in constructor_keywords(actor.cls)[0]
