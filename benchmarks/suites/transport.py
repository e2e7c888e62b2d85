"""`transport`: jumbo tuples and control messages between two processes, over each transport and over the bare library."""

from __future__ import annotations

from functools import partial

from benchmarks import job
from benchmarks.suite import Probe, Settings, Suite, probe

SIZES = (4 << 10, 64 << 10, 1 << 20, 4 << 20)
ENCRYPTED = 64 << 10


def _measure(way: str, size: int, seconds: float) -> float:
    return float(job.call("benchmarks.loops.network:measured", way=way, size=size, seconds=seconds))


def _probe(name: str, unit: str, way: str, size: int, seconds: float, against: str | None = None) -> Probe:
    return probe(name, unit, partial(_measure, way, size, seconds), against=against)


def suite(settings: Settings) -> Suite:
    seconds = 1.0 if not settings.quick else 0.3
    probes = []
    for size in SIZES:
        probes.append(_probe(f"shm-{size}", "jumbo tuples/s", "shm", size, seconds))
        for way in ("zmq", "mpi"):
            bare = f"bare-{way}"
            probes.append(_probe(f"{bare}-{size}", "messages/s", bare, size, seconds))
            probes.append(
                _probe(f"{way}-{size}", "jumbo tuples/s", way, size, seconds, against=f"{bare}-{size}")
            )
            if way == "zmq" and size == ENCRYPTED:
                name = f"zmq-curve-{size}"
                probes.append(
                    _probe(name, "jumbo tuples/s", "zmq-curve", size, seconds, against=f"zmq-tcp-{size}")
                )
                probes.append(_probe(f"zmq-tcp-{size}", "jumbo tuples/s", "zmq-tcp", size, seconds))
    for way in ("zmq", "mpi"):
        bare = f"bare-{way}-control-p50"
        probes.append(_probe(bare, "µs", f"bare-{way}", 0, seconds))
        probes.append(_probe(f"{way}-control-p50", "µs", way, 0, seconds, against=bare))
    return Suite(
        "transport",
        tuple(probes),
        notes=(
            "sizes in bytes; two processes, at most 16 MiB and 1,024 jumbo tuples between them",
            "bare: pyzmq PUSH to PULL over Unix sockets, by reference from 64 KiB on; mpi4py Isend in a window, Recv",
            "control-p50: half a round trip; bare MPI waits without a pause, which takes a core",
        ),
    )
