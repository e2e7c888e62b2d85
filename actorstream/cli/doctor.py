"""`actorstream doctor`: what this machine allows, and what to do where it allows too little. Changes nothing."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from msgspec.structs import asdict

MIB, GIB = 1 << 20, 1 << 30
LEAST_MEMORY = 256 * MIB
"""What two workers with their budgets and interpreters need (PSS of an idle run and 64 MiB)."""
LEAST_ADDRESS_SPACE = 4 * GIB
"""Interpreter, NumPy, Arrow and an arena per worker, as address space."""
LEAST_OPEN_FILES = 512
CORE = ("msgspec", "cffi", "numpy", "pyarrow", "cyclopts", "rich")


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at. `status`: "ok", "note" (works, could be better) or "fail"; `advice`: what to do."""

    topic: str
    status: Literal["ok", "note", "fail"]
    value: str
    advice: str = ""


def doctor(*, json_: Annotated[bool, Parameter(name="--json", negative=())] = False) -> int:
    """Look at this machine: cores, memory and limits, what is installed.

    Says what to do where a limit is too small for a run. Exit status: 0 ready, 1 something must be changed first.

    Parameters
    ----------
    json_
        Prints the findings to stdout as JSON.
    """
    findings = examine()
    ready = all(finding.status != "fail" for finding in findings)
    if json_:
        print(json.dumps({"ready": ready, "findings": [asdict(each) for each in findings]}, indent=2))
        return 0 if ready else 1
    width = max(len(each.topic) for each in findings)
    marks = {"ok": "ok  ", "note": "note", "fail": "FAIL"}
    for each in findings:
        print(f"{marks[each.status]}  {each.topic.ljust(width)}  {each.value}")
        if each.advice:
            print(f"      {' ' * width}  {each.advice}")
    print("ready" if ready else "not ready: see FAIL above")
    return 0 if ready else 1


def examine(root: Path = Path("/")) -> list[Finding]:
    """All findings, in the order in which they are shown. `root`: where /proc and /sys are looked for."""
    parts: list[Callable[[Path], Iterator[Finding]]] = [
        versions,
        cores,
        memory,
        limits,
        shared_memory,
        extras,
    ]
    found: list[Finding] = []
    for part in parts:
        try:
            found.extend(part(root))
        except Exception as error:  # a part that cannot look must not hide what the others see
            found.append(Finding(part.__name__, "fail", f"cannot be examined: {error!r}"))
    return found


def versions(root: Path) -> Iterator[Finding]:
    """Versions of what is needed to run."""
    from actorstream import __version__

    system = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.release()}"
    linux = platform.system() == "Linux"
    yield Finding(
        "actorstream", "ok" if linux else "fail", f"{__version__} on {system}", "" if linux else "use Linux"
    )
    missing = [name for name in CORE if find_spec(name) is None]
    packages = ", ".join(f"{name} {_version(name)}" for name in CORE if name not in missing)
    advice = f"pip install {' '.join(missing)}" if missing else ""
    yield Finding("packages", "fail" if missing else "ok", packages, advice)
    try:
        import_module("actorstream.native._core")
    except ImportError as error:
        yield Finding(
            "C core", "fail", str(error), "pip install --force-reinstall actorstream (needs a C compiler)"
        )
    else:
        yield Finding("C core", "ok", "built")


def cores(root: Path) -> Iterator[Finding]:
    """Cores of the affinity mask, and memory nodes."""
    from actorstream.topology.machine import read_machine

    machine = read_machine(root)
    mask = len(machine.cores)
    there = os.cpu_count() or mask
    value = f"{mask} of {there} in the affinity mask" + (
        f", quota {machine.quota:g}" if machine.quota else ""
    )
    advice = ""
    if machine.parallelism < 2:
        advice = (
            "workers take turns on one core: give the process more (taskset, docker --cpus, --cpus-per-task)"
        )
    yield Finding("cores", "note" if advice else "ok", value, advice)
    nodes = [node for node in machine.nodes if any(core.node == node.id for core in machine.cores)]
    distances = "; distances " + " / ".join(
        " ".join(map(str, node.distances)) for node in nodes if node.distances
    )
    yield Finding("memory nodes", "ok", f"{len(nodes) or 1}{distances if len(nodes) > 1 else ''}")


def memory(root: Path) -> Iterator[Finding]:
    """What is left of the memory that this process may use."""
    from actorstream.native.memory import UNLIMITED, memory_left
    from actorstream.topology.quantities import format_size

    left = memory_left(str(root).rstrip("/"))
    value = f"{format_size(left.available)} left of {format_size(left.machine_total)}"
    limited = left.cgroup_limit < UNLIMITED and left.cgroup_limit < left.machine_total
    if limited:
        value += f", cgroup limit {format_size(left.cgroup_limit)} (v{left.cgroup_version})"
    if left.available < LEAST_MEMORY:
        raise_it = "raise it (docker --memory, systemd MemoryMax=, #SBATCH --mem)" if limited else "free some"
        advice = f"a run needs about {format_size(LEAST_MEMORY)}: {raise_it}, or lower deploy.edge_bytes and workers"
        yield Finding("memory", "fail", value, advice)
    else:
        yield Finding("memory", "ok", value)


