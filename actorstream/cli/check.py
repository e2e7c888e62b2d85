"""`actorstream check`: is a topology right? Lists all problems at once; runs nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from actorstream.dgs.consistency.trial import Tried
    from actorstream.errors import ConfigurationError
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph


def check(
    topology: Path,
    /,
    *,
    deploy: Path | None = None,
    plan: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    workers: int | None = None,
    transport: str | None = None,
    examples: int = 60,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """List everything that is wrong with a topology.

    Reads the files, finds and checks the types of all actors and their keys, and follows the schemas through the graph.
    Each problem names its file and line, what is allowed, and the nearest valid name. Programs (`order = "dependency"`)
    are tried on random states and events: an example is shown for each condition of consistency that one breaks. Exit
    status: 0 all right, 2 there are problems.

    Parameters
    ----------
    topology
        The topology file (TOML).
    deploy
        The deployment file (TOML) to check with it.
    plan
        An execution plan to check against the topology.
    set
        Overrides one key: actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE; may be given several times.
    workers
        Worker processes; short for --set deploy.workers=N.
    transport
        How bytes move between them; short for --set deploy.transport=T.
    examples
        How many random examples each program is tried on; 0: none.
    json_
        Prints the answer to stdout as JSON.
    """
    from actorstream.dgs.consistency.trial import try_programs
    from actorstream.errors import ConfigurationError
    from actorstream.plan.compile import available, graph_of_plan
    from actorstream.plan.registry import registry
    from actorstream.topology.inputs import read_inputs
    from actorstream.topology.plan import load_plan

    try:
        given = load_plan(plan) if plan is not None else None
        found = read_inputs(
            topology,
            deploy,
            set or [],
            registry=registry(),
            available=available(),
            replicas=given.counts() if given is not None else None,
            workers=workers,
            transport=transport,
        )
        if given is not None:
            graph_of_plan(given, found.graph, str(plan))
    except ConfigurationError as error:
        if json_:
            print(json.dumps(problems_json(error), indent=2))
        else:
            print(error, file=sys.stderr)
        return 2
    graph = found.graph
    if given is None:
        notes = noted(graph, found.deploy, asks_workers=workers is not None or deploy is not None)
    else:
        notes = noted(graph, given.deploy, asks_workers=False)
    tried = try_programs(graph, examples)
    notes += tried.notes
    if tried.broken or tried.refused:
        if json_:
            print(json.dumps(tried_json(tried, graph), indent=2))
        else:
            for name, message in tried.refused.items():
                print(f"{_place(graph, name)}: {message}\n", file=sys.stderr)
            for name, violations in tried.broken.items():
                for violation in violations:
                    print(f"{_place(graph, name)}: {violation}\n", file=sys.stderr)
        return 2
    if json_:
        names = {"topology": graph.name, "fingerprint": f"{graph.fingerprint:016x}"}
        print(
            json.dumps({"ok": True, **names, "problems": [], **({"notes": notes} if notes else {})}, indent=2)
        )
    else:
        print(
            f"{topology}: all right, {_counted(len(graph.actors), 'actor')} and {_counted(len(graph.edges), 'edge')}"
        )
        for note in notes:
            print(f"note: {note}")
    return 0


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def noted(graph: Graph, deploy: DeploySpec, *, asks_workers: bool) -> list[str]:
    """Lists settings that are allowed, but that the user may not have meant. asks_workers: whether workers were asked for."""
    from actorstream.actors.unkept_state import unkept
    from actorstream.placement.spread import idle_workers
    from actorstream.plan.event_time import idle_sources
    from actorstream.plan.pooling import without_kernel
    from actorstream.topology.arrival import by_arrival
    from actorstream.topology.hosts import without_effect

    notes = [
        f"{name}: with idle_timeout, results may depend on time: what comes after the source was silent may be late"
        for name in idle_sources(graph)
    ]
    notes += [
        f'{name}: {what}, since its rows come by several ways; order = "timestamp" on its inputs decides it by time, '
        "input and position"
        for name, what in by_arrival(graph).items()
    ]
    notes += [
        f"{name}: its contract has pool_limit {limit:g}, but no thread runs it, since its class has neither `prepare` nor "
        "`link` beside `on_batch`; write one of them, or leave pool_limit out"
        for name, limit in without_kernel(graph).items()
    ]
    if deploy.checkpoint is not None:
        notes += [
            f"{actor.name}: {method} changes self.{attribute}, which no checkpoint keeps, so it begins anew after --resume; keep "
            "it in self.state, or override snapshot and restore"
            for actor in graph.actors.values()
            for attribute, method in unkept(actor.cls).items()
        ]
    if asks_workers and deploy.placement == "spread":
        notes += [
            f'worker {worker} has nothing to do: no actor has so many replicas, and placement = "spread" puts replica i on '
            f'worker i mod {deploy.workers}; give actors replicas, or say placement = "first-fit" or "round-robin"'
            for worker in idle_workers(graph, deploy)
        ]
    notes += without_effect(deploy.hosts, deploy.network, deploy.transport)
    return notes


def problems_json(error: ConfigurationError) -> dict[str, object]:
    """`{"ok": false, "problems": [{"where", "message", "allowed", "hint", "file", "line"}]}`."""
    from actorstream.errors import shortened

    keys = ("where", "message", "allowed", "hint", "file", "line")
    problems = [
        {key: shortened(value) if isinstance(value := getattr(problem, key), str) else value for key in keys}
        for problem in error.problems
    ]
    return {"ok": False, "problems": problems}


def _place(graph: Graph, name: str) -> str:
    actor = graph.actors[name]
    return f"{actor.file}:{actor.line}: actors.{name}"


def _placed(graph: Graph, name: str) -> dict[str, object]:
    actor = graph.actors[name]
    return {"where": f"actors.{name}", "file": actor.file, "line": actor.line}


def tried_json(tried: Tried, graph: Graph) -> dict[str, object]:
    """As `problems_json`, of programs that were tried: `where` is the actor; where one is not consistent, `example` is what
    breaks the condition in `allowed`."""
    from actorstream.dgs.consistency.conditions import CONDITIONS

    problems: list[dict[str, object]] = [
        {**_placed(graph, name), "message": message} for name, message in tried.refused.items()
    ]
    problems += [
        {
            **_placed(graph, name),
            "message": f"{each.program} is not consistent: {each.condition}",
            "allowed": CONDITIONS[each.condition],
            "example": [list(line) for line in each.example],
        }
        for name, violations in tried.broken.items()
        for each in violations
    ]
    return {"ok": False, "problems": problems}
