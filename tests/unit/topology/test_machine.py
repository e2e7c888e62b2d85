from __future__ import annotations

import os
from pathlib import Path

import pytest

from actorstream.topology.machine import Machine, parse_cpu_list, read_machine


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("\n", []), ("0,2-2", [0, 2])]
)
def test_lists_of_cpus_are_read(text: str, cpus: list[int]) -> None:
    assert parse_cpu_list(text) == cpus


def test_this_machine_has_the_cores_of_its_affinity_mask() -> None:
    machine = read_machine()
    assert {core.id for core in machine.cores} == os.sched_getaffinity(0)
    assert 1 <= machine.parallelism <= len(machine.cores)


def test_nodes_are_read_with_their_memory_and_distances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 4, 5})
    for number, cpus in enumerate(("0-3", "4-7")):
        folder = tmp_path / f"sys/devices/system/node/node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus + "\n")
        (folder / "distance").write_text("10 21\n" if number == 0 else "21 10\n")
        (folder / "meminfo").write_text(f"Node {number} MemTotal:       {1000 + number} kB\n")
    machine = read_machine(tmp_path)
    assert [(core.id, core.node) for core in machine.cores] == [(0, 0), (1, 0), (4, 1), (5, 1)]
    assert [node.distances for node in machine.nodes] == [(10, 21), (21, 10)]
    assert machine.nodes[1].memory == 1001 * 1024


def test_a_machine_without_memory_nodes_has_one() -> None:
    assert len(read_machine(Path("/nonexistent")).nodes) == 1


def test_a_quota_bounds_what_runs_at_once() -> None:
    machine = Machine.of_cores(8, nodes=2)
    assert [core.node for core in machine.cores] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert machine.parallelism == 8
    assert Machine(machine.cores, machine.nodes, quota=1.5).parallelism == 2
    assert Machine(machine.cores, machine.nodes, quota=0.2).parallelism == 1
