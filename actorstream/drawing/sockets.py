"""Plans on sockets as text and pictures: replicas, sockets, predicted rates, what limits. Returns text; writes nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from actorstream.drawing.picture import Arrow, Box, Picture

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actorstream.placement.rlas import Dataflow, SocketPlan


def sockets_text(plan: SocketPlan) -> str:
    """The plan, an operator a line and then a socket a line."""
    count, used = sum(plan.counts().values()), {each.socket for each in plan.replicas}
    sources = f"{amount(plan.ingress)} tuples/s in, {amount(plan.throughput)} tuples/s processed by the sinks"
    lines = [
        f"plan {plan.fingerprint:016x} of {plan.name} for {plan.machine} by {plan.strategy}: "
        f"{count} replicas on {len(used)} of {len(plan.sockets)} sockets",
        f"predicted: {sources}",
        f"bottleneck: {plan.limit}",
        "",
    ]
    head = ("operator", "replicas", "in/s", "out/s", "T^e ns", "T^f ns", "busy", "sockets (replicas)")
    rows = [head]
    for rate in plan.rates:
        places = Counter(plan.sockets_of(rate.operator.partition("+")[0]))
        rows.append(
            (
                rate.operator,
                str(rate.replicas),
                amount(rate.input_rate),
                amount(rate.output_rate),
                f"{rate.execute_ns:,.1f}",
                f"{rate.fetch_ns:,.1f}",
                f"{rate.utilisation:.0%}",
                ", ".join(f"{socket} ({places[socket]})" for socket in sorted(places)),
            )
        )
    lines += _table(rows, left=(0, 7))
    lines.append("")
    sockets: list[tuple[str, ...]] = [("socket", "replicas", "cores", "memory", "busiest channel")]
    sockets += [
        (
            str(each.socket),
            str(each.replicas),
            *(f"{part:.0%}" for part in (each.cpu, each.memory, each.channel)),
        )
        for each in plan.sockets
    ]
    lines += _table(sockets)
    if not plan.complete:
        lines += [
            "",
            f"A search stopped at its limit of steps ({plan.steps:,} in all); more may find a better plan.",
        ]
    return "\n".join(lines) + "\n"


def picture_of_sockets(plan: SocketPlan, dataflow: Dataflow) -> Picture:
    """A lane for each socket that is used, a box for each operator on it with the number of its replicas."""
    used = sorted({each.socket for each in plan.replicas})
    lanes = {socket: lane for lane, socket in enumerate(used)}
    use = {each.socket: each for each in plan.sockets}
    picture = Picture(f"{plan.name} on {plan.machine}: {amount(plan.throughput)} tuples/s, {plan.limit}")
    picture.lanes = [f"socket {socket}: cores {use[socket].cpu:.0%}" for socket in used]
    reads = {flow.consumer for flow in dataflow.flows}
    sends = {flow.producer for flow in dataflow.flows}
    on: dict[int, list[str]] = {}
    for number, (operator, rate) in enumerate(zip(dataflow.operators, plan.rates)):
        places = Counter(plan.sockets_of(operator.members[0]))
        members = set(operator.members)
        role = "source" if not members & reads else "operator" if members & sends else "sink"
        mark = ("bottleneck",) if operator.name == plan.bottleneck else ()
        for socket in sorted(places):
            lines = (f"×{places[socket]}", f"busy {rate.utilisation:.0%}", *mark)
            box = Box(f"{operator.name}@{socket}", operator.name, lines, role, operator.name, lanes[socket])
            picture.boxes.append(box)
            on.setdefault(number, []).append(box.id)
    operator_of = dataflow.operator_of()
    pairs = {(operator_of[flow.producer], operator_of[flow.consumer]) for flow in dataflow.flows}
    for first, second in sorted(pairs):
        if first != second:
            picture.arrows += [Arrow(a, b) for a in on.get(first, ()) for b in on.get(second, ())]
    return picture


def amount(value: float) -> str:
    """ "8.29 M": a number with three digits that count."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{unit}" if value < 999.5 * size else f"{value / size:.0f}{unit}"
    return f"{value:.3g}"


def _table(rows: Iterable[tuple[str, ...]], left: tuple[int, ...] = (0,)) -> list[str]:
    table = list(rows)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in table
    ]
