"""Serial order through the graph: who numbers, whose input must be in that order too, and what rows carry. Pure.

An actor with `order = "serial"` sees what it would see if everything upstream ran one row after the other
(ordered-multicore section 2). For that

* one actor *numbers*: the nearest actor with one replica through which all its rows come (a source, in the end). If
  its own input can come in more than one sequence, it gets serial input too, so that what it numbers is a sequential
  run as well; unless its rows come from several sources, whose order among each other nothing says.
* everything between the two gets serial input, written or implied: only who takes numbers in ascending order can send
  them in ascending order, which is what keeps rings of one slot from a deadlock.
* a row's place is (number, position, ordinals). Where each number is handled by one replica (routes forward and
  shuffle: number modulo replicas), the number alone says it. Where a route spreads the rows of a number, they carry
  `_position`; and an `_ordinal` of each actor between there and the numbering whose rows are spread once more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from actorstream.topology.graph import Edge, Graph, GraphActor

if TYPE_CHECKING:
    from actorstream.topology.written import Written

POSITION = "_position"
ORDINAL = "_ordinal"
WHOLE = ("forward", "shuffle")
"""Routes that leave the rows of a number together, in a serial region."""
BASE = "actorstream.actors.actor"
"""Where the hooks are defined that do nothing."""


class Numbered(msgspec.Struct, frozen=True):
    """How an actor says the order of the rows that it emits into a serial region.

    Attributes:
        point: the actor that numbers.
        rank: its number in `call_order`: which part of a number the rows are that it emits at a heartbeat or its end.
        numbers: whether it is that actor.
        places: whether it gives its rows new positions, because it has each number to itself.
        ordinal: the column in which it counts its rows, "" if it need not.
        columns: what its rows carry on the edges of the region.
    """

    point: str
    rank: int
    numbers: bool
    places: bool
    ordinal: str
    columns: tuple[str, ...]


class SerialPlan(msgspec.Struct, frozen=True):
    """Serial order of a whole graph.

    Attributes:
        edges: number of an edge -> the actor that numbers its rows.
        producers: actor -> how it says the order of what it emits.
        merging: actors to which the rows of one number come from several replicas.
        phases: numbers that each hand-over of a numbering point takes: one for its rows, one for what each actor fires.
    """

    edges: dict[int, str] = {}
    producers: dict[str, Numbered] = {}
    merging: frozenset[str] = frozenset()
    phases: int = 1


def serial_plan(graph: Graph) -> SerialPlan:
    """The serial order of a checked graph; empty if nobody asks for it."""
    if not any(edge.order == "serial" for edge in graph.edges):
        return SerialPlan()
    return _Analysis(graph.actors).plan()


def imply_serial(
    actors: dict[str, GraphActor], written: Written, problems: list[Any], inputs: Mapping[str, Any]
) -> None:
    """Makes the order of edges serial that must be, and adds a problem for each order that cannot be.

    inputs: actor -> paths of its inputs as written, by rank."""
    for actor in actors.values():
        orders = sorted({edge.order for edge in actor.inputs if not edge.static} - {"none"})
        if len(orders) > 1:
            found = f"has inputs in {' and '.join(orders)} order, which do not mix"
            hint = 'let the others be order = "none": they are side inputs then'
            problems.append(written.problem(("actors", actor.name), found, "one order besides none", hint))
    if not any(edge.order == "serial" for actor in actors.values() for edge in actor.inputs):
        return
    analysis = _Analysis(actors)
    for name, message, allowed, hint in analysis.refused():
        rank = next(edge.input for edge in actors[name].inputs if edge.order == "serial")
        problems.append(written.problem((*inputs[name][rank], "order"), message, allowed, hint))
    for actor in actors.values():
        actor.inputs[:] = [
            replace(edge, order="serial", implied=True)
            if edge.index in analysis.points and edge.order == "none"
            else edge
            for edge in actor.inputs
        ]


def _overtakes(actor: GraphActor) -> bool:
    """Whether an actor is a program, in which independent events overtake each other, also on one worker."""
    return actor.planning is not None


class _Analysis:
    def __init__(self, actors: Mapping[str, GraphActor]) -> None:
        self.actors = actors
        self.ranks = {name: rank for rank, name in enumerate(actors)}
        self.calls = {name: rank for rank, name in enumerate(call_order(actors))}
        self.problems: list[tuple[str, str, str, str]] = []
        self.points: dict[int, str] = {}
        """Edge -> the actor that numbers its rows."""
        banned: set[str] = set()
        while (clash := self._regions(banned)) is not None:
            banned.add(clash)

    # -- regions

    def asks(self, name: str) -> bool:
        return any(edge.order == "serial" and not edge.implied for edge in self.actors[name].inputs)

    def ordered(self, name: str) -> list[Edge]:
        """Inputs of an actor that would be one serial sequence: those that say so, else all that are streams."""
        flows = [edge for edge in self.actors[name].inputs if not edge.static]
        serial = [edge for edge in flows if edge.order == "serial" and not edge.implied]
        return serial or flows

    def otherwise(self, name: str) -> str:
        """Another order that an actor's input has; its output follows from that."""
        orders = {edge.order for edge in self.actors[name].inputs if not edge.static}
        return next((order for order in sorted(orders) if order not in ("none", "serial")), "")

    def _regions(self, banned: set[str]) -> str | None:
        """Finds the numbering points and the edges behind them; answers one that may not be, or None."""
        self.problems, self.points = [], {}
        over = self._dominators()
        point_of: dict[str, str] = {}
        targets = [name for name in self.actors if self.asks(name)]
        for target in targets:  # grows
            point = self._point(target, over, banned)
            if point is None:
                if self.asks(target) and not self.otherwise(target):
                    self._refuse(target)
                continue
            walk, seen = [target], {target}
            while walk:
                name = walk.pop()
                if self.otherwise(name):
                    self._refuse_mixed(target, name)
                    continue
                for edge in self.ordered(name):
                    if point_of.setdefault(edge.producer, point) != point:
                        return max(point, point_of[edge.producer], key=self.ranks.__getitem__)
                    self.points[edge.index] = point
                    if edge.producer != point and edge.producer not in seen:
                        seen.add(edge.producer)
                        walk.append(edge.producer)
            before = self._unsettled(point)
            if before is not None and before not in targets:
                targets.append(before)
        return None

    def _dominators(self) -> dict[str, set[str]]:
        """Actor -> the actors through which all its rows come, itself included."""
        over: dict[str, set[str]] = {}
        for name in self.actors:
            inputs = [] if self.otherwise(name) else [over[edge.producer] for edge in self.ordered(name)]
            over[name] = {name}.union(set.intersection(*inputs) if inputs else ())
        return over

    def _point(self, target: str, over: dict[str, set[str]], banned: set[str]) -> str | None:
        found = [
            name
            for name in over[target]
            if name != target
            and self.actors[name].replicas == 1
            and name not in banned
            and not _overtakes(self.actors[name])
        ]
        found.sort(key=self.ranks.__getitem__, reverse=True)
        # outputs of one call have no order among each other: their common numbers are better made before
        single = [name for name in found if self._outputs(name, target) < 2]
        return next(iter(single or found), None)

    def _outputs(self, point: str, target: str) -> int:
        """Outputs of `point` whose rows come to `target`."""
        reach, outputs = {target}, set()
        for name in reversed(list(self.actors)):
            if name in reach and name != point:
                for edge in self.ordered(name):
                    reach.add(edge.producer)
                    if edge.producer == point:
                        outputs.add(edge.output)
        return len(outputs)

    def _unsettled(self, name: str) -> str | None:
        """The actor at or before a numbering point whose input can come in more than one sequence; None: none."""
        while True:
            inputs = self.ordered(name)
            if not inputs or self.asks(name) or self.otherwise(name):
                return None
            if len(inputs) > 1 or self.actors[inputs[0].producer].replicas > 1:
                return name
            name = inputs[0].producer

    # -- what cannot be

    def refused(self) -> list[tuple[str, str, str, str]]:
        """(actor, message, allowed, hint) of what cannot be serial."""
        if not self.problems:
            plan = self.plan()
            for name, numbered in plan.producers.items():
                self._check_producer(name, numbered)
        return self.problems

    def _check_producer(self, name: str, numbered: Numbered) -> None:
        actor = self.actors[name]
        inputs = [edge for edge in actor.inputs if edge.index in self.points]
        target = self._asker(name)
        if numbered.columns and not numbered.numbers and not numbered.places and actor.replicas > 1:
            if len(inputs) > 1:
                message = f"{name!r}, on the way, has {len(inputs)} inputs and {actor.replicas} replicas"
                self.problems.append((target, message, "replicas = 1 for an actor that unites streams", ""))
            if actor.contract.drops_lineage:
                message = (
                    f"{name!r} ({actor.type_name}) spreads one number's rows over {actor.replicas} replicas"
                )
                message += ", and what it emits descends from no single row"
                self.problems.append((target, message, f"replicas = 1 for {name!r}", 'or order = "none"'))

    def _asker(self, name: str) -> str:
        """An actor downstream that asks for serial order."""
        reach = {name}
        for each in self.actors:
            if any(edge.producer in reach for edge in self.actors[each].inputs if edge.index in self.points):
                if self.asks(each):
                    return each
                reach.add(each)
        return name

    def _refuse(self, target: str) -> None:
        reach, sources = {target}, list[str]()
        for name in reversed(list(self.actors)):
            if name in reach:
                if _overtakes(self.actors[name]):
                    message = f"outputs of independent events of {name!r}, a program, have no one sequence"
                    allowed = 'order = "none": outputs of dependent events come in their order'
                    hint = "or unite them in an actor with replicas = 1, in whose order they then are"
                    self.problems.append((target, message, allowed, hint))
                    return
                if self.actors[name].role == "source":
                    sources.insert(0, name)
                reach.update(edge.producer for edge in self.ordered(name))
        if len(sources) == 1:
            replicas = self.actors[sources[0]].replicas
            message = f"the source {sources[0]!r} has {replicas} replicas, so its rows have no one sequence"
            self.problems.append((target, message, f"replicas = 1 for {sources[0]!r}", ""))
            return
        message = (
            f"the rows come from several sources ({', '.join(sources)}), which have no sequence together"
        )
        hint = "or unite them in an actor with replicas = 1, in whose order they then are"
        self.problems.append((target, message, 'order = "timestamp" merges them by event time', hint))

    def _refuse_mixed(self, target: str, name: str) -> None:
        order = self.otherwise(name)
        message = (
            f"{name!r}, on the way, has {self.actors[name].replicas} replicas and input in {order} order"
        )
        self.problems.append((target, message, "replicas = 1 there, or the same order", ""))

    # -- what rows carry

    def plan(self) -> SerialPlan:
        producers: dict[str, Numbered] = {}
        merging: set[str] = set()
        for point in sorted(set(self.points.values()), key=self.ranks.__getitem__):
            _Region(self, point).describe(producers, merging)
        return SerialPlan(dict(self.points), producers, frozenset(merging), len(self.actors) + 1)


