"""The graph of a topology: resolved actors with their schemas, and edges. No checks."""

from __future__ import annotations

import hashlib
import heapq
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from actorstream.actors.contract import Contract
    from actorstream.events.schema import Schema
    from actorstream.topology.dependency import Planning

FIRST_STEP = ".local"
"""Ends the name of the first step of an `aggregate`, which stands before it and is no actor of the user's."""


class Edge(msgspec.Struct, frozen=True):
    """One input of one consumer. `index`: its number in the graph; `input`: its rank at the consumer."""

    index: int
    producer: str
    output: str
    consumer: str
    input: int
    name: str
    """What `self.input` says in the consumer."""
    route: str
    """forward | shuffle | key | range | broadcast | global | "package.module:function"; never empty."""
    key: tuple[str, ...] = ()
    order: str = "none"
    bounds: tuple[Any, ...] = ()
    static: bool = False
    """Read whole before the consumer's other inputs (topology/static_inputs.py)."""
    implied: bool = False
    """The order was not written: an edge downstream needs it (topology/serial.py)."""
    tied: bool = False
    """Whether both ends must have equal numbers of replicas: `forward` was written, or the consumer is the first step of an
    aggregate. A route that was not written may be `forward`, too, and is another one where the numbers differ."""

    @property
    def source(self) -> str:
        """ "actor" or "actor.output", as in the topology."""
        return self.producer if self.output == "default" else f"{self.producer}.{self.output}"

    @property
    def how(self) -> str:
        """Route and order in a few words, for drawings: ``key word``, ``forward``, ``shuffle, serial``."""
        text = f"{self.route} {', '.join(self.key)}" if self.key else self.route
        return text if self.order == "none" else f"{text}, {self.order}{' (implied)' * self.implied}"


class GraphActor(msgspec.Struct, dict=True):
    """One actor with its class found, its keys converted and the schemas of its outputs known."""

    name: str
    type_name: str
    cls: type
    role: str
    """source | operator | sink"""
    keys: dict[str, Any]
    replicas: int
    auto: bool = False
    """`replicas = "auto"`: a placement may choose another number."""
    on_error: str = "fail"
    outputs: dict[str, Schema] = {}
    """Own outputs, then `late` and `dead`."""
    inputs: list[Edge] = []
    input_schemas: list[Schema] = []
    timed: bool = False
    """Whether its rows have an event time, as a field or by descent."""
    planning: Planning | None = None
    """How a program's plan is to be made; its `replicas` are the workers of that plan, once it is."""
    file: str = ""
    line: int = 0

    @cached_property
    def contract(self) -> Contract:
        """What the class declares of an actor with these keys."""
        found: Contract = self.cls.contract_of(self.keys)  # type: ignore[attr-defined]
        return found

    def make(self) -> Any:
        """A new instance, from the keys; a sink knows the schema of its rows."""
        made: Any = self.cls(**self.keys)
        if self.role == "sink" and self.input_schemas:
            made.input_schema = self.input_schemas[0]
        return made


class Graph(msgspec.Struct, dict=True):
    """A checked topology. `actors` are in topological order (ties: as written); edges by consumer."""

    name: str
    actors: dict[str, GraphActor]
    edges: list[Edge]
    file: str = ""
    root: Path = msgspec.field(default_factory=Path.cwd)

    def consumers(self, actor: str, output: str | None = None) -> list[Edge]:
        """Edges that leave `actor`, or one of its outputs."""
        return [edge for edge in self.edges if edge.producer == actor and output in (None, edge.output)]

    def sources(self) -> list[GraphActor]:
        return [actor for actor in self.actors.values() if actor.role == "source"]

    def sinks(self) -> list[GraphActor]:
        return [actor for actor in self.actors.values() if actor.role == "sink"]

    def schema(self, edge: Edge) -> Schema:
        """What the rows of an edge look like."""
        return self.actors[edge.producer].outputs[edge.output]

    def describe(self) -> dict[str, Any]:
        """The graph as plain values, without key values and replica numbers: what a plan must fit."""
        return {
            "name": self.name,
            "actors": [
                {
                    "name": actor.name,
                    "type": actor.type_name,
                    "role": actor.role,
                    "on_error": actor.on_error,
                    "outputs": {name: schema.fingerprint for name, schema in actor.outputs.items()},
                }
                for actor in self.actors.values()
            ],
            "edges": [
                [
                    edge.source,
                    edge.consumer,
                    edge.input,
                    edge.name,
                    edge.route,
                    edge.key,
                    edge.order,
                    edge.bounds,
                ]
                for edge in self.edges
            ],
        }

    @cached_property
    def fingerprint(self) -> int:
        """64 unsigned bits over `describe()`: the same whatever the keys and replica numbers are."""
        return fingerprint(self.describe())

    @cached_property
    def profile_fingerprint(self) -> int:
        """The same whatever the routes are, which may follow from replica numbers: what a profile must fit."""
        plain = self.describe()
        edges = [(edge.source, edge.consumer, edge.name) for edge in self.edges]
        return fingerprint({**plain, "edges": edges})


