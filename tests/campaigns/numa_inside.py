"""What runs inside the guest of `numa_guest`: topologies on all of its memory nodes, with a look at where threads and pages are.

Prints one JSON object a line: what was tried, what was seen, whether it is right.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from actorstream import Actor, Batch, Event, Topology
from actorstream.native.address import address_of
from actorstream.native.nodes import NodeMemory
from actorstream.placement.rlas import (
    Measured,
    OperatorProfile,
    OutputProfile,
    Profile,
    machine_text,
    profile_text,
)
from actorstream.plan.measured_machine import measured, usable_nodes
from actorstream.topology.machine import read_machine
from tests.native.unused_calls import node_of

ROWS = 4000


class Number(Event):
    value: int


class Seen(Event):
    value: int
    rows_on: int
    runs_on: int


class Look(Actor):
    """Says of each batch on which nodes its memory and its core are."""

    outputs: ClassVar[dict[str, type[Event]]] = {"default": Seen}

    def on_batch(self, batch: Batch) -> Batch:
        values = batch["value"]
        total = int(values.sum())
        there = node_of(address_of(values))
        mask = os.sched_getaffinity(0)
        nodes = {core.node for core in read_machine().cores if core.id in mask}
        runs_on = nodes.pop() if len(nodes) == 1 else -1
        return Batch.of_columns(
            Seen, {"value": [total], "rows_on": [-1 if there is None else there], "runs_on": [runs_on]}
        )


def run(replicas: int | str, **deploy: Any) -> tuple[list[Seen], dict[str, Any]]:
    topology = Topology("numa")
    topology.source([Number(value) for value in range(ROWS)], name="numbers")
    topology.actor("look", Look, [{"from": "numbers", "route": "shuffle"}], replicas=replicas)
    seen = topology["look"].collect()
    report = topology.run(transport="shm", batch_size=500, **deploy).report
    return list(seen), report


def outcome(seen: list[Seen]) -> dict[str, Any]:
    return {
        "sum": sum(each.value for each in seen),
        "rows_on": sorted({each.rows_on for each in seen}),
        "runs_on": sorted({each.runs_on for each in seen}),
    }


def nodes() -> dict[str, Any]:
    machine = read_machine()
    return {
        "cores": [[core.id, core.node] for core in machine.cores],
        "distances": [list(node.distances) for node in machine.nodes],
        "right": len(machine.nodes) == 4 and {core.node for core in machine.cores} == {0, 1, 2, 3},
    }


def memory() -> dict[str, Any]:
    found = []
    for node in range(4):
        each = NodeMemory(4 << 20, node)
        found.append((each.refused, node_of(each.address)))
    return {"pages": found, "right": found == [("", node) for node in range(4)]}


def unbound() -> dict[str, Any]:
    seen, report = run(4, workers=4)
    return {**outcome(seen), "right": outcome(seen)["sum"] == TOTAL and "placement" not in report}


def on_nodes() -> dict[str, Any]:
    """Replica i on worker i on node i; the source is on node 0, and so is what it sends."""
    seen, report = run(4, workers=4, bind="node")
    found = outcome(seen)
    bound = [[row["worker"], row["node"], row.get("refused", "")] for row in report["placement"]]
    right = (
        found["sum"] == TOTAL and found["runs_on"] == [0, 1, 2, 3] and bound == [[n, n, ""] for n in range(4)]
    )
    sent = {each.rows_on for each in seen if each.runs_on > 0}
    return {**found, "bound": bound, "sent_on": sorted(sent), "right": right and sent == {0}}


def with_readers() -> dict[str, Any]:
    """A pipeline: the source on node 0, its only reader on node 1; rows lie with the reader."""
    seen, _ = run(1, workers=3, placement="round-robin", bind="node", arenas="consumer")
    found = outcome(seen)
    return {**found, "right": found == {"sum": TOTAL, "rows_on": [1], "runs_on": [1]}}


def planned() -> dict[str, Any]:
    """rlas on the machine as it was measured: a costly operator is spread over all nodes."""
    model = measured(usable_nodes(read_machine()))
    costs = {"numbers": 100.0, "look": 2000.0, "memory-sink": 10.0}
    with tempfile.TemporaryDirectory() as folder:
        names = {"numbers": "numbers", "look": "look"}
        sink = next(name for name in _names() if name not in names)
        profile = Profile(
            name="numa",
            hertz=model.sockets[0].hertz,
            operators={
                "numbers": _operator(costs["numbers"], {"default": OutputProfile(selectivity=1, bytes=8)}),
                "look": _operator(costs["look"], {"default": OutputProfile(selectivity=0.01, bytes=24)}),
                sink: _operator(costs["memory-sink"], {}),
            },
        )
        files = {"profile": profile_text(profile), "machine": machine_text(model)}
        for name, text in files.items():
            (Path(folder) / f"{name}.toml").write_text(text)
        rlas = {name: str(Path(folder) / f"{name}.toml") for name in files}
        seen, report = run("auto", placement="rlas", rlas=rlas)
    found = outcome(seen)
    bound = sorted({row["node"] for row in report["placement"]})
    replicas = len(report["actors"]["look"])
    right = found["sum"] == TOTAL and replicas > 1 and len(bound) > 1
    right &= not any("refused" in row for row in report["placement"])
    told = {"latency_ns": model.latency_ns, "bandwidth": model.bandwidth}
    return {**found, **told, "replicas": replicas, "nodes": bound, "right": right}


def _operator(cost: float, outputs: dict[str, OutputProfile]) -> OperatorProfile:
    return OperatorProfile(batches=[Measured(rows=500, execute_ns={"p50": cost})], outputs=outputs)


def _names() -> list[str]:
    topology = Topology("numa")
    topology.source([Number(0)], name="numbers")
    topology.actor("look", Look, ["numbers"]).collect()
    return list(topology)


TOTAL = int(np.arange(ROWS).sum())
TRIALS: list[Callable[[], dict[str, Any]]] = [nodes, memory, unbound, on_nodes, with_readers, planned]


def main() -> int:
    wrong = 0
    for trial in TRIALS:
        try:
            found = trial()
        except Exception:
            found = {"error": traceback.format_exc(limit=-3), "right": False}
        wrong += not found["right"]
        print("SEEN " + json.dumps({"trial": trial.__name__, **found}), flush=True)
    if "--files" in sys.argv:
        _print_files()
    return 1 if wrong else 0


def _print_files() -> None:
    """The files that all of this has needed, for the guest."""
    found = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    found |= {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    for name in sorted(each for each in found if each and Path(each).is_file()):
        print("FILE " + name)


if __name__ == "__main__":
    sys.exit(main())
