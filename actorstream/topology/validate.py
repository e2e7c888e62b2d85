"""Is a topology right? Resolves types, checks keys, follows schemas through the graph, and answers the Graph.

All problems go into one list; what hangs on a part that is wrong already is not reported a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.events.schema import Schema
from actorstream.topology.available import Available, check_deploy, order_problem
from actorstream.topology.conversion import shown
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.event_time import carry_time, check_event_time
from actorstream.topology.files_in_use import check_files
from actorstream.topology.findings import HostFindings
from actorstream.topology.graph import Edge, Graph, GraphActor, topological_order
from actorstream.topology.hook_events import LIFE_CYCLE, check_hook_events
from actorstream.topology.keywords import check_keywords
from actorstream.topology.modules import NotFoundError, use_modules_of
from actorstream.topology.programs import (
    ROUTE,
    check_dependency,
    check_program,
    is_program,
    take_planning,
)
from actorstream.topology.registry import TypeRegistry
from actorstream.topology.routes import check_route, check_route_name
from actorstream.topology.schemas import (
    check_class,
    check_contract,
    keyed_by,
    output_schemas,
    possible_outputs,
    told_fields,
)
from actorstream.topology.serial import imply_serial
from actorstream.topology.spec import ACTOR_NAME, NAME_ALLOWED, ActorSpec, InputSpec, TopologySpec
from actorstream.topology.static_inputs import Statics, check_waits, static_inputs
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.topology.timestamp import imply_timestamp
from actorstream.topology.written import Written


def build_graph(
    spec: TopologySpec,
    registry: TypeRegistry,
    deploy: DeploySpec | None = None,
    available: Available | None = None,
    *,
    replicas: Mapping[str, int] | None = None,
) -> Graph:
    """The graph of a topology. ConfigurationError lists every problem with file, line and nearest name.

    `replicas`: how many a placement chose for actors with `replicas = "auto"`; without it an operator gets as
    many as there are workers, a source or sink one."""
    problems: list[Problem] = []
    deploy, available = deploy or DeploySpec(), available or Available.installed()
    check_deploy(deploy, available, Written(), problems)
    graph = check_graph(spec, registry, deploy, available, problems, replicas)
    if problems or graph is None:
        raise ConfigurationError(problems)
    return graph


def check_graph(
    spec: TopologySpec,
    registry: TypeRegistry,
    deploy: DeploySpec,
    available: Available,
    problems: list[Problem],
    replicas: Mapping[str, int] | None = None,
    findings: HostFindings | None = None,
) -> Graph | None:
    """As `build_graph`, but adds to `problems`; None if anything is wrong. `findings`: of this host, where the graph runs on
    several."""
    before = len(problems)
    if not spec.actors and not problems:
        problems.append(
            spec.written.problem(("actors",), "has no actors", "a source, and actors that read it")
        )
        return None
    use_modules_of(spec.root)
    check = _Check(spec, registry, deploy, available, problems, replicas or {}, findings or HostFindings())
    actors = check.run()
    if not check.is_whole():
        return None
    if len(problems) == before:
        paths = {
            name: [("actors", name, *where) for where, _, _ in check.inputs_of(spec.actors[name])]
            for name in actors
        }
        imply_serial(actors, spec.written, problems, paths)
        imply_timestamp(actors, spec.written, problems, paths)
    if len(problems) > before:
        return None
    edges = [edge for actor in actors.values() for edge in actor.inputs]
    return Graph(spec.name, actors, edges, spec.file, spec.root)


class _Check:
    def __init__(
        self,
        spec: TopologySpec,
        registry: TypeRegistry,
        deploy: DeploySpec,
        available: Available,
        problems: list[Problem],
        replicas: Mapping[str, int],
        findings: HostFindings,
    ) -> None:
        self.spec, self.registry, self.deploy, self.available = spec, registry, deploy, available
        self.problems, self.chosen, self.findings = problems, replicas, findings
        self.written = spec.written
        self.actors: dict[str, GraphActor] = {}
        self.enough: set[str] = set()
        """Actors whose keys suffice to make one."""
        self.refused: set[str] = set()
        """Actors whose class finds fault with their keys: what they would send is anybody's guess."""
        self.edges = 0
        self.statics: Statics = {}

    def run(self) -> dict[str, GraphActor]:
        for actor in self.spec.actors.values():
            self.resolve(actor)
        self.inputs_exist()
        self.statics = static_inputs(self.spec, self.actors, self.written, self.problems)
        reads = {
            actor.name: [each.actor for _, each, _ in self.inputs_of(actor)]
            for actor in self.spec.actors.values()
        }
        order, cycles = topological_order(reads)
        for cycle in cycles:
            self.cycle(cycle)
        check_waits(self.spec, self.statics, self.written, self.problems)
        for name in order:
            if name in self.actors:
                self.flow(self.spec.actors[name], self.actors[name])
            else:
                self.words(self.spec.actors[name])
        used = {name: self.actors[name] for name in order if name in self.enough}
        for name, problem in check_files(used, self.written):
            self.problems.append(problem)
            self.findings.judge(self.actors[name], self.problems, len(self.problems) - 1)
        return {name: self.actors[name] for name in order if name in self.actors}

    def is_whole(self) -> bool:
        """Whether there is a class for every actor and an actor for every input; what is missing is a problem already."""
        edges = (edge for actor in self.actors.values() for edge in actor.inputs)
        return self.actors.keys() == self.spec.actors.keys() and all(
            edge.producer in self.actors for edge in edges
        )

    def problem(self, path: tuple[str | int, ...], message: str, allowed: str = "", hint: str = "") -> None:
        self.problems.append(self.written.problem(path, message, allowed, hint))

    # -- each actor by itself

    def resolve(self, actor: ActorSpec) -> None:
        path = ("actors", actor.name)
        if not actor.type:
            return  # missing or wrong: reported when it was read
        try:
            cls: Any = self.registry.resolve(actor.type)
        except NotFoundError as error:
            self.problem((*path, "type"), error.message, error.allowed, error.hint)
            return
        actor, planning = take_planning(actor, cls, self.written, self.problems)
        keys, enough = check_keywords(actor, cls, self.written, self.problems)
        file, line = self.written.at(path)
        self.actors[actor.name] = GraphActor(
            actor.name,
            actor.type_name,
            cls,
            cls.role,
            keys,
            self.replicas(actor, cls) if planning is None else self.chosen.get(actor.name, 1),
            auto=(actor.replicas == "auto" and not cls.contract.one_replica) or planning is not None,
            on_error=actor.on_error,
            planning=planning,
            file=file,
            line=line,
        )
        if enough:
            self.enough.add(actor.name)
        if cls.role == "source" and actor.inputs:
            self.problem((*path, "inputs"), f"{actor.type_name!r} is a source", "no inputs")
        if cls.role != "source" and not actor.inputs and not self.listed_wrong(path):
            self.problem(
                path, f"has no inputs, and {actor.type_name!r} is no source", 'inputs = ["actor", …]'
            )
        self.input_names(actor)
        if cls.role != "source":
            self.hooks(actor, cls)

    def listed_wrong(self, path: tuple[str | int, ...]) -> bool:
        """Whether the actor's `inputs` could not be read, which is a problem already."""
        where = ".".join(map(str, (*path, "inputs")))
        return any(each.where.startswith(where) for each in self.problems)

    def replicas(self, actor: ActorSpec, cls: Any) -> int:
        if isinstance(actor.replicas, int):
            return actor.replicas
        if cls.contract.one_replica:
            return 1
        return self.chosen.get(actor.name, self.deploy.workers if cls.role == "operator" else 1)

    def input_names(self, actor: ActorSpec) -> None:
        seen: set[str] = set()
        for number, each in enumerate(actor.inputs):
            if each.name and not ACTOR_NAME.fullmatch(each.name):
                where = ("actors", actor.name, "inputs", number, "name")
                self.problem(where, f"is {each.name!r}", NAME_ALLOWED)
            if each.label in seen and each.from_:
                path = ("actors", actor.name, "inputs", number)
                hint = 'give one of them a name of its own: { from = "…", name = "…" }'
                self.problem(path, f"is a second input called {each.label!r}", "one input of a name", hint)
            seen.add(each.label)

    def hooks(self, actor: ActorSpec, cls: type) -> None:
        """An input that no hook of an `Actor` takes would fail at its first row: say it here."""
        if not hasattr(cls, "on_start") or hasattr(cls, "on_event") or hasattr(cls, "on_batch"):
            return
        if is_program(cls):
            return
        for number, each in enumerate(actor.inputs):
            plain = each.label.replace(".", "_").replace("-", "_")
            if each.from_ and (plain in LIFE_CYCLE or not hasattr(cls, f"on_{plain}")):
                path = ("actors", actor.name, "inputs", number)
                message = f"{cls.__name__} has no hook for the input {each.label!r}"
                hooks = [name for name in dir(cls) if name.startswith("on_") and name[3:] not in LIFE_CYCLE]
                hint = did_you_mean(f"on_{plain}", hooks)
                self.problem(path, message, f"on_event, on_batch or on_{plain}", hint)

    # -- the graph

    def inputs_of(self, actor: ActorSpec) -> list[tuple[tuple[str | int, ...], InputSpec, bool]]:
        """Path, input and whether it is static, of all inputs: those written, then those that keys name."""
        own = [(("inputs", number), each, False) for number, each in enumerate(actor.inputs)]
        return [*own, *(((key,), each, True) for key, each in self.statics.get(actor.name, {}).items())]

    def inputs_exist(self) -> None:
        for actor in self.spec.actors.values():
            for number, each in enumerate(actor.inputs):
                if each.from_ and each.actor not in self.spec.actors:
                    path = ("actors", actor.name, "inputs", number)
                    others = [name for name in self.spec.actors if name != actor.name]
                    hint = did_you_mean(each.actor, others)
                    self.problem(path, f"there is no actor {each.actor!r}", listed(others), hint)

    def cycle(self, cycle: list[str]) -> None:
        producer, consumer = cycle[-2], cycle[-1]
        inputs = self.inputs_of(self.spec.actors[consumer])
        path = ("actors", consumer, *next(path for path, each, _ in inputs if each.actor == producer))
        hint = "an actor can keep what it needs again in self.state"
        self.problem(path, f"closes a cycle: {' -> '.join(cycle)}", "a graph without cycles", hint)

    def words(self, spec: ActorSpec) -> None:
        """The orders and routes of an actor without a class: whatever it is, they must be ones that exist."""
        for number, each in enumerate(spec.inputs):
            path = ("actors", spec.name, "inputs", number)
            self.order(each, path)
            check_route_name(each, path, self.written, self.problems)

    def order(self, each: InputSpec, path: tuple[str | int, ...]) -> None:
        problem = order_problem(each.order, self.available, (*path, "order"), self.written)
        if problem is not None:
            self.problems.append(problem)

    def flow(self, spec: ActorSpec, actor: GraphActor) -> None:
        """Edges into an actor, then its outputs; in topological order, so its producers are done."""
        known = True
        paths: list[tuple[str | int, ...]] = []
        for number, (where, each, static) in enumerate(self.inputs_of(spec)):
            path = ("actors", actor.name, *where)
            paths.append(path)
            self.order(each, path)
            producer = self.actors.get(each.actor)
            schema = self.output(producer, each.output, path) if producer is not None else None
            together: tuple[str, ...] | None = () if static else self.together(actor, number)
            if actor.cls.contract.one_replica and not (static or each.keys):  # type: ignore[attr-defined]
                together = None
            check_dependency(actor, each, producer, path, self.written, self.problems)
            route: str = ROUTE
            key: tuple[str, ...] = ()
            if not is_program(actor.cls):
                fields = schema
                if fields is None and producer is not None:
                    fields = told_fields(self.spec.actors[producer.name], producer, each.output)
                route, key = check_route(
                    each, producer, actor, fields, path, self.written, self.problems, together
                )
            known = known and schema is not None
            ends = (self.edges, each.actor, each.output, actor.name, number, each.label)
            how = (route, key, each.order, tuple(each.bounds), static)
            actor.inputs.append(Edge(*ends, *how, tied=each.route == "forward"))
            self.edges += 1
            if schema is not None:
                actor.input_schemas.append(schema)
        if not known or (actor.role != "source" and not spec.inputs):
            return
        before = len(self.problems)
        if check_contract(actor, self.written, self.problems):
            check_event_time(actor, paths, self.actors, self.written, self.problems)
        if hasattr(actor.cls, "on_start") and not is_program(actor.cls):
            check_hook_events(actor, paths, self.written, self.problems)
        if actor.name in self.enough:
            check_class(actor, self.written, self.problems)
            if is_program(actor.cls):
                by_name = {edge.name: path for edge, path in zip(actor.inputs, paths)}
                check_program(actor, by_name, self.written, self.problems)
        if len(self.problems) > before:
            self.refused.add(actor.name)
        silent = actor.name in self.refused or actor.name not in self.enough
        try:
            actor.outputs = output_schemas(spec, actor, self.written, self.problems)
        except (
            Exception
        ) as error:  # user code and files; if a problem is listed already, this is its consequence
            given = self.findings.given_to(actor)
            if given is not None:
                actor.outputs = output_schemas(spec, actor, self.written, self.problems, given)
            if not silent:
                what = str(error) if isinstance(error, (ActorstreamError, OSError)) else repr(error)
                self.problem(("actors", actor.name), f"has no known output types: {what}")
        self.findings.judge(actor, self.problems, before)
        carry_time(actor, self.actors)

    def together(self, actor: GraphActor, number: int) -> tuple[str, ...] | None:
        """What `Actor.keyed_by` says of input `number`."""
        if actor.name not in self.enough:
            return ()
        found, wrong = keyed_by(actor, number)
        if wrong:
            allowed = "a field, a list of fields, None, or a class method of (keys, input) that returns one of these"
            self.problem(("actors", actor.name), wrong, allowed)
        return found

    def output(self, producer: GraphActor, output: str, path: tuple[str | int, ...]) -> Schema | None:
        """The schema of a producer's output; None, with a problem unless one explains it already."""
        if not producer.outputs:  # not determined: reported there
            possible = possible_outputs(self.spec.actors[producer.name], producer)
            if possible is not None and output not in possible:
                self.no_output(producer, output, sorted(possible), path)
            return None
        schema = producer.outputs.get(output)
        if (
            schema is None and output in self.spec.actors[producer.name].outputs
        ):  # declared wrongly: reported there
            return None
        if schema is None and output == "default" and producer.name in self.refused:
            return None
        if schema is None:
            own = [name for name in producer.outputs if name not in ("late", "dead")]
            hint = did_you_mean(output, producer.outputs)
            if output == "default" and not own and producer.role == "sink":
                self.problem(
                    path, f"{producer.name!r} is a sink", f"{producer.name}.dead or an operator", hint
                )
                return None
            self.no_output(producer, output, producer.outputs, path)
        return schema

    def no_output(
        self, producer: GraphActor, output: str, names: Iterable[str], path: tuple[str | int, ...]
    ) -> None:
        hint = did_you_mean(output, names)
        if output == "default" and not hint:
            hint = "declare `outputs`, or annotate what the hook returns, yields or emits"
        allowed = listed(f"{producer.name}.{name}" for name in names)
        self.problem(path, f"{producer.name!r} has no output {shown(output)}", allowed, hint)
