"""Workers that are bound to cores and memory nodes, as the plan says and as far as the system lets them be."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from actorstream import Actor, Event, Topology

FORBIDS_MBIND = """
import ctypes, struct, sys
MBIND = {number}  # what Docker's filter of system calls forbids
step = struct.Struct("HBBI")
program = step.pack(0x20, 0, 0, 0) + step.pack(0x15, 0, 1, MBIND) + step.pack(6, 0, 0, 0x50001) + step.pack(6, 0, 0, 0x7fff0000)
steps = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(4, ctypes.addressof(steps))), 0, 0) == 0, ctypes.get_errno()
from actorstream.cli.main import main
sys.exit(main())
"""
TOPOLOGY = """
[actors.numbers]
type = "generator-source"
schema = { number = "int64" }
count = 1000

[actors.doubled]
type = "map"
inputs = [{ from = "numbers", route = "shuffle" }]
replicas = 2
set = { number = "number * 2" }

[actors.nowhere]
type = "null-sink"
inputs = ["doubled"]
"""


class Number(Event):
    value: int


class Cpus(Event):
    count: int


class Asks(Actor):
    def on_event(self, event: Number) -> Cpus:
        return Cpus(len(os.sched_getaffinity(0)))


def test_workers_run_on_the_core_that_their_plan_names() -> None:
    topology = Topology("bound")
    topology.source([Number(value) for value in range(64)], name="numbers")
    topology.actor("asks", Asks, [{"from": "numbers", "route": "shuffle"}], replicas=2)
    cpus = topology["asks"].collect()
    report = topology.run(transport="shm", workers=2, bind="core").report
    assert {event.count for event in cpus} == {1}
    assert [row["node"] for row in report["placement"]] == [0, 0]


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="its number of mbind is not known"
)
def test_a_run_goes_on_where_mbind_is_forbidden_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(TOPOLOGY)
    number = {"x86_64": 237, "aarch64": 235}[platform.machine()]
    arguments = ["launch", str(file), "--set", "deploy.bind=node", "--json"]
    command = [sys.executable, "-c", FORBIDS_MBIND.format(number=number), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["events_in"]["nowhere"] == 1000
    assert {row["refused"] for row in report["placement"]} == {"mbind: Operation not permitted"}
    assert "workers 0, 1 could not be bound as planned" in done.stderr
