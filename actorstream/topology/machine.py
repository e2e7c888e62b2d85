"""The machine a plan is made for: cores, memory nodes, CPU quota. Placements take it as an argument.

Only `read_machine` looks at a real one (affinity, /sys, cgroup); nothing here changes anything.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import msgspec

from actorstream.native.cpus import usable_cpus


class Core(msgspec.Struct, frozen=True):
    """One logical CPU that this process may use, and the memory node it belongs to."""

    id: int
    node: int = 0


class NumaNode(msgspec.Struct, frozen=True):
    """One NUMA node: its memory in bytes (0: unknown), and its distance to each node as the firmware says."""

    id: int
    memory: int = 0
    distances: tuple[int, ...] = ()


class Machine(msgspec.Struct, frozen=True):
    """Cores of the affinity mask in ascending order, nodes, and the cgroup's CPU quota (None: no quota)."""

    cores: tuple[Core, ...]
    nodes: tuple[NumaNode, ...] = (NumaNode(0),)
    quota: float | None = None

    @property
    def parallelism(self) -> int:
        """How many threads can run at once: cores, cut by the quota; at least 1."""
        cores = len(self.cores)
        return max(1, cores if self.quota is None else min(cores, round(self.quota)))

    @classmethod
    def of_cores(cls, count: int, nodes: int = 1) -> Machine:
        """A machine of `count` cores dealt evenly to `nodes` nodes, for tests and for planning elsewhere."""
        cores = tuple(Core(number, number * nodes // count) for number in range(count))
        return cls(cores, tuple(NumaNode(number) for number in range(nodes)))


def read_machine(root: Path = Path("/"), cpus: Collection[int] = ()) -> Machine:
    """This machine, as this process may use it. `root`: where /sys and /proc are looked for. `cpus`: those that count, in
    place of this process's affinity mask."""
    mask = sorted(cpus) or (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )
    folder = root / "sys/devices/system/node"
    nodes: list[NumaNode] = []
    owner: dict[int, int] = {}
    for each in sorted(folder.glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
        number = int(each.name[4:])
        owner.update(dict.fromkeys(parse_cpu_list(_text(each / "cpulist")), number))
        distances = tuple(int(word) for word in _text(each / "distance").split())
        nodes.append(NumaNode(number, _memory_total(_text(each / "meminfo")), distances))
    cores = tuple(Core(cpu, owner.get(cpu, 0)) for cpu in mask)
    usable = usable_cpus(str(root).rstrip("/"), len(mask))
    return Machine(cores, tuple(nodes) or (NumaNode(0),), usable if usable < len(cores) else None)


def parse_cpu_list(text: str) -> list[int]:
    """ "0-3,8" as [0, 1, 2, 3, 8]."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            found.extend(range(int(first), int(last or first) + 1))
    return found


def _memory_total(meminfo: str) -> int:
    for line in meminfo.splitlines():
        if "MemTotal" in line:
            return int(line.split()[-2]) * 1024
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