class _Region:
    """The edges behind one numbering point."""

    def __init__(self, analysis: _Analysis, point: str) -> None:
        self.actors, self.ranks, self.point = analysis.actors, analysis.ranks, point
        self.calls = analysis.calls
        self.inputs: dict[str, list[Edge]] = {}
        self.outputs: dict[str, list[Edge]] = {}
        for name, actor in self.actors.items():
            for edge in actor.inputs:
                if analysis.points.get(edge.index) == point:
                    self.inputs.setdefault(name, []).append(edge)
                    self.outputs.setdefault(edge.producer, []).append(edge)
        self.names = [name for name in self.actors if name in self.outputs]
        self.is_tree = all(len(edges) == 1 for edges in self.inputs.values())

    def describe(self, producers: dict[str, Numbered], merging: set[str]) -> None:
        whole = self._whole()
        merges = {name for name, edges in self.inputs.items() if self._merges(edges, whole)}
        merging.update(merges)
        places = {name for name in whole if name == self.point or self.is_tree}
        # who merges rows further down needs their positions; where a route spreads them once more, they are counted
        need = rows_reach(self.names, self.outputs, lambda edge: edge.consumer in merges, places)
        spread = rows_reach(self.names, self.outputs, self._spreads, places)
        columns: dict[str, tuple[str, ...]] = {}
        for name in self.names:
            ordinal = ""
            if name not in need:
                columns[name] = ()
            elif name in places:
                columns[name] = (POSITION,)
            else:
                before = (POSITION,) if name in whole else columns[self.inputs[name][0].producer]
                if name in spread or name in whole:
                    ordinal = f"{ORDINAL}{self.ranks[name]}"
                columns[name] = (*before, ordinal) if ordinal else before
            producers[name] = Numbered(
                self.point, self.calls[name], name == self.point, name in places, ordinal, columns[name]
            )

    def _whole(self) -> set[str]:
        """Actors of which one replica handles all rows of a number, and emits what comes of them."""
        whole = {self.point}
        for name, edges in self.inputs.items():
            actor = self.actors[name]
            alone = all(
                edge.route == "shuffle" or (edge.route == "forward" and edge.producer in whole)
                for edge in edges
            )
            if actor.replicas == 1 or (alone and not self._fires(actor)):
                whole.add(name)
        return whole

    @staticmethod
    def _fires(actor: GraphActor) -> bool:
        """Whether rows come out at a heartbeat: then every replica has some for the same number."""
        return any("on_heartbeat" in vars(cls) and cls.__module__ != BASE for cls in actor.cls.__mro__)

    def _spreads(self, edge: Edge) -> bool:
        """Whether a route spreads the rows of a number over several replicas."""
        return self.actors[edge.consumer].replicas > 1 and edge.route not in WHOLE

    def _merges(self, edges: Iterable[Edge], whole: set[str]) -> bool:
        edges = list(edges)
        return len(edges) > 1 or any(edge.producer not in whole and edge.route != "forward" for edge in edges)


