"""What a placement reaches when back-pressure slows its sources until nothing is over-supplied: rates, loads, what limits. Pure.

At that ingress every operator is in case 2 of Formula 1, and Eq. 3, 4 and 5 hold, so all rates are proportional to the ingress
and the highest load relative to what there is gives it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actorstream.placement.rlas.instance import Instance
from actorstream.placement.rlas.socket_plan import PredictedRate, SocketUse


class Prediction(msgspec.Struct, frozen=True):
    """See SocketPlan for the fields."""

    ingress: float
    throughput: float
    rates: list[PredictedRate]
    sockets: list[SocketUse]
    bottleneck: str
    limit: str


def predicted(instance: Instance, places: Sequence[int]) -> Prediction:
    """The rates of a whole placement, one group for each replica or not."""
    costs, machine, count = instance.costs, instance.machine, instance.sockets
    busy, cpu, memory, channels = instance.problem.loads(places)
    ingress = 1 / max(instance.problem.peak(places), 1e-300)
    totals = costs.totals(instance.replicas)
    rates = []
    for number, operator in enumerate(costs.dataflow.operators):
        mine = [n for n, group in enumerate(instance.groups) if group.operator == number]
        enters = sum(rate for _, rate in costs.entering(number, totals))
        leaves = sum(totals[n] for n, (a, b) in enumerate(costs.flows) if a == number and a != b)
        execute = sum(instance.execute[n][places[n]] for n in mine)
        fetch = sum(float(busy[n]) for n in mine) - execute
        per_tuple = 1e9 / enters if enters else 0.0
        rates.append(
            PredictedRate(
                operator=operator.name,
                replicas=instance.replicas[number],
                input_rate=enters * ingress,
                output_rate=(enters if number in costs.sinks() else leaves) * ingress,
                utilisation=max(float(busy[n]) / instance.divisor[n] for n in mine) * ingress,
                execute_ns=execute * per_tuple,
                fetch_ns=max(fetch, 0.0) * per_tuple,
            )
        )
    sockets = []
    for socket in range(count):
        incoming = [
            float(channels[each, socket]) / machine.bandwidth[each][socket] * ingress
            for each in range(count)
            if each != socket
        ]
        sockets.append(
            SocketUse(
                socket=socket,
                replicas=sum(instance.groups[n].size for n, place in enumerate(places) if place == socket),
                cpu=float(cpu[socket]) / machine.sockets[socket].cores * ingress,
                memory=float(memory[socket]) / machine.bandwidth[socket][socket] * ingress,
                channel=max(incoming, default=0.0),
            )
        )
    throughput = sum(rates[number].output_rate for number in costs.sinks())
    bottleneck, limit = _limit(instance, rates, sockets, ingress)
    return Prediction(ingress, throughput, rates, sockets, bottleneck, limit)


def _limit(
    instance: Instance, rates: list[PredictedRate], sockets: list[SocketUse], ingress: float
) -> tuple[str, str]:
    """The operator that limits, if one does, and what limits in words."""
    if instance.ingress and ingress > instance.ingress * (1 - 1e-9):
        return "", "the offered ingress, all of which is processed"
    busiest = max(rates, key=lambda each: each.utilisation)
    if busiest.utilisation > 1 - 1e-6:
        replicas = "its replica works" if busiest.replicas == 1 else f"its {busiest.replicas} replicas work"
        return busiest.operator, f"operator {busiest.operator}: {replicas} all the time"
    parts = [(each.cpu, f"socket {each.socket}: its cores work all the time (Eq. 3)") for each in sockets]
    parts += [
        (each.memory, f"socket {each.socket}: its memory bandwidth is used up (Eq. 4)") for each in sockets
    ]
    parts += [(each.channel, f"socket {each.socket}: a channel to it is used up (Eq. 5)") for each in sockets]
    return "", max(parts, key=lambda each: each[0])[1]
