"""The case studies of the DGS paper's appendix A for the suite `dgs`: outlier detection by workers (A.1), and power
prediction where the measurements arrive (A.2). Runs apps; decides nothing.
"""

from __future__ import annotations

from itertools import islice
from statistics import median
from time import perf_counter_ns
from typing import Any

from actorstream.dgs import Tag
from actorstream.dgs.state_bytes import packed, unpacked
from actorstream.events.schema import Schema
from apps.outlier_detection.program import OutlierDetection
from apps.outlier_detection.source import Connections
from apps.smart_home.events import Measurement
from benchmarks.dataflow import launch_file
from benchmarks.job import ROOT

STREAMS = 8
"""Of the connections; as many nodes as A.1 has at the most."""
SAMPLE = 2_000
"""Rows of the shipped file."""
PACED = 200_000
"""Measurements a second where latency is measured: a slice of ten seconds of 20 houses in 106 ms."""


def outliers(workers: int, passes: int) -> tuple[float]:
    """Connections/s; the source makes no more than little room has place for, so that its pace is the detectors'."""
    sets = {"actors.connections.repeat": passes, "actors.detect.streams": STREAMS}
    topology = ROOT / "apps" / "outlier_detection" / "bench.toml"
    deploy: dict[str, Any] = {"transport": "shm", "workers": workers, "batch_size": 64}
    ran = launch_file(topology, sets=sets, edge_bytes="64KiB", **deploy)
    return (ran.report["throughput_eps"],)


def model_us() -> tuple[float]:
    """Microseconds to write a stream's model, as it is after its share of the sample, for another process, or to read it
    there: the mean of both."""
    program = OutlierDetection(streams=1)
    state, tag = program.init(), Tag("connection", 0)
    source = Connections(ROOT / "apps" / "outlier_detection" / "data" / "connections.csv.gz")
    for event in islice(source.events(), SAMPLE // STREAMS):
        program.update(state, event, tag)
    took = []
    for _ in range(9):
        began = perf_counter_ns()
        unpacked(OutlierDetection.State, packed(state, "the model"))
        took.append(perf_counter_ns() - began)
    return (median(took) / 2e3,)


def smart_home(rows: int, **more: Any) -> Any:
    """The report of a run on two workers; each has the houses that its replica of the source brings."""
    sets = {"actors.measurements.count": rows, "actors.measurements.replicas": 2, **more}
    topology = ROOT / "apps" / "smart_home" / "bench.toml"
    return launch_file(topology, sets=sets, transport="shm", workers=2).report


def predicted(rows: int) -> tuple[float, float]:
    """Measurements a millisecond, and how many percent of their bytes go to the other process."""
    report = smart_home(rows)
    sent = sum(replica.get("sent_bytes", 0) for actor in report["actors"].values() for replica in actor)
    return report["throughput_eps"] / 1e3, 100 * sent / (rows * Schema.of(Measurement).row_bytes)


def prediction_ms(seconds: float) -> tuple[float, float]:
    """p50 and p90 in ms from the end of a slice to its averages and predictions, at the paced rate."""
    report = smart_home(int(PACED * seconds), **{"actors.measurements.rate": PACED})
    return report["latency_ms"]["p50"], report["latency_ms"]["p90"]
