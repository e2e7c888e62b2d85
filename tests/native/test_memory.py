"""Anonymous shared memory, and what the machine says is left of it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from actorstream.errors import ResourceError
from actorstream.native import memory
from actorstream.native.memory import UNLIMITED, ControlMemory, create_eventfd, create_memfd, memory_left

MEMINFO = "MemTotal:    1000 kB\nMemFree:  10 kB\nMemAvailable:   900 kB\n"
KIB = 1024


def machine(root: Path, files: dict[str, str]) -> str:
    """Writes /proc and cgroup files below `root`, and answers it."""
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def test_without_cgroups_the_machine_decides(tmp_path: Path) -> None:
    left = memory_left(machine(tmp_path, {}))
    assert left == (900 * KIB, 1000 * KIB, 900 * KIB, UNLIMITED, UNLIMITED, 0)


V2 = {
    "proc/self/cgroup": "0::/a/b\n",
    "proc/self/mountinfo": "1 0 0:1 / / rw - ext4 d rw\n2 1 0:2 / /cg rw - cgroup2 cgroup2 rw\n",
    "cg/cgroup.procs": "",
    "cg/a/memory.max": "max\n",
    "cg/a/memory.high": "max\n",
    "cg/a/memory.current": "500000\n",
    "cg/a/memory.stat": "anon 1\ninactive_file 1000\nactive_file 7\n",
    "cg/a/b/memory.max": "600000\n",
    "cg/a/b/memory.high": "max\n",
    "cg/a/b/memory.current": "400000\n",
    "cg/a/b/memory.stat": "anon 1\ninactive_file 10000\n",
}


def test_cgroup_v2_counts_the_limit_less_usage_that_cannot_be_dropped(tmp_path: Path) -> None:
    left = memory_left(machine(tmp_path, V2))
    assert left == (210_000, 1000 * KIB, 900 * KIB, 600_000, 390_000, 2)


def test_every_level_of_cgroup_v2_counts(tmp_path: Path) -> None:
    left = memory_left(machine(tmp_path, V2 | {"cg/a/memory.max": "550000\n"}))
    assert (left.available, left.cgroup_limit, left.cgroup_usage) == (51_000, 550_000, 499_000)


def test_a_soft_limit_of_cgroup_v2_counts(tmp_path: Path) -> None:
    assert memory_left(machine(tmp_path, V2 | {"cg/a/b/memory.high": "400000\n"})).available == 10_000


def test_a_container_sees_its_own_part_of_the_hierarchy(tmp_path: Path) -> None:
    files = {name.replace("cg/a/b/", "cg/"): text for name, text in V2.items() if "cg/a/memory" not in name}
    files["proc/self/mountinfo"] = "2 1 0:2 /a/b /cg rw - cgroup2 cgroup2 rw\n"
    assert memory_left(machine(tmp_path, files)).available == 210_000


V1 = {
    "proc/self/cgroup": "9:name=systemd:/x\n4:cpu,memory:/job\n0::/\n",
    "proc/self/mountinfo": "2 1 0:2 / /cg rw - cgroup2 cgroup2 rw\n3 1 0:3 / /m rw - cgroup cgroup rw,cpu,memory\n",
    "m/memory.limit_in_bytes": "9223372036854771712\n",
    "m/memory.usage_in_bytes": "800000\n",
    "m/memory.stat": "total_inactive_file 0\n",
    "m/job/memory.limit_in_bytes": "300000\n",
    "m/job/memory.usage_in_bytes": "290000\n",
    "m/job/memory.stat": "inactive_file 5\ntotal_inactive_file 50000\n",
}


def test_cgroup_v1_is_read_where_v2_has_no_memory_controller(tmp_path: Path) -> None:
    assert memory_left(machine(tmp_path, V1)) == (60_000, 1000 * KIB, 900 * KIB, 300_000, 240_000, 1)


def test_a_group_beyond_its_limit_has_nothing_left(tmp_path: Path) -> None:
    files = V1 | {"m/job/memory.limit_in_bytes": "100000\n"}
    assert memory_left(machine(tmp_path, files)).available == 0


def test_this_machine_has_memory_left() -> None:
    left = memory_left()
    assert 0 < left.available <= left.machine_total < UNLIMITED
    assert memory.resource_limits().open_files > 16


def test_control_memory_is_zeroed_shared_with_children_and_carved_into_aligned_parts() -> None:
    control = ControlMemory(4096)
    first, second = control.reserve(10), control.reserve(3000)
    assert (first, second % 128, second > first) == (0, 0, True)
    words = control.words(second, 4)
    assert not words.any()
    if (pid := os.fork()) == 0:
        words[2] = -5
        os._exit(0)
    os.waitpid(pid, 0)
    assert words.tolist() == [0, 0, -5, 0]
    other = ControlMemory(4096, fd=os.dup(control.fd))
    assert other.words(second, 4, np.int64)[2] == -5
    control.close()
    other.close()


def test_control_memory_that_is_full_or_too_large_says_so() -> None:
    control = ControlMemory(256)
    control.reserve(200)
    with pytest.raises(ResourceError, match="256 bytes: 256 used, 1 wanted"):
        control.reserve(1)
    with pytest.raises(ValueError, match="outside"):
        control.pointer(256)
    control.close()
    with pytest.raises(ResourceError, match="are left"):
        ControlMemory(1 << 50)


def test_too_many_open_files_are_said_with_what_to_do() -> None:
    import resource

    if (pid := os.fork()) == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
            with pytest.raises(ResourceError, match="ulimit -n"):
                create_eventfd()
            with pytest.raises(ResourceError, match="ulimit -n"):
                create_memfd("x", 1)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
