"""The model of this machine, measured once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actorstream.native.nodes import NodeMemory, can_bind
from actorstream.placement.rlas import check_machine_model, load_machine_model
from actorstream.plan.measured_machine import this_machine, usable_nodes
from actorstream.topology.machine import Core, Machine
from tests.native.unused_calls import node_of


def test_this_machine_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = this_machine()
    assert check_machine_model(found) is found
    assert {cpu for socket in found.sockets for cpu in socket.cpus} <= os.sched_getaffinity(0)
    (file,) = (tmp_path / "actorstream" / "machines").iterdir()
    assert load_machine_model(file) == found == this_machine()
    file.write_text(file.read_text().replace(f'name = "{found.name}"', 'name = "kept"'))
    assert this_machine().name == "kept"
    file.write_text("damaged")
    assert this_machine().name == found.name


def test_the_machine_of_several_processes_has_the_cores_of_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    everything, whole = sorted(os.sched_getaffinity(0)), this_machine()
    assert can_bind(everything) and not can_bind([*everything, 4095])
    os.sched_setaffinity(0, everything[:1])
    try:
        assert this_machine().cores == 1
        assert this_machine(everything) == whole
        assert os.sched_getaffinity(0) == set(everything[:1])
        assert this_machine([*everything, 4095]).cores == 1, "it could not be measured"
    finally:
        os.sched_setaffinity(0, everything)


def test_only_so_many_cores_count_as_the_quota_lets_run_at_once() -> None:
    cores = tuple(Core(cpu, cpu % 2) for cpu in range(8))
    assert usable_nodes(Machine(cores)) == {0: [0, 2, 4, 6], 1: [1, 3, 5, 7]}
    assert usable_nodes(Machine(cores, quota=5.0)) == {0: [0, 2, 4, 6], 1: [1]}
    assert usable_nodes(Machine(cores, quota=1.5)) == {0: [0, 2]}


def test_nodes_without_a_core_to_use_are_left_out() -> None:
    assert usable_nodes(Machine((Core(3, 2), Core(9, 5)))) == {2: [3], 5: [9]}


def test_memory_of_a_node_is_read_by_a_core_in_more_than_no_time() -> None:
    cpu = min(os.sched_getaffinity(0))
    memory = NodeMemory(1 << 22, 0)
    assert memory.refused or node_of(memory.address) in (0, None)
    assert memory.latency_ns(cpu, 1000) > 0.1
    assert 1e6 < memory.bandwidth([cpu]) < 1e13
    assert NodeMemory(1 << 20, 1023).refused