class Redrawn:
    """A graph in the making after another one: actors with their inputs, whose edges are numbered as they come."""

    def __init__(self, graph: Graph) -> None:
        self._after = graph
        self._actors: dict[str, GraphActor] = {}
        self._edges: list[Edge] = []

    def add(self, actor: GraphActor, inputs: Iterable[Edge]) -> None:
        """An actor behind all that its inputs come from."""
        first = len(self._edges)
        numbered = [replace(edge, index=first + rank, input=rank) for rank, edge in enumerate(inputs)]
        self._edges.extend(numbered)
        self._actors[actor.name] = replace(actor, inputs=numbered)

    def graph(self) -> Graph:
        after = self._after
        return Graph(after.name, self._actors, self._edges, after.file, after.root)


def fingerprint(value: Any) -> int:
    """64 unsigned bits over the canonical JSON of plain values or Structs; the same in every process."""
    canonical = msgspec.json.encode(value, order="deterministic", enc_hook=str)
    return int.from_bytes(hashlib.blake2b(canonical, digest_size=8).digest(), "little")


def topological_order(inputs: Mapping[str, Iterable[str]]) -> tuple[list[str], list[list[str]]]:
    """Names so that each comes after its inputs, else as written; and the cycles that are in the way.

    Args:
        inputs: name -> names it reads from, in written order; names that are no key are ignored.

    Returns:
        the order of everything that does not lie on or behind a cycle; each cycle once, as ``[a, b, a]``."""
    waiting = {name: {each for each in reads if each in inputs} for name, reads in inputs.items()}
    names = list(waiting)
    ranks = {name: rank for rank, name in enumerate(names)}
    behind: dict[str, list[str]] = {name: [] for name in names}
    for name, reads in waiting.items():
        for each in reads:
            behind[each].append(name)
    missing = {name: len(reads) for name, reads in waiting.items()}
    ready = [ranks[name] for name in names if not missing[name]]
    order: list[str] = []
    while ready:  # a heap, as it ascends
        name = names[heapq.heappop(ready)]
        order.append(name)
        for each in behind[name]:
            missing[each] -= 1
            if not missing[each]:
                heapq.heappush(ready, ranks[each])
    placed = set(order)
    left = {name: reads - placed for name, reads in waiting.items() if name not in placed}
    return order, _cycles(left)


def _cycles(inputs: dict[str, set[str]]) -> list[list[str]]:
    """Cycles without a name in common, along the flow of rows, until none is left."""
    found: list[list[str]] = []
    left = dict(inputs)
    while True:
        read = set().union(*left.values()) if left else set()
        core = {
            name: reads & left.keys() for name, reads in left.items() if name in read and reads & left.keys()
        }
        if len(core) < len(left) or core != left:
            left = core
            continue
        if not left:
            return found
        walk = [
            next(iter(left))
        ]  # against the flow: all that is left reads something left, so this comes back
        while (step := min(left[walk[-1]], key=list(left).index)) not in walk:
            walk.append(step)
        cycle = walk[walk.index(step) :]
        found.append([step, *reversed(cycle)])
        left = {name: reads - set(cycle) for name, reads in left.items() if name not in cycle}
