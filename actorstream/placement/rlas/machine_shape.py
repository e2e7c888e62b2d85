"""A machine model from what an operating system or lstopo tells: nodes, cores and relative distances. Pure.

They give no nanoseconds and no bytes per second. Those are assumed here, in proportion to the distances, and `name` says so;
measured ones replace them.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorstream.placement.rlas.machine_model import MachineModel, Socket, check_machine_model
from actorstream.topology.machine import Machine

LOCAL_NS = 90.0
"""Assumed: nanoseconds to local memory, at the distance 10."""
LOCAL_BYTES = 20e9
"""Assumed: bytes per second of a node's memory."""
HERTZ = 2.5e9
"""Assumed: cycles per second of a core."""


def shaped(
    name: str,
    cpus: Sequence[Sequence[int]],
    distances: Sequence[Sequence[float]],
    nodes: Sequence[int] = (),
    *,
    hertz: float = HERTZ,
    host: str = "",
    file: str = "",
) -> MachineModel:
    """The model of nodes with so many CPUs and such distances (10: local), with assumed figures. `file`: where these are from.

    ConfigurationError: the matrix of distances is incomplete or not symmetric."""
    rows = [[float(each) for each in row] for row in distances]
    numbers = list(nodes) or list(range(len(cpus)))
    sockets = [
        Socket(cores=max(len(mine), 1), hertz=hertz, cpus=list(mine), node=node, host=host)
        for mine, node in zip(cpus, numbers)
    ]
    return check_machine_model(
        MachineModel(
            name=f"{name} (latencies and bandwidths assumed)",
            sockets=sockets,
            latency_ns=[[LOCAL_NS * each / 10 for each in row] for row in rows],
            bandwidth=[[LOCAL_BYTES * 10 / each if each else 0.0 for each in row] for row in rows],
        ),
        file,
    )


def shape_of(machine: Machine, name: str, *, hertz: float = HERTZ, host: str = "") -> MachineModel:
    """The model of the cores that a process may use, with assumed figures. Nodes without such cores are left out."""
    owners = sorted({core.node for core in machine.cores})
    known = {node.id: node.distances for node in machine.nodes}
    order = [node.id for node in machine.nodes]
    distances = [[_distance(known.get(i, ()), order, i, j) for j in owners] for i in owners]
    cpus = [[core.id for core in machine.cores if core.node == owner] for owner in owners]
    return shaped(name, cpus, distances, owners, hertz=hertz, host=host)


def _distance(row: tuple[int, ...], order: list[int], i: int, j: int) -> float:
    at = order.index(j) if j in order else -1
    return float(row[at]) if 0 <= at < len(row) else 10.0 if i == j else 20.0
