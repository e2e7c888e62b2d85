"""Whether this machine's limits let a fabric exist, and how much address space its arenas may reserve.

Said before anything is made, as a ResourceError that names the limit and what to do: later it would be a bus error or
a kill. Reads limits; takes nothing.
"""

from __future__ import annotations

import resource
from pathlib import Path

import msgspec

from actorstream.errors import ResourceError
from actorstream.native.memory import UNLIMITED, ResourceLimits, memory_left, resource_limits

MIB = 1 << 20
GIB = 1 << 30
ROOM_PER_WORKER = 512 * MIB
"""Address space left to a worker beside the arenas: interpreter, NumPy, Arrow, its own heap."""
SPARE_FILES = 64
SPARE_MAPS = 256
WISHED_ARENA = 4 * GIB
"""Address space of an arena where nothing limits it; it costs nothing until memory is committed."""
BUDGETS_PER_ARENA = 16
"""An arena reserves at least this many times the budgets of its channels: kept views, larger jumbo tuples, holes."""
LEAST_BUDGETS = 2
LEAST_ARENA = 32 * MIB


class Limits(msgspec.Struct, frozen=True):
    """What the kernel grants this process: bytes, or numbers of files and mappings; UNLIMITED where it is."""

    memory: int
    address_space: int
    address_space_used: int
    files: int
    files_used: int
    file_size: int
    maps: int
    maps_used: int

    @classmethod
    def read(cls, transport: str = "shm") -> Limits:
        """As of now, of this process. ResourceError, about `transport`, if not even one more file can be opened."""
        soft = resource_limits()
        try:
            return cls._read(soft)
        except OSError as error:
            raise ResourceError(
                f"transport {transport!r} cannot start: {error.strerror} (RLIMIT_NOFILE is {soft.open_files}); raise it with "
                "`ulimit -n`"
            ) from error

    @classmethod
    def _read(cls, soft: ResourceLimits) -> Limits:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return cls(
            memory=memory_left().available,
            address_space=soft.address_space,
            address_space_used=pages * resource.getpagesize(),
            files=soft.open_files,
            files_used=sum(1 for _ in Path("/proc/self/fd").iterdir()),
            file_size=soft.file_size,
            maps=int(Path("/proc/sys/vm/max_map_count").read_text()),
            maps_used=Path("/proc/self/maps").read_text().count("\n"),
        )


def arena_limit(
    limits: Limits,
    arenas: int,
    budgets: list[int],
    control: int,
    *,
    transport: str = "shm",
    files: int | None = None,
) -> int:
    """Bytes of address space for the arena of each worker.

    `arenas`: how many a process maps; `budgets`: of the outgoing channels of each worker on this host, summed; `control`:
    bytes of the control memory; `files`: how many a process opens, by default those of as many workers as arenas. Raises
    ResourceError when a limit is too small for the plan, with every limit that is.
    """
    largest = max(budgets, default=0)
    least = max(LEAST_ARENA, LEAST_BUDGETS * largest)
    wished = max(WISHED_ARENA, BUDGETS_PER_ARENA * largest)
    problems = []

    files = SPARE_FILES + (1 + 3 * arenas if files is None else files)
    if limits.files - limits.files_used < files:
        problems.append(
            f"open files: {limits.files_used} of {limits.files} are in use, a worker needs {files} more; "
            f"raise RLIMIT_NOFILE (ulimit -n {limits.files_used + files}) or use fewer workers"
        )
    if limits.maps - limits.maps_used < arenas + SPARE_MAPS:
        problems.append(
            f"memory mappings: {limits.maps_used} of {limits.maps} are in use; raise vm.max_map_count "
            f"(sysctl vm.max_map_count={limits.maps_used + arenas + 4 * SPARE_MAPS})"
        )
    memory = control + sum(budgets)
    if limits.memory < memory:
        problems.append(
            f"memory: {_size(limits.memory)} may still be taken (memory cgroup and machine), the budgets of the "
            f"channels add up to {_size(memory)}; raise the cgroup's limit, or lower deploy.edge_bytes or the "
            "number of replicas"
        )
    limit = min(wished, limits.file_size)
    if limit < least:
        problems.append(
            f"file size: RLIMIT_FSIZE is {_size(limits.file_size)}, an arena needs {_size(least)}; raise it "
            "(ulimit -f unlimited) or lower deploy.edge_bytes"
        )
    if limits.address_space < UNLIMITED:
        room = limits.address_space - limits.address_space_used - control - ROOM_PER_WORKER
        limit = min(limit, max(room, 0) // max(arenas, 1))
        if room < least * arenas:
            needed = limits.address_space - room + least * arenas
            problems.append(
                f"address space: RLIMIT_AS is {_size(limits.address_space)}, a worker needs "
                f"{_size(needed)}; raise it (ulimit -v {needed // 1024}), lower deploy.edge_bytes or use fewer workers"
            )
    if problems:
        raise ResourceError(f"transport {transport!r} cannot start:\n  " + "\n  ".join(problems))
    return max(limit, least) // MIB * MIB


def _size(count: int) -> str:
    return f"{count / MIB:,.0f} MiB" if count < UNLIMITED else "unlimited"
