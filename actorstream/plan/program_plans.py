"""Plans of the programs of a graph: finds the streams of their inputs and how busy they are, and asks the optimizer.

Reads sources where streams or keys are not listed: once, before the start.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actorstream.actors.operator_errors import operator_error
from actorstream.connectors.survey import ROWS, Survey, is_at_rest, survey
from actorstream.dgs.optimizer import OPTIMIZERS
from actorstream.dgs.planning import plan_program
from actorstream.dgs.program import Program
from actorstream.dgs.tagging import Tagging
from actorstream.dgs.tags import Tag
from actorstream.dgs.tree import TreeNode, read_tree
from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.topology.dependency import DependencyPlan, PlannedStream, Planning

if TYPE_CHECKING:
    from actorstream.placement.base import Assignment
    from actorstream.plan.rlas_plan import GraphOf
    from actorstream.topology.graph import Edge, Graph, GraphActor

RARE = 1e-3
"""Events/s of a tag that a sample did not show."""


def plan_programs(graph: Graph, assignment: Assignment, processes: int) -> list[DependencyPlan]:
    """The plan of each program of the graph.

    Args:
        assignment: where the sources' replicas are.

    Raises:
        ConfigurationError: a source cannot be read beforehand and its streams or keys are not listed, or a plan cannot
            be made.
    """
    found = []
    for actor in graph.actors.values():
        if actor.planning is None:
            continue
        program: Program = actor.make()
        streams: list[PlannedStream] = []
        rates: dict[tuple[int, Tag], float] = {}
        for edge in actor.inputs:
            own = _Input(graph.actors[edge.producer], edge, program.taggings()[edge.name], assignment)
            if any(each.order == "timestamp" for each in graph.consumers(edge.producer)):
                own.check_unmerged(actor.name)
            rates.update({(len(streams) + place, tag): rate for (place, tag), rate in own.rates.items()})
            streams += own.streams
        tree = _read_file(actor.planning)
        found.append(plan_program(actor.name, program, streams, rates, actor.planning, processes, tree))
    return found


class _Input:
    """The streams of one input, and the rates of the tags on them."""

    def __init__(self, source: GraphActor, edge: Edge, tagging: Tagging, assignment: Assignment) -> None:
        self.node, self.edge, self.tagging = source, edge, tagging
        try:
            instance: Any = source.make()
            self.partitions: list[str] = list(instance.partitions())
        except ActorstreamError:
            raise
        except Exception as error:
            raise operator_error(source.name, 0, None, error) from error
        instance.on_bad_row = source.on_error
        self.field: str = instance.stream or ""
        listed: list[Any] | None = instance.streams if self.field else self.partitions
        whole = listed is None or not tagging.listed
        looked = self._look(instance, whole=whole)
        if listed is None:
            listed = self._found(looked) if looked is not None else []
        self.values = [str(value) for value in listed]
        self.streams = [self._stream(place, assignment, looked) for place in range(len(self.values))]
        self.rates = self._rates(instance, looked, whole=whole)

    def check_unmerged(self, program: str) -> None:
        """Raises ConfigurationError if partitions are streams of the program and a replica has several: it merges them by time
        for a consumer in timestamp order, and rows no longer say which stream they belong to."""
        if not self.field and len(self.partitions) > self.node.replicas:
            what = f"its {len(self.partitions)} partitions are streams of {program!r}, and another input has timestamp order"
            allowed = f"replicas = {len(self.partitions)}, `stream` (a field that tells the streams), or two sources"
            raise ConfigurationError(Problem(f"actors.{self.node.name}", what, allowed))

    def _look(self, instance: Any, *, whole: bool) -> Survey | None:
        """What the rows hold: all of them, or a sample of a source at rest; None: not looked at."""
        columns = [*([self.field] if self.field else []), *self.tagging.columns]
        if whole:
            try:
                return self._survey(instance, columns)
            except ConfigurationError as error:
                where = f"actors.{self.node.name}"
                raise ConfigurationError([replace(each, where=where) for each in error.problems]) from error
        if not is_at_rest(instance):
            return None
        return self._survey(instance, columns, ROWS)

    def _survey(self, instance: Any, columns: list[str], most_rows: int | None = None) -> Survey:
        """As `survey`; what the source's own code raises names it, as in a run."""
        try:
            return survey(instance, columns, most_rows)
        except ActorstreamError:
            raise
        except Exception as error:
            raise operator_error(self.node.name, 0, None, error) from error

    def _found(self, looked: Survey) -> list[Any]:
        """The values of the field that tells the streams, numbers by size, texts by their characters."""
        found = {values[0] for _, values in looked.counts}
        if None in found:
            raise ConfigurationError(
                Problem(
                    f"actors.{self.node.name}",
                    f"a row has nothing in {self.field!r}, the field that tells the streams",
                    "a value in every row",
                    "fill it in the input, or leave such rows out",
                )
            )
        return sorted(found, key=lambda value: (isinstance(value, str), value))

    def _stream(self, place: int, assignment: Assignment, looked: Survey | None) -> PlannedStream:
        value = self.values[place]
        several = len(self.values) > 1
        name = f"{self.edge.name}/{value if self.field else place}" if several else self.edge.name
        partition = place if not self.field else -1
        replicas = {partition % self.node.replicas}
        if self.field:
            rows = looked.counts if looked is not None else ()
            replicas = {part % self.node.replicas for part, values in rows if str(values[0]) == value} or {0}
        if len(replicas) > 1:
            raise ConfigurationError(
                Problem(
                    f"actors.{self.node.name}",
                    f"rows of stream {value!r} (field {self.field!r}) are read by {len(replicas)} of its replicas",
                    "one replica for the rows of a stream",
                    "replicas = 1",
                )
            )
        return PlannedStream(
            name=name,
            input=self.edge.name,
            partition=partition,
            field=self.field,
            value=value if self.field else "",
            process=assignment[self.node.name, replicas.pop()],
        )

    def _rates(self, instance: Any, looked: Survey | None, *, whole: bool) -> dict[tuple[int, Tag], float]:
        """(Place of a stream, tag) -> events/s: what was found in the whole input, else all that is listed."""
        tagging, found = self.tagging, dict[tuple[int, Tag], float]()
        if not whole:
            tags = tagging.tags()
            given = float(instance.rate or instance.count or 1.0) if looked is None else 0.0
            share = given / max(1, len(self.values) * len(tags)) or RARE
            found = {(place, tag): share for place in range(len(self.values)) for tag in tags}
        if looked is None:
            return found
        places = {value: place for place, value in enumerate(self.values)}
        seen: dict[tuple[int, Tag], float] = {}
        for (partition, values), rate in looked.rates().items():
            rest = values[1:] if self.field else values
            place = places.get(str(values[0])) if self.field else partition
            tag = self._tag(rest)
            if place is None or tag is None:
                continue  # the run will say so, with the row
            seen[place, tag] = seen.get((place, tag), 0.0) + rate
        return found | dict(sorted(seen.items(), key=lambda each: each[0][0]))

    def _tag(self, values: Iterable[Any]) -> Tag | None:
        """The tag of a row with these values of the tagging's columns."""
        by_column: Mapping[str, Any] = dict(zip(self.tagging.columns, values))
        tagging, name = self.tagging, self.tagging.names[0]
        if tagging.column:
            found = tagging.values.get(by_column[tagging.column])
            if found is None:
                return None
            name = found
        key = by_column.get(tagging.key)
        if tagging.keys is not None and key not in tagging.keys:
            return None
        return tagging.tag(name, key)