def call_order(actors: Mapping[str, GraphActor]) -> list[str]:
    """Actors so that each comes behind those whose rows it gets, and those that call each other directly in the order of the
    calls: whatever one of them calls comes before what is called after it. A unit tells its members of event time in this
    order, and the numbers that it promises on the way must not fall."""
    behind: dict[str, list[Edge]] = {name: [] for name in actors}
    for actor in actors.values():
        for edge in actor.inputs:
            if not edge.static:
                behind[edge.producer].append(edge)
    found: dict[str, None] = {}
    seen: set[str] = set()
    walk = [name for name, actor in actors.items() if all(edge.static for edge in actor.inputs)]
    while walk:  # depth first, the last call first: the reverse of what is wanted
        name = walk[-1]
        if name in seen:
            found[walk.pop()] = None
            continue
        seen.add(name)
        outputs = {output: at for at, output in enumerate(actors[name].outputs)}
        calls = sorted(behind[name], key=lambda edge: (outputs.get(edge.output, 0), edge.index))
        walk += [edge.consumer for edge in calls if edge.consumer not in seen]
    return [*reversed(found)]


def rows_reach(
    names: Iterable[str],
    outputs: Mapping[str, Iterable[Edge]],
    wanted: Callable[[Edge], bool],
    places: Collection[str],
) -> set[str]:
    """Actors whose rows come to an edge that is `wanted` before one of `places` places them anew.

    names: of the actors, producers first. outputs: the edges of each."""
    found: set[str] = set()
    for name in reversed(list(names)):
        for edge in outputs.get(name, ()):
            if wanted(edge) or (edge.consumer in found and edge.consumer not in places):
                found.add(name)
    return found
