"""`exchange`: every row goes to the consumer that its key belongs to, across processes."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from actorstream import Event
from benchmarks import job
from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.repeat import Repeat
from benchmarks.suite import Settings, Suite, probe

BATCHES = 64
ROW_BYTES = 40
MESSAGE_BYTES = 2048 * ROW_BYTES
"""Half of a batch: what a producer sends to the other process at a time."""


class Row(Event):
    """A key of high cardinality and four values."""

    key: int
    a: int
    b: int
    c: int
    d: int


class Rows(Repeat):
    """Batches whose keys hardly repeat."""

    outputs: ClassVar = {"default": Row}

    def make(self, shard: int, rows: int) -> list[dict[str, np.ndarray]]:
        random = np.random.default_rng(shard)
        numbers = np.arange(rows)
        return [
            {
                "key": random.integers(0, 2**62, rows),
                "a": numbers,
                "b": numbers + 1,
                "c": numbers,
                "d": numbers,
            }
            for _ in range(BATCHES)
        ]


def exchange(seconds: float, add: str = "") -> Actors:
    """Two producers and two consumers, one of each in each of two processes; the consumers sum the column `add`."""
    return {
        "rows": {"type": "benchmarks.suites.exchange:Rows", "seconds": seconds, "shards": 2, "replicas": 2},
        "meter": {
            "type": "benchmarks.meter:Meter",
            "inputs": [{"from": "rows", "route": "key", "key": "key"}],
            "replicas": 2,
            "add": add,
            "into": INTO,
        },
    }


def keyed(seconds: float, transport: str, add: str = "") -> float:
    """Tuples a second from two producers to two consumers. Every transport but shm takes the network although both are on
    one host."""
    forced = {} if transport == "shm" else {"same_host": transport}
    return launch("exchange", exchange(seconds, add), transport=transport, workers=2, **forced).rate()


def crossing(seconds: float, transport: str, add: str = "") -> float:
    """Bytes of columns that go from one process to the other in a second: half of the rows."""
    return keyed(seconds, transport, add) * ROW_BYTES / 2


def bare(seconds: float, library: str) -> float:
    """Bytes a second that two processes send each other, in messages as large as the jumbo tuples of the exchange."""
    found = job.call(
        "benchmarks.loops.network:measured", way=f"both-{library}", size=MESSAGE_BYTES, seconds=seconds
    )
    return float(found) * MESSAGE_BYTES


def routed(seconds: float, library: str) -> float:
    """Bytes a second that two processes send each other which route the same rows by hand."""
    return float(job.call("benchmarks.loops.routed:measured", library=library, seconds=seconds))


def suite(settings: Settings) -> Suite:
    seconds = 1.0 if settings.quick else 3.0
    probes = [probe("keyed-2to2", "tuples/s", partial(keyed, seconds, "shm"))]
    for library in ("zmq", "mpi"):
        name = f"bare-{library}"
        probes.append(probe(name, "bytes/s", partial(bare, seconds, library)))
        probes.append(
            probe(f"keyed-2to2-{library}", "bytes/s", partial(crossing, seconds, library), against=name)
        )
        by_hand = f"routed-{library}"
        probes.append(probe(by_hand, "bytes/s", partial(routed, seconds, library)))
        probes.append(
            probe(
                f"summed-2to2-{library}", "bytes/s", partial(crossing, seconds, library, "a"), against=by_hand
            )
        )
    return Suite(
        "exchange",
        tuple(probes),
        notes=(
            "keyed-2to2: all rows, of 40 bytes; over a network the half that leaves its process is counted in bytes",
            f"bare: both processes send messages of {MESSAGE_BYTES} bytes and take those of the other; no row is looked at",
            "routed: the work of summed-2to2 by hand: rows routed by key, gathered by NumPy, half of them sent over the bare "
            "library, one column of all summed",
        ),
    )