def limits(root: Path) -> Iterator[Finding]:
    """Limits of the process that stand in the way of shared memory or of files."""
    from actorstream.native.memory import UNLIMITED, resource_limits
    from actorstream.topology.quantities import format_size

    found = resource_limits()

    def size(limit: int) -> str:
        return "unlimited" if limit == UNLIMITED else format_size(limit)

    few = found.address_space < LEAST_ADDRESS_SPACE
    advice = f"needs {format_size(LEAST_ADDRESS_SPACE)}: ulimit -v unlimited" if few else ""
    yield Finding("address space (RLIMIT_AS)", "fail" if few else "ok", size(found.address_space), advice)
    few = found.open_files < LEAST_OPEN_FILES
    files = "unlimited" if found.open_files == UNLIMITED else str(found.open_files)
    advice = f"needs {LEAST_OPEN_FILES}: ulimit -n 4096" if few else ""
    yield Finding("open files (RLIMIT_NOFILE)", "fail" if few else "ok", files, advice)
    small = found.file_size < GIB
    advice = "it also bounds shared memory: ulimit -f unlimited" if small else ""
    yield Finding("file size (RLIMIT_FSIZE)", "fail" if small else "ok", size(found.file_size), advice)
    yield Finding("locked memory (RLIMIT_MEMLOCK)", "ok", f"{size(found.locked_memory)}, none is needed")


def shared_memory(root: Path) -> Iterator[Finding]:
    """Where shared memory comes from, and huge pages."""
    from actorstream.topology.quantities import format_size

    try:
        os.close(os.memfd_create("actorstream-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    except OSError as error:
        yield Finding("shared memory", "fail", f"memfd_create: {error.strerror}", "use --transport local")
    else:
        yield Finding("shared memory", "ok", "memfd, so the size of /dev/shm does not matter")
    pages = dict(_meminfo(root))
    free, size = pages.get("HugePages_Free", 0), pages.get("Hugepagesize", 0) * 1024
    value = f"{free} free of {format_size(size)}" if size else "none"
    try:
        modes = (root / "sys/kernel/mm/transparent_hugepage/shmem_enabled").read_text()
        value += f"; transparent for shared memory: {modes.partition('[')[2].partition(']')[0] or 'unknown'}"
    except OSError:
        pass
    yield Finding("huge pages", "ok", f"{value}; tried, never required")


def _mpi_launcher() -> str | None:
    """The program that `launch --transport mpi` would call, or what else starts ranks."""
    found = shutil.which("mpiexec")
    if find_spec("mpi4py") is not None:  # without it, the transport cannot be loaded
        from actorstream.transports.mpi.starter import find_mpiexec

        found = find_mpiexec()
    return found or shutil.which("srun")


def extras(root: Path) -> Iterator[Finding]:
    """Packages that are not needed to run, and what they are for."""
    for name, extra in (
        ("uvloop", ""),
        ("mpi4py", "mpi"),
        ("zmq", "zmq"),
        ("pyspark", "spark"),
        ("deltalake", "delta"),
        ("pyiceberg", "iceberg"),
        ("numba", "numba"),
        ("fsspec", "remote"),
        ("hypothesis", "test"),
    ):
        if find_spec(name) is not None:
            yield Finding(name, "ok", _version("pyzmq" if name == "zmq" else name))
        elif not extra:
            yield Finding(name, "note", "not installed: slower wake-ups", f"pip install {name}")
        else:
            yield Finding(name, "ok", f"not installed; with it: pip install 'actorstream[{extra}]'")
    yield Finding("MPI launcher", "ok", _mpi_launcher() or "none (only for transport mpi)")
    yield java()


def java() -> Finding:
    """The Java that Spark would run on. It is missed only where pyspark is installed."""
    from actorstream.spark.java import ADVICE, JavaError, find_java

    try:
        found = find_java()
    except JavaError as error:
        if find_spec("pyspark") is None:
            return Finding("Java", "ok", "none that Spark could run on (only for spark-source)")
        return Finding("Java", "note", str(error).removesuffix(f" {ADVICE}"), ADVICE)
    return Finding("Java", "ok", f"{found.version} ({found.path}, from {found.found})")


def _meminfo(root: Path) -> Iterator[tuple[str, int]]:
    for line in (root / "proc/meminfo").read_text().splitlines():
        key, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            yield key, int(words[0])


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"
