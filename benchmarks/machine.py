"""Facts about the machine that figures are printed beside. Reads /proc and /sys; measures one thing, the
cache line."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

from benchmarks import job

BUSY = 0.7
PACKAGES = ("actorstream", "numpy", "pyarrow", "msgspec", "cffi", "uvloop")


def facts() -> dict[str, str]:
    """Name -> value, in the order of printing."""
    found = {
        "processor": processor(),
        "cores": cores(),
        "load": load(),
        "caches": caches(),
        "memory": memory(),
        "cache-line round trip": round_trip(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": compiler(),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def cores() -> str:
    text = f"{len(os.sched_getaffinity(0))} in the affinity mask"
    quota = Path("/sys/fs/cgroup/cpu.max")
    if quota.exists():
        limit, _, period = quota.read_text().partition(" ")
        if limit != "max":
            text += f", cgroup quota {int(limit) / int(period):.1f}"
    return text


def load() -> str:
    """How busy the machine is before anything is measured."""
    now = os.getloadavg()[0]
    return f"{now:.2f}" + (" - other programs are running: the figures are too low" if now > BUSY else "")


def caches() -> str:
    parts = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = (index / "type").read_text().strip()
        if kind != "Instruction":
            parts.append(f"L{(index / 'level').read_text().strip()} {(index / 'size').read_text().strip()}")
    return ", ".join(parts) or "unknown"


def memory() -> str:
    kib = int(Path("/proc/meminfo").read_text().splitlines()[0].split()[1])
    return f"{kib / 2**20:.1f} GiB"


def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None:
        return "none"
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0] if said else found


def round_trip() -> str:
    """Between the first two cores of the affinity mask; median of five runs, measured in C."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        return "only one core"
    found = [job.call("benchmarks.machine:cache_line", a=allowed[0], b=allowed[1]) for _ in range(5)]
    return f"{median(found):.0f} ns (of 5: {min(found):.0f} to {max(found):.0f}; cores {allowed[0]} and {allowed[1]})"


def cache_line(a: int, b: int) -> float:
    """ns a round trip between cores `a` and `b`. Pins the calling thread: for a process of its own."""
    from benchmarks.compiled import compiled

    return float(compiled("cache_line").lib.cache_line_round_trip(a, b, 200_000))
