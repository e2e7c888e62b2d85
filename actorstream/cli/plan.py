"""`actorstream plan`: the graph of a topology and the execution plan, as text, JSON, Mermaid or SVG; runs nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from actorstream.drawing.picture import Picture
    from actorstream.plan.gates import Gated
    from actorstream.topology.graph import Graph
    from actorstream.topology.plan import ExecutionPlan


def plan(
    topology: Path,
    /,
    *,
    deploy: Path | None = None,
    plan: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    workers: int | None = None,
    transport: str | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
    mermaid: Annotated[bool, Parameter(negative=())] = False,
    svg: Path | None = None,
    graph: Annotated[bool, Parameter(negative=())] = False,
    save: Path | None = None,
    machine: Path | None = None,
    profile: Path | None = None,
    strategy: str = "rlas",
    as_written: Annotated[bool, Parameter(negative=())] = False,
    ingress: float = 0.0,
    compression: int = 5,
    divide: Annotated[bool, Parameter(negative=())] = False,
    steps: int = 200_000,
) -> int:
    """Show the graph of a topology and where its replicas run.

    The logical graph shows actors, routes and schemas; the execution plan shows which replica runs on which worker, and
    which neighbours call each other directly; a synchronization plan shows the tree of a program's workers, their tags
    with events/s, and their processes. With --machine: what RLAS plans for that machine instead, with the socket of each
    replica, the rates that its model predicts, and the bottleneck. Exit status: 0 done, 2 the input is wrong.

    Parameters
    ----------
    topology
        The topology file (TOML).
    deploy
        The deployment file (TOML).
    plan
        An execution plan to show instead of making one.
    set
        Overrides one key: actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE; may be given several times.
    workers
        Worker processes; short for --set deploy.workers=N.
    transport
        How bytes move between them; short for --set deploy.transport=T.
    json_
        Prints graph and plan as one JSON object.
    mermaid
        Prints them as Mermaid flowcharts.
    svg
        Draws the logical graph into this file, the execution plan into NAME.plan.svg beside it, and the synchronization
        plan of each program into NAME.ACTOR.svg.
    graph
        Shows the logical graph only.
    save
        Writes the execution plan to this file, for `launch --plan`.
    machine
        A machine model (TOML, or the XML of lstopo) to plan for, such as deploy/machines/server-a.toml.
    profile
        The costs of the operators, in a file of `actorstream profile`; unless set, profile.toml beside the topology.
    strategy
        How the plan for a machine is made: rlas, fix-l, fix-u, first-fit, round-robin or random.
    as_written
        Keeps the numbers of replicas that the topology has on that machine, but for `replicas = "auto"`.
    ingress
        Tuples per second that the sources are offered on that machine; as many as they can make unless set.
    compression
        How many replicas of an operator are placed as one at first.
    divide
        Gives an operator more replicas whose replicas are too large for the cores, the memory or the channels of a socket.
    steps
        Nodes that one placement search visits at most.
    """
    from actorstream.cli.output_file import check_output, write_output
    from actorstream.errors import ConfigurationError, Problem
    from actorstream.plan.compile import available, graph_and_plan, graph_of_plan, make_job, with_counts
    from actorstream.plan.fuse import direct_calls, merged_calls
    from actorstream.plan.gates import described, wants_gates
    from actorstream.plan.preaggregate import pre_aggregated
    from actorstream.plan.registry import registry
    from actorstream.topology.inputs import read_inputs
    from actorstream.topology.plan import load_plan

    if json_ and mermaid:
        raise ConfigurationError(Problem("--mermaid", "is given beside --json", "one of them"))
    without = {"--plan": plan is not None, "--save": save is not None, "--graph": graph}
    searched = {
        "--profile": profile is not None,
        "--strategy": strategy != "rlas",
        "--as-written": as_written,
        "--ingress": ingress != 0,
        "--compression": compression != 5,
        "--divide": divide,
        "--steps": steps != 200_000,
    }
    message = (
        ("is given beside --machine", "one of them") if machine else ("is given", "beside --machine FILE")
    )
    if problems := [
        Problem(name, *message) for name, used in (without if machine else searched).items() if used
    ]:
        raise ConfigurationError(problems)
    if save is not None:
        check_output(save, "--save")
    if svg is not None:
        check_output(svg, "--svg")
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
    if machine is not None:
        from actorstream.cli.socket_plan import plan_options, show_socket_plan

        return show_socket_plan(
            pre_aggregated(found.graph, found.deploy),
            found.deploy,
            topology,
            machine,
            profile=profile,
            options=plan_options(strategy, ingress, compression, steps, divide),
            as_written=as_written,
            json_=json_,
            mermaid=mermaid,
            svg=svg,
        )
    if given is not None:
        running, made = graph_of_plan(given, found.graph, str(plan)), given
    else:
        running, made = graph_and_plan(found)
    written = with_counts(found.graph, made.counts())
    if save is not None:
        write_output(save, made.saved(), "--save")
    shown = None if graph else made
    gates = described(make_job(running, made)) if wants_gates(made.deploy) and not graph else {}
    merged = merged_calls(running, made, direct_calls(running, made))
    if json_:
        print(json.dumps(as_json(written, shown, gates, merged), indent=2))
    elif mermaid:
        sys.stdout.write(as_mermaid(written, shown, gates, merged))
    elif svg is None:
        sys.stdout.write(as_text(written, shown, gates, merged))
    if svg is not None:
        write_svg(svg, written, shown, gates, merged)
    return 0


def as_text(
    graph: Graph, plan: ExecutionPlan | None, gates: Mapping[str, Gated], merged: Collection[int]
) -> str:
    """gates: who merges input in timestamp order, by actor. merged: channels that batches need not wait in."""
    from actorstream.drawing.text import graph_text, plan_text
    from actorstream.drawing.tree import tree_text

    if plan is None:
        return graph_text(graph)
    trees = "".join(f"\n{tree_text(each)}" for each in plan.dependencies)
    merges = "".join(f"{name}: {_merging(each)}\n" for name, each in gates.items())
    called = "".join(
        f"{name}: called past its channels by {', '.join(by)}\n"
        for name, by in _callers(plan, merged).items()
    )
    return f"{graph_text(graph)}\n{plan_text(plan)}{called}{merges}{trees}"


def _callers(plan: ExecutionPlan, merged: Collection[int]) -> dict[str, list[str]]:
    """Replica of several inputs -> those that call it while nothing waits in their channels."""
    found: dict[str, list[str]] = {}
    for each in plan.channels:
        if each.id in merged:
            found.setdefault(plan.replicas[each.consumer].name, []).append(plan.replicas[each.producer].name)
    return found


def _merging(each: Gated) -> str:
    if not each.gates:
        return f"no ScaleGate: {each.why}"
    if each.replicas == 1:
        return "one ScaleGate"
    if each.gates == 1:
        return "one ScaleGate for all replicas"
    return "one ScaleGate for each replica" + (f": {each.why}" if each.why else "")


def as_json(
    graph: Graph, plan: ExecutionPlan | None, gates: Mapping[str, Gated], merged: Collection[int]
) -> dict[str, object]:
    """`{"graph": {…}, "plan": {…, "fingerprint": "…"}, "callers": {REPLICA: [REPLICA, …]}, "gates": {ACTOR: {"gates": 1,
    "replicas": 3, "why": ""}}, "trees": {ACTOR: {…}}}`; callers only of operators of several inputs that are called past their
    channels, gates only where the deployment asks for them, trees only where there are programs."""
    from actorstream.drawing.text import graph_json
    from actorstream.drawing.tree import tree_json

    found: dict[str, object] = {"graph": graph_json(graph)}
    if plan is not None:
        found["plan"] = {"fingerprint": f"{plan.fingerprint:016x}", **msgspec.to_builtins(plan)}
        if callers := _callers(plan, merged):
            found["callers"] = callers
        if gates:
            found["gates"] = {name: each._asdict() for name, each in gates.items()}
        if plan.dependencies:
            found["trees"] = {each.actor: tree_json(each) for each in plan.dependencies}
    return found


def as_mermaid(
    graph: Graph, plan: ExecutionPlan | None, gates: Mapping[str, Gated], merged: Collection[int]
) -> str:
    """The drawings as one text of Mermaid."""
    from actorstream.drawing.text import mermaid

    return "\n".join(mermaid(picture) for picture in pictures(graph, plan, gates, merged))


def write_svg(
    path: Path,
    graph: Graph,
    plan: ExecutionPlan | None,
    gates: Mapping[str, Gated],
    merged: Collection[int],
) -> None:
    """Writes the drawings and says where."""
    from actorstream.cli.output_file import write_output
    from actorstream.drawing.svg import svg

    trees = [path.with_suffix(f".{each.actor}{path.suffix}") for each in plan.dependencies] if plan else []
    paths = [path, path.with_suffix(f".plan{path.suffix}"), *trees]
    for file, picture in zip(paths, pictures(graph, plan, gates, merged)):
        write_output(file, svg(picture), "--svg")
        print(f"wrote {file}", file=sys.stderr)


def pictures(
    graph: Graph, plan: ExecutionPlan | None, gates: Mapping[str, Gated], merged: Collection[int]
) -> list[Picture]:
    """The graph; the execution plan, if there is one; and the trees of its programs."""
    from actorstream.drawing.picture import picture_of_graph, picture_of_plan
    from actorstream.drawing.tree import picture_of_tree

    roles = {actor.name: actor.role for actor in graph.actors.values()}
    merges = {name: (each.gates, each.why) for name, each in gates.items()}
    plans = [picture_of_plan(plan, roles, merges, merged)] if plan is not None else []
    plans += [picture_of_tree(each) for each in plan.dependencies] if plan is not None else []
    return [picture_of_graph(graph), *plans]
