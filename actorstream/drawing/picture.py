"""What there is to draw of a topology, graph or plan: boxes, arrows and lanes, before any format. Pure data."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from actorstream.topology.graph import Edge, Graph
from actorstream.topology.plan import ExecutionPlan, PlannedReplica
from actorstream.topology.routes import default_route
from actorstream.topology.spec import TopologySpec
from actorstream.topology.timestamp import TIMESTAMP


class Box(msgspec.Struct, frozen=True):
    """One actor, or one replica of it. `column`: what its place from left to right follows (the actor's name)."""

    id: str
    title: str
    lines: tuple[str, ...]
    role: str
    column: str
    lane: int = 0


class Arrow(msgspec.Struct, frozen=True):
    """Rows that go from one box to another; `direct`: by a call, with no queue between."""

    producer: str
    consumer: str
    label: str = ""
    direct: bool = False


class Picture(msgspec.Struct):
    """A drawing. Boxes in topological order; `lanes` names the workers of a plan, and is empty for a graph."""

    title: str
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    lanes: list[str] = []


def picture_of_graph(graph: Graph) -> Picture:
    """The logical graph: a box for each actor with its type, an arrow for each edge with its route."""
    picture = Picture(graph.name)
    for actor in graph.actors.values():
        lines = (short(actor.type_name), times(actor.replicas))
        picture.boxes.append(Box(actor.name, actor.name, lines, actor.role, actor.name))
    picture.arrows.extend(Arrow(edge.producer, edge.consumer, label_of(edge)) for edge in graph.edges)
    return picture


def picture_of_spec(spec: TopologySpec) -> Picture:
    """A topology as it was written, unchecked: roles are guessed from who reads whom."""
    picture = Picture(spec.name)
    read = {each.actor for actor in spec.actors.values() for each in actor.inputs}
    for actor in spec.actors.values():
        role = "source" if not actor.inputs else "operator" if actor.name in read else "sink"
        lines = (short(actor.type_name), times(actor.replicas))
        picture.boxes.append(Box(actor.name, actor.name, lines, role, actor.name))
        for each in actor.inputs:
            producer = spec.actors.get(each.actor)
            if producer is None:
                continue
            counts = [one.replicas if isinstance(one.replicas, int) else 0 for one in (producer, actor)]
            route = each.route or default_route(each, counts[0], counts[1])
            route = route if isinstance(route, str) else route.__name__
            label = f"{route} {', '.join(each.keys)}".rstrip()
            output = "" if each.output == "default" else f".{each.output} · "
            picture.arrows.append(Arrow(each.actor, actor.name, output + label))
    return picture


def picture_of_plan(
    plan: ExecutionPlan,
    roles: dict[str, str] | None = None,
    gates: Mapping[str, tuple[int, str]] | None = None,
    merged: Collection[int] = (),
) -> Picture:
    """The execution plan: a lane for each worker, a box for each replica and each ScaleGate, an arrow for each channel or
    direct call.

    gates: actors with input in timestamp order -> ScaleGates before their replicas, and why there are none, or none is
        shared. merged: channels that batches need not wait in."""
    roles, gates = roles or {}, gates or {}
    picture = Picture(f"{plan.name}: {plan.fingerprint:016x}")
    picture.lanes = [lane_name(plan, worker) for worker in range(plan.workers)]
    for replica in plan.replicas:
        role = roles.get(replica.actor, "operator")
        count, why = gates.get(replica.actor, (0, ""))
        if count and _gate_before(plan, replica, count) == f"{replica.name} gate":
            box = Box(
                f"{replica.name} gate", "ScaleGate", (), "gate", f"{replica.actor} gate", replica.worker
            )
            picture.boxes.append(box)
        lines = (f"no {'shared ' if count else ''}ScaleGate: {why}",) if why else ()
        picture.boxes.append(Box(replica.name, replica.name, lines, role, replica.actor, replica.worker))
    names = [replica.name for replica in plan.replicas]
    for chain in plan.chains:
        reads = {(plan.replicas[a].actor, plan.replicas[b].actor) for a in chain for b in chain if a != b}
        for edge in plan.edges:
            producer = edge.source.partition(".")[0]
            if (producer, edge.consumer) in reads:
                ends = {plan.replicas[each].actor: names[each] for each in chain}
                picture.arrows.append(Arrow(ends[producer], ends[edge.consumer], direct=True))
    arrows: dict[Arrow, None] = {}
    for each in plan.channels:
        reader = plan.replicas[each.consumer]
        count = gates.get(reader.actor, (0, ""))[0]
        if count and TIMESTAMP in plan.edges[each.edge].how:
            gate = _gate_before(plan, reader, count)
            arrows[Arrow(names[each.producer], gate)] = arrows[Arrow(gate, reader.name)] = None
        else:
            picture.arrows.append(Arrow(names[each.producer], reader.name, direct=each.id in merged))
    picture.arrows.extend(arrows)
    return picture


def _gate_before(plan: ExecutionPlan, reader: PlannedReplica, count: int) -> str:
    """The box of the ScaleGate that a replica reads: its own, or that of the first if one does for all."""
    own = count > 1
    first = next(each for each in plan.replicas if each.actor == reader.actor and (not own or each is reader))
    return f"{first.name} gate"


def lane_name(plan: ExecutionPlan, worker: int) -> str:
    """ "worker 0 (core 2, node 0)", as far as the plan names them."""
    mine = plan.of_worker(worker)
    if not mine or mine[0].core < 0:
        return f"worker {worker}"
    return f"worker {worker} (core {mine[0].core}, node {mine[0].node})"


def label_of(edge: Edge) -> str:
    """What stands at an edge: the output, unless it is the default one, and the route."""
    return edge.how if edge.output == "default" else f".{edge.output} · {edge.how}"


def short(type_name: str) -> str:
    """The class without its module."""
    return type_name.rpartition(":")[2]


def times(replicas: int | str) -> str:
    """Numbers of replicas as drawings show them."""
    return "×auto" if replicas == "auto" else f"×{replicas}"
