"""How many CPUs this process may use (its affinity mask and its cgroup's quota), what they are, and their caches. Decides
nothing."""

from __future__ import annotations

import os
from pathlib import Path


def usable_cpus(root: str = "", mask: int | None = None) -> float:
    """CPUs that the affinity mask and the cgroup's quota (v1 and v2, every level) leave, e.g. 1.5; above 0.

    `root` is put before all paths, for tests. `mask`: CPUs of another mask than this process's."""
    return min([float(mask or len(os.sched_getaffinity(0))), *_quotas(root)])


def processor(root: str = "") -> str:
    """What code for this very processor depends on: its architecture, model and instructions, as /proc/cpuinfo names them.
    Machines with equal processors have equal texts, whatever they are called.

    `root` is put before all paths, for tests."""
    try:
        first = Path(f"{root}/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        first = ""
    found = dict(line.split(":", 1) for line in first.splitlines() if ":" in line)
    named = {key.strip(): " ".join(value.split()) for key, value in found.items()}
    return "\n".join([os.uname().machine, *(f"{key}: {named.get(key, '')}" for key in _NAMED)])


def cache_bytes(root: str = "") -> int:
    """Bytes of the largest cache below the third level of a CPU that this process may use, which no other core shares as a
    rule; USUAL_CACHE where the system does not say.

    `root` is put before all paths, for tests."""
    cpu = min(os.sched_getaffinity(0))
    found = [0]
    for index in Path(f"{root}/sys/devices/system/cpu/cpu{cpu}/cache").glob("index*"):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
            if int(level) < 3 and kind != "Instruction":
                found.append(int(size.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(size[-1], 0))
        except (OSError, ValueError, IndexError):
            continue
    return max(found) or USUAL_CACHE


def clock_hertz(root: str = "") -> float:
    """Cycles per second of a core: what cpufreq says is its base or greatest frequency, else /proc/cpuinfo; 1e9 where nothing
    says.

    `root` is put before all paths, for tests."""
    for name in ("base_frequency", "cpuinfo_max_freq"):
        try:
            return int(Path(f"{root}/sys/devices/system/cpu/cpu0/cpufreq/{name}").read_text()) * 1e3
        except (OSError, ValueError):
            continue
    try:
        lines = Path(f"{root}/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = [line.partition(":")[2] for line in lines if line.startswith("cpu MHz")]
    return float(found[0]) * 1e6 if found else 1e9


USUAL_CACHE = 1 << 20
_NAMED = (
    *("vendor_id", "cpu family", "model", "model name", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),  # of ARM
)


def _quotas(root: str) -> list[float]:
    try:
        groups = Path(f"{root}/proc/self/cgroup").read_text().splitlines()
        mounts = Path(f"{root}/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return []
    found: list[float] = []
    for line in groups:
        _, controllers, own = line.split(":", 2)
        for mount in mounts:
            fields, _, kind = mount.partition(" - ")
            system, _, options = kind.split(" ", 2)
            v2 = system == "cgroup2" and controllers == ""
            v1 = system == "cgroup" and "cpu" in controllers.split(",") and "cpu" in options.split(",")
            if v1 or v2:
                shown, point = fields.split(" ")[3:5]
                below = own.removeprefix(shown) if own.startswith(shown) else ""
                found += _levels(Path(f"{root}{point}"), below.strip("/"))
    return found


def _levels(top: Path, below: str) -> list[float]:
    folders = [top]
    for part in below.split("/") if below else ():
        folders.append(folders[-1] / part)
    return [quota for folder in folders if (quota := _quota(folder)) is not None]


def _quota(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    return int(quota) / int(period) if quota.isdigit() and int(period) > 0 else None