def _read_file(planning: Planning) -> TreeNode | None:
    """The tree in the file that `plan` names; None: it names an optimizer."""
    if planning.plan in OPTIMIZERS:
        return None
    file = Path(planning.plan)
    try:
        text = file.read_text()
        value = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise ConfigurationError(
            Problem("plan", f"cannot be read: {error.strerror}", "", "", str(file))
        ) from error
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        kind = file.suffix.removeprefix(".").upper()
        raise ConfigurationError(Problem("plan", f"is no {kind}: {error}", "", "", str(file))) from error
    return read_tree(value, str(file))


def with_programs(
    graph: Graph, assignment: Assignment, processes: int, graph_of: GraphOf
) -> tuple[Graph, list[DependencyPlan], Assignment]:
    """Plans the programs of a graph: the graph with the replicas that they have then, their plans, and where all replicas go.

    A program has a replica for each worker of its plan, and so has every actor that `forward` joins to it, directly or
    through others, beside that worker. `graph_of` checks the topology with these numbers, as routes may depend on them.

    Raises:
        ConfigurationError: as `plan_programs` and `graph_of`, or `forward` joins actors that cannot have equal numbers.
    """
    plans = plan_programs(graph, assignment, processes)
    counts = {plan.actor: len(plan.workers) for plan in plans}
    for edge in graph.edges:  # the consumers come in topological order
        if edge.tied and edge.producer in counts and graph.actors[edge.consumer].auto:
            counts[edge.consumer] = counts[edge.producer]
    if any(graph.actors[name].replicas != count for name, count in counts.items()):
        graph = graph_of(counts)
    _check_forward(graph)
    workers = {plan.actor: [worker.process for worker in plan.workers] for plan in plans}
    for edge in graph.edges:
        if edge.route == "forward" and edge.producer in workers:
            workers.setdefault(edge.consumer, workers[edge.producer])
    decided = {each: worker for each, worker in assignment.items() if each[0] not in workers}
    decided |= {
        (actor, number): worker for actor, each in workers.items() for number, worker in enumerate(each)
    }
    return graph, plans, decided


def _check_forward(graph: Graph) -> None:
    """ConfigurationError where `forward` joins different numbers of replicas: those of two programs, for instance."""
    problems = []
    for edge in graph.edges:
        producer, consumer = graph.actors[edge.producer], graph.actors[edge.consumer]
        if edge.route == "forward" and producer.replicas != consumer.replicas:
            message = f"forward joins replica i to replica i, but {producer.name!r} has {producer.replicas}"
            message += f" and {consumer.name!r} has {consumer.replicas}"
            where = f"actors.{consumer.name}"
            problems.append(Problem(where, message, "another route", "", consumer.file, consumer.line))
    if problems:
        raise ConfigurationError(problems)
