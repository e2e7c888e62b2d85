"""CPUs that the affinity mask and the cgroup leave."""

from __future__ import annotations

import os
from pathlib import Path

from actorstream.native.cpus import USUAL_CACHE, cache_bytes, usable_cpus

ALL = float(len(os.sched_getaffinity(0)))


def machine(root: Path, groups: str, mounts: str, files: dict[str, str]) -> str:
    for name, text in {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


V2 = ("0::/a/b\n", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n")
V1 = ("3:cpu,cpuacct:/job\n", "1 0 0:1 / /cpu rw - cgroup cgroup rw,cpuacct,cpu\n")


def test_without_a_quota_the_affinity_mask_counts(tmp_path: Path) -> None:
    assert usable_cpus(str(tmp_path)) == ALL
    assert usable_cpus(machine(tmp_path, *V2, {"cg/a/b/cpu.max": "max 100000\n"})) == ALL


def test_the_tightest_level_of_cgroup_v2_counts(tmp_path: Path) -> None:
    files = {"cg/a/cpu.max": "50000 100000\n", "cg/a/b/cpu.max": "70000 100000\n"}
    assert usable_cpus(machine(tmp_path, *V2, files)) == 0.5


def test_a_quota_of_cgroup_v1_counts_and_minus_one_is_none(tmp_path: Path) -> None:
    files = {"cpu/job/cpu.cfs_quota_us": "25000\n", "cpu/job/cpu.cfs_period_us": "100000\n"}
    assert usable_cpus(machine(tmp_path, *V1, files)) == 0.25
    files["cpu/job/cpu.cfs_quota_us"] = "-1\n"
    assert usable_cpus(machine(tmp_path, *V1, files)) == ALL


def test_this_machine_has_a_cpu() -> None:
    assert 0 < usable_cpus() <= ALL


def test_the_cache_of_a_core_is_the_largest_one_below_the_third_level(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    caches = [
        ("1", "Data", "32K"),
        ("1", "Instruction", "64K"),
        ("2", "Unified", "1M"),
        ("3", "Unified", "32M"),
    ]
    for index, values in enumerate(caches):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
        folder.mkdir(parents=True)
        for name, value in zip(("level", "type", "size"), values):
            (folder / name).write_text(f"{value}\n")
    assert cache_bytes(str(tmp_path)) == 1 << 20


def test_where_the_system_says_nothing_of_caches_a_usual_size_is_taken(tmp_path: Path) -> None:
    assert cache_bytes(str(tmp_path)) == USUAL_CACHE
