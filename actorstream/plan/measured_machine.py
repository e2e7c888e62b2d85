"""The machine model of this machine: what /sys says of it, and short measurements that are kept for the next time."""

from __future__ import annotations

import hashlib
import os
import socket as network
from collections.abc import Sequence
from pathlib import Path

from actorstream.errors import ActorstreamError
from actorstream.native.cpus import clock_hertz, processor
from actorstream.native.memory import memory_left
from actorstream.native.nodes import NodeMemory, can_bind, core_ns
from actorstream.placement.rlas import MachineModel, Socket, load_machine_model, machine_text
from actorstream.topology.machine import Machine, read_machine

VERSION = 4
"""Of what is measured; what other versions have kept is measured again."""
LINE = 64
LEAST_BYTES, MOST_BYTES = 16 << 20, 256 << 20
"""Of the memory on each node that is read; a tenth of what is left, within these."""
STEPS = 20_000
"""Lines that are read one after the other for a latency."""


def this_machine(cpus: Sequence[int] = (), *, again: bool = False) -> MachineModel:
    """The model of this machine as this process may use it: the cores of its affinity mask, at most as many as its cgroup's
    quota leaves, node by node. Latencies and bandwidths are measured once (about a second a node) and kept in
    ``$XDG_CACHE_HOME/actorstream/machines/``.

    cpus: those of several processes together; where the system does not let this process measure them all, its own count.
    again: measures even if there is a measurement."""
    machine = read_machine(cpus=cpus if can_bind(cpus) else ())
    nodes = usable_nodes(machine)
    file = _folder() / f"{_identity(nodes)}.toml"
    if not again:
        try:
            return load_machine_model(file)
        except ActorstreamError:
            """There is none yet, or it is damaged."""
    model = measured(nodes)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(machine_text(model))
        part.replace(file)
    except OSError:
        """It is measured again the next time."""
    return model


def usable_nodes(machine: Machine) -> dict[int, list[int]]:
    """Memory node -> the cores that may be used at the same time; nodes without any are left out."""
    found: dict[int, list[int]] = {}
    for core in sorted(machine.cores, key=lambda each: (each.node, each.id))[: machine.parallelism]:
        found.setdefault(core.node, []).append(core.id)
    return found


def measured(nodes: dict[int, list[int]]) -> MachineModel:
    """Measures every pair of nodes. A node that memory cannot be bound to counts as the one that the system gave."""
    left = memory_left().available // 10
    size = max(LEAST_BYTES, min(MOST_BYTES, left)) // (2 << 20) * (2 << 20)
    latency = [[0.0] * len(nodes) for _ in nodes]
    bandwidth = [[0.0] * len(nodes) for _ in nodes]
    for j, owner in enumerate(nodes):
        memory = NodeMemory(size, owner, LINE)
        for i, cpus in enumerate(nodes.values()):
            latency[i][j] = memory.latency_ns(cpus[0], STEPS)
            bandwidth[j][i] = memory.bandwidth(cpus)
    hertz = clock_hertz()
    return MachineModel(
        name=network.gethostname() or "this machine",
        sockets=[Socket(cores=len(cpus), hertz=hertz, cpus=cpus, node=node) for node, cpus in nodes.items()],
        latency_ns=_symmetric(latency, 0.1),
        bandwidth=_symmetric(bandwidth, 1e6),
        cache_line=LINE,
        core_ns=round(
            max(
                (core_ns(cpus[0], cpus[1], LINE) for cpus in nodes.values() if len(cpus) > 1),
                default=0.0,
            ),
            1,
        ),
    )


def _symmetric(matrix: list[list[float]], unit: float) -> list[list[float]]:
    """Each value and its mirror image as their mean, in whole units."""
    size = range(len(matrix))
    return [
        [round(max(1, round((matrix[i][j] + matrix[j][i]) / 2 / unit)) * unit, 1) for j in size] for i in size
    ]


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "actorstream" / "machines"


def _identity(nodes: dict[int, list[int]]) -> str:
    """What a measurement depends on, as text of 16 digits."""
    return hashlib.sha256(f"{network.gethostname()}\0{processor()}\0{nodes}\0{VERSION}".encode()).hexdigest()[
        :16
    ]
