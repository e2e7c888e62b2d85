"""Graphs and plans as text, Mermaid and JSON. Answers text; writes and prints nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.drawing.picture import Picture, lane_name, times
from actorstream.topology.plan import ExecutionPlan

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.topology.graph import Graph


def graph_text(graph: Graph) -> str:
    """The logical graph, an actor a line, with what leaves it below."""
    rows = [
        (actor.name, actor.role, times(actor.replicas), actor.type_name) for actor in graph.actors.values()
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [f"{graph.name}: {_count(len(rows), 'actor')}, {_count(len(graph.edges), 'edge')}", ""]
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths))
        lines.append(f"{cells}  {row[3]}".rstrip())
        for edge in graph.consumers(row[0]):
            output = "" if edge.output == "default" else f".{edge.output} "
            lines.append(f"    {output}-> {edge.consumer}: {edge.how} ({schema_text(graph.schema(edge))})")
    return "\n".join(lines) + "\n"


def plan_text(plan: ExecutionPlan) -> str:
    """The execution plan, a worker a line; replicas that call each other are joined by an arrow."""
    deploy = plan.deploy
    head = f"plan {plan.fingerprint:016x}: {_count(len(plan.replicas), 'replica')} on {_count(plan.workers, 'worker')}"
    lines = [f"{head}, transport {deploy.transport}, placement {deploy.placement}", ""]
    chained = {each for chain in plan.chains for each in chain}
    for worker in range(plan.workers):
        chains = [chain for chain in plan.chains if plan.replicas[chain[0]].worker == worker]
        parts = [" -> ".join(plan.replicas[each].name for each in chain) for chain in chains]
        parts += [each.name for each in plan.of_worker(worker) if each.id not in chained]
        lines.append(f"{lane_name(plan, worker)}: {', '.join(parts) or 'nothing'}")
    if plan.channels:
        remote = sum(channel.remote for channel in plan.channels)
        lines += ["", f"{_count(len(plan.channels), 'channel')}, {remote} between workers"]
    return "\n".join(lines) + "\n"


def mermaid(picture: Picture) -> str:
    """The picture as a Mermaid flowchart."""
    numbers = {box.id: f"n{number}" for number, box in enumerate(picture.boxes)}
    lines = ["---", f"title: {_quoted(picture.title)}", "---", "flowchart LR"]
    shapes = {"source": ("([", "])"), "sink": ("[(", ")]"), "gate": ("{{", "}}")}
    for lane, name in enumerate(picture.lanes or [""]):
        if picture.lanes:
            lines.append(f"  subgraph w{lane}[{_quoted(name)}]")
        for box in picture.boxes:
            if picture.lanes and box.lane != lane:
                continue
            opening, closing = shapes.get(box.role, ("[", "]"))
            text = _quoted("<br/>".join((box.title, *box.lines)))
            lines.append(f"  {numbers[box.id]}{opening}{text}{closing}")
        if picture.lanes:
            lines.append("  end")
    for arrow in picture.arrows:
        line = "==>" if arrow.direct else "-->"
        label = f"|{_quoted(arrow.label)}|" if arrow.label else ""
        lines.append(f"  {numbers[arrow.producer]} {line}{label} {numbers[arrow.consumer]}")
    return "\n".join(lines) + "\n"


def graph_json(graph: Graph) -> dict[str, Any]:
    """The logical graph as plain values: actors with the fields of their outputs, and edges."""
    return {
        "name": graph.name,
        "fingerprint": f"{graph.fingerprint:016x}",
        "actors": [
            {
                "name": actor.name,
                "type": actor.type_name,
                "role": actor.role,
                "replicas": actor.replicas,
                "auto": actor.auto,
                "on_error": actor.on_error,
                "outputs": {name: schema_json(schema) for name, schema in actor.outputs.items()},
            }
            for actor in graph.actors.values()
        ],
        "edges": [
            {
                "from": edge.source,
                "to": edge.consumer,
                "input": edge.name,
                "rank": edge.input,
                "route": edge.route,
                "key": list(edge.key),
                "order": edge.order,
                **({"bounds": [str(each) for each in edge.bounds]} if edge.bounds else {}),
            }
            for edge in graph.edges
        ],
    }


def schema_json(schema: Schema) -> dict[str, Any]:
    """A schema as `plan --json` shows it."""
    return {
        "name": schema.name,
        "fingerprint": f"{schema.fingerprint:016x}",
        "event_time": schema.event_time,
        "fields": {field.name: field.kind.value + ("?" if field.nullable else "") for field in schema.fields},
    }


def schema_text(schema: Schema) -> str:
    """ "word: string, count: int64"."""
    kinds = schema_json(schema)["fields"]
    return ", ".join(f"{name}: {kind}" for name, kind in kinds.items())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _quoted(text: str) -> str:
    """Text between the quotes of Mermaid, which knows HTML's names of characters and no escapes."""
    return '"' + text.replace("&", "#amp;").replace('"', "#quot;") + '"'
