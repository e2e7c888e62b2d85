"""Timestamp order through the graph: whose input must be in that order too, and what tells tied rows apart. Pure.

An actor with `order = "timestamp"` sees its rows in the total order (event time, rank of the input, origin, position,
ordinals): viper-scalegate section 3, made strict for ties. For that

* everything between the sources and that input gets timestamp input, written or implied: who takes rows in order can
  send them in order, and promise what follows.
* rows of one input that come from several replicas are told apart where their times tie. They carry `_origin` and
  `_position`, which a source gives them, or an actor with one replica, whose output is a sequence by itself; and an
  `_ordinal` of each actor in between whose rows are spread once more.
* what actors with several replicas fire at a heartbeat (windows) descends from no single row: ties among such rows are
  ordered by what is in them, (window start, key), field by field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from actorstream.topology.event_time import timed_inputs
from actorstream.topology.graph import Edge, Graph, GraphActor
from actorstream.topology.schemas import keyed_by
from actorstream.topology.serial import BASE, ORDINAL, POSITION, rows_reach

if TYPE_CHECKING:
    from actorstream.topology.written import Written

TIMESTAMP = "timestamp"
ORIGIN = "_origin"
LATE_OUTPUTS = ("late", "late_right")
"""Outputs of late rows: a join whose inputs have other fields has one for each."""
MOST_TIES = 8
"""Columns that can tell tied rows apart (native/merge.py)."""
PARTITIONS = 1 << 20
"""Origins that each source has room for."""


class Sequenced(msgspec.Struct, frozen=True):
    """How an actor says the order of the rows that it emits into a timestamp region.

    Attributes:
        outputs: those with consumers that need them in order.
        places: whether it gives its rows new places: a source, or one replica that sees a single sequence.
        offsets: by rank of the input, what is added to `_origin`, so that tied rows stay in the order of the inputs.
        ordinal: the column in which it counts its rows, "" if it need not.
        columns: what its rows carry on the edges of the region.
        by_value: whether tied rows are told apart by what is in them.
        tie_fields: by which of their fields, after the bounds of a window; rows that are alike in these come from one replica,
            and stay as it has emitted them. (): by all.
        fires: whether it emits rows when event time passes, or holds some back, so that they are sorted before they go.
        sorts_ties: whether those of one time are put in the order of `tie_fields` then, since they came out one by one.
    """

    outputs: frozenset[str]
    places: bool
    offsets: tuple[int, ...]
    ordinal: str
    columns: tuple[str, ...]
    by_value: bool
    tie_fields: tuple[str, ...]
    fires: bool
    sorts_ties: bool = False


class TimestampPlan(msgspec.Struct, frozen=True):
    """Timestamp order of a whole graph.

    Attributes:
        edges: numbers of the edges in that order.
        producers: actor -> how it says the order of what it emits.
    """

    edges: frozenset[int] = frozenset()
    producers: dict[str, Sequenced] = {}


def timestamp_plan(graph: Graph) -> TimestampPlan:
    """The timestamp order of a checked graph; empty if nobody asks for it."""
    if not any(edge.order == TIMESTAMP for edge in graph.edges):
        return TimestampPlan()
    return _Region(graph.actors).plan()


def imply_timestamp(
    actors: dict[str, GraphActor], written: Written, problems: list[Any], inputs: Mapping[str, Any]
) -> None:
    """Makes the order of edges timestamp that must be, and adds a problem for each order that cannot be.

    inputs: actor -> paths of its inputs as written, by rank."""
    region = _Region(actors)
    if not region.edges:
        return
    for edge, message, allowed, hint in region.refused():
        problems.append(
            written.problem((*inputs[edge.consumer][edge.input], "order"), message, allowed, hint)
        )
    for actor in actors.values():
        actor.inputs[:] = [
            replace(edge, order=TIMESTAMP, implied=True)
            if edge.index in region.edges and edge.order == "none"
            else edge
            for edge in actor.inputs
        ]


def fires(actor: GraphActor) -> bool:
    """Whether an actor emits rows at a heartbeat, or promises less than its input does and does not say that its
    rows descend from those of the input, in their order."""
    hooks = ("on_heartbeat",) if actor.contract.emits_in_order else ("on_heartbeat", "promise")
    return any(hook in vars(base) and base.__module__ != BASE for base in actor.cls.__mro__ for hook in hooks)


class _Region:
    """The edges in timestamp order: those that say so, and all upstream of them."""

    def __init__(self, actors: Mapping[str, GraphActor]) -> None:
        self.actors = actors
        self.ranks = {name: rank for rank, name in enumerate(actors)}
        self.edges: dict[int, Edge] = {}
        self.asked: dict[int, Edge] = {}
        """Edge of the region -> the written one downstream of it."""
        for name in reversed(list(actors)):
            for edge in actors[name].inputs:
                if edge.order == TIMESTAMP and not edge.implied:
                    self._walk(edge, edge)
        self.outputs: dict[str, list[Edge]] = {}
        for edge in self.edges.values():
            self.outputs.setdefault(edge.producer, []).append(edge)

    def _walk(self, first: Edge, asked: Edge) -> None:
        """Takes in an edge, then what is upstream of it, the first input before the others."""
        waiting = [first]
        while waiting:
            edge = waiting.pop()
            if edge.index not in self.edges:
                self.edges[edge.index], self.asked[edge.index] = edge, asked
                waiting += reversed(self.ordered(edge.producer))

    def ordered(self, name: str) -> list[Edge]:
        """Inputs of an actor that are one timestamp sequence: those that say so, else all that are streams."""
        flows = [edge for edge in self.actors[name].inputs if not edge.static]
        return [edge for edge in flows if edge.order == TIMESTAMP and not edge.implied] or flows

    # -- what cannot be

    def refused(self) -> list[tuple[Edge, str, str, str]]:
        """(edge, message, allowed, hint) of what cannot be in timestamp order."""
        found: list[tuple[Edge, str, str, str]] = []
        for edge in self.edges.values():
            producer, asked = self.actors[edge.producer], self.asked[edge.index]
            way = "" if edge is asked else f", on the way to {asked.consumer!r}"
            if edge.output == "dead" or not producer.timed:
                hint = 'say event_time = "FIELD" at the source, or annotate the field as EventTime'
                found.append(
                    (
                        asked,
                        f"the rows of {edge.source!r}{way} have no event time",
                        "rows with an event time",
                        hint,
                    )
                )
            elif edge.output in LATE_OUTPUTS:
                message = f"the rows of {edge.source!r}{way} are late: their event times do not ascend"
                found.append(
                    (asked, message, 'order = "none" for late rows', "give them a consumer of their own")
                )
            if edge.order not in ("none", TIMESTAMP):
                message = (
                    f"{edge.consumer!r}, on the way to {asked.consumer!r}, has input in {edge.order} order"
                )
                allowed, hint = "timestamp order, or none, there", ""
                if edge.order == "dependency":
                    allowed = 'order = "none" behind a program'
                    hint = "outputs of dependent events come in their order; those of independent events as they come"
                if (asked, message, allowed, hint) not in found:  # of another input of the same actor
                    found.append((asked, message, allowed, hint))
        for name in {edge.consumer for edge in self.edges.values()}:
            self._check_units(name, found)
            self._check_sides(self.actors[name], found)
        numbering = {
            edge.producer for each in self.actors.values() for edge in each.inputs if edge.order == "serial"
        }
        for name in sorted(numbering & self.outputs.keys()):
            asked = self.asked[self.outputs[name][0].index]
            message = f"{name!r} has consumers in serial order too"
            found.append((asked, message, "one of the two orders for all that comes of an actor", ""))
        if not found:
            self._check_ties(found)
        return found

    def _check_ties(self, found: list[tuple[Edge, str, str, str]]) -> None:
        for name, producer in self.plan().producers.items():
            if len(producer.columns) > MOST_TIES:
                edge = next(edge for edge in self.edges.values() if edge.producer == name)
                message = (
                    f"rows of {name!r} come through {len(producer.columns) - 2} actors with several replicas whose rows "
                    "are spread once more"
                )
                hint = "replicas = 1 for one of them, which then counts its rows anew"
                found.append((self.asked[edge.index], message, f"up to {MOST_TIES - 2}", hint))

    def _check_units(self, name: str, found: list[tuple[Edge, str, str, str]]) -> None:
        edges = [edge for edge in self.actors[name].inputs if edge.index in self.edges]
        units: dict[str, Edge] = {}
        for edge in edges:
            schema = self.actors[edge.producer].outputs.get(edge.output)
            if schema is not None:
                units.setdefault(schema.time_unit, edge)
        if len(units) > 1:
            said = " and ".join(f"{edge.source!r} in {unit}" for unit, edge in units.items())
            message = f"the inputs of {name!r} have event times in different units: {said}"
            found.append(
                (
                    self.asked[edges[0].index],
                    message,
                    "one time_unit",
                    "an actor of yours whose output class has the other __time_unit__ converts one of them",
                )
            )

    def _check_sides(self, actor: GraphActor, found: list[tuple[Edge, str, str, str]]) -> None:
        """An actor hears the event time of its sequence alone, which says nothing of rows that come beside it."""
        if not actor.contract.uses_event_time:
            return
        for edge in timed_inputs(actor, self.actors):
            if edge.index not in self.edges and edge.order == "none":
                message = (
                    f"{actor.name!r} goes by event time and has other inputs in timestamp order, so that rows of "
                    f"{edge.source!r} would be late"
                )
                hint = f'say order = "timestamp" at {edge.source!r} too, or at no input of {actor.name!r}'
                if edge.output in LATE_OUTPUTS:
                    hint = "give late rows a consumer of their own"
                found.append((edge, message, "one order for all its inputs", hint))

    # -- what rows carry

    def plan(self) -> TimestampPlan:
        by_value = self._by_value()
        places = {
            name
            for name in self.outputs
            if self.actors[name].role == "source"
            or (self.actors[name].replicas == 1 and name not in by_value)
        }
        need = rows_reach(self.actors, self.outputs, self._merges, places | by_value)
        spread = rows_reach(self.actors, self.outputs, self._spreads, places)
        widths: dict[str, int] = {}
        columns: dict[str, tuple[str, ...]] = {}
        producers: dict[str, Sequenced] = {}
        for name in self.actors:  # producers first
            if name not in self.outputs:
                continue
            inputs = [] if self.actors[name].role == "source" else self.ordered(name)
            offsets = self._offsets(name, inputs, widths, places)
            ordinal = ""
            if name not in need or name in by_value:
                columns[name] = ()
            elif name in places:
                columns[name] = (ORIGIN, POSITION)
            else:
                depth = max((len(columns[edge.producer]) for edge in inputs), default=2)
                ordinal = f"{ORDINAL}{depth - 2}" if name in spread else ""
                places_of = (ORIGIN, POSITION, *(f"{ORDINAL}{number}" for number in range(depth - 2)))
                columns[name] = (*places_of, ordinal) if ordinal else places_of
            tie_fields = self._tie_fields(name, inputs, producers)
            producers[name] = Sequenced(
                frozenset(edge.output for edge in self.outputs[name]),
                name in places,
                offsets,
                ordinal,
                columns[name],
                name in by_value,
                tie_fields,
                fires(self.actors[name]),
                bool(tie_fields) and self.actors[name].contract.emits_by_rows,
            )
        return TimestampPlan(frozenset(self.edges), producers)

    def _offsets(
        self, name: str, inputs: list[Edge], widths: dict[str, int], places: set[str]
    ) -> tuple[int, ...]:
        """Where the origins of each input begin, by rank; notes how many the actor's own rows have."""
        if self.actors[name].role == "source":
            widths[name] = PARTITIONS
            return ()
        if name in places:
            widths[name] = 1
            return ()
        offsets, at = [0] * len(self.actors[name].inputs), 0
        for edge in inputs:
            offsets[edge.input] = at
            at += widths[edge.producer]
        widths[name] = at
        return tuple(offsets)

    def _by_value(self) -> set[str]:
        """Actors with several replicas whose rows, or what they are made of, descend from no single row."""
        found: set[str] = set()
        for name, actor in self.actors.items():
            if name in self.outputs and actor.role != "source" and actor.replicas > 1:
                before = any(edge.producer in found for edge in self.ordered(name))
                if before or fires(actor) or actor.contract.drops_lineage:
                    found.add(name)
        return found

    def _tie_fields(
        self, name: str, inputs: list[Edge], producers: Mapping[str, Sequenced]
    ) -> tuple[str, ...]:
        """The key of an actor that fires, or of the one before it, where equal keys are in one replica and the rows have it."""
        actor = self.actors[name]
        if fires(actor):
            found = keyed_by(actor, 0)[0] or ()
        else:
            before = {
                producers[edge.producer].tie_fields if edge.route == "forward" else () for edge in inputs
            }
            found = before.pop() if len(before) == 1 else ()
        schemas = [actor.outputs[edge.output] for edge in self.outputs[name]]
        return found if all(field in schema for field in found for schema in schemas) else ()

    def _merges(self, edge: Edge) -> bool:
        """Whether rows of several replicas, which may be tied, come to one consumer."""
        return self.actors[edge.producer].replicas > 1 and edge.route != "forward"

    def _spreads(self, edge: Edge) -> bool:
        """Whether a route spreads rows over several replicas."""
        return self.actors[edge.consumer].replicas > 1 and edge.route != "forward"
