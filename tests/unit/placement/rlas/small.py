"""Small machines, dataflows and profiles for the tests of RLAS."""

from __future__ import annotations

import random

from actorstream.placement.rlas import (
    Dataflow,
    Flow,
    MachineModel,
    Measured,
    OperatorProfile,
    OutputProfile,
    PlannedOperator,
    Profile,
    Socket,
)
from actorstream.placement.rlas.costs import Costs, costs_of
from actorstream.placement.rlas.dataflow import in_order


def machine(
    sockets: int = 2, cores: int = 2, *, far: float = 300.0, bandwidth: float = 1e12, hertz: float = 1e9
) -> MachineModel:
    each = range(sockets)
    return MachineModel(
        name="small",
        sockets=[Socket(cores=cores, hertz=hertz) for _ in each],
        latency_ns=[[50.0 if i == j else far * (1 + (i // 2 != j // 2)) for j in each] for i in each],
        bandwidth=[[bandwidth] * sockets for _ in each],
    )


def operator(
    execute_ns: float, selectivity: float = 1.0, size: float = 64.0, memory: float = 0.0
) -> OperatorProfile:
    return OperatorProfile(
        batches=[Measured(rows=64, execute_ns={"p50": execute_ns}, memory_bytes=memory)],
        outputs={"default": OutputProfile(selectivity=selectivity, bytes=size)},
    )


def profile(**operators: OperatorProfile) -> Profile:
    return Profile(name="small", hertz=1e9, operators=operators)


def dataflow(*joined: str, replicas: dict[str, int] | None = None, scalable: bool = True) -> Dataflow:
    """`"a>b"` joins a to b; `"a=b"` joins them by forward."""
    names: dict[str, None] = {}
    flows = []
    for each in joined:
        route = "forward" if "=" in each else "broadcast" if "*" in each else "shuffle"
        parts = each.replace("=", ">").replace("*", ">").split(">")
        names.update(dict.fromkeys(parts))
        if len(parts) == 2:
            flows.append(Flow(producer=parts[0], consumer=parts[1], route=route))
    counts = replicas or {}
    operators = [
        PlannedOperator(members=[name], replicas=counts.get(name, 1), scalable=scalable) for name in names
    ]
    return Dataflow(name="small", operators=in_order(operators, flows), flows=flows)


def random_costs(draw: random.Random) -> tuple[Costs, list[int]]:
    """A random graph of 3 or 4 operators with at most 6 replicas, and their numbers."""
    shape = draw.choice([("a>b", "b>c"), ("a>b", "a>c", "b>d", "c>d"), ("a>b", "a>c"), ("a>b", "b=c")])
    flow = dataflow(*shape)
    known = {
        each.name: operator(
            draw.choice([200, 700, 1500]),
            draw.choice([0.5, 1, 2]),
            draw.choice([64, 384]),
            draw.choice([0, 100]),
        )
        for each in flow.operators
    }
    replicas = [1] * len(flow.operators)
    while sum(replicas) < 6:
        replicas[draw.randrange(len(replicas))] += 1
    if "b=c" in shape:
        replicas[2] = replicas[1]
    return costs_of(flow, profile(**known), rows=64), replicas
