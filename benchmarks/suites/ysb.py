"""`ysb`: the Yahoo Streaming Benchmark as apps/ysb/bench.toml has it, beside bare C and four peers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from benchmarks import job
from benchmarks.loops.ysb import WIDE_BYTES
from benchmarks.suite import Probe, Settings, Suite, probe
from benchmarks.yahoo import (
    EVENTS,
    LOOPS,
    WINDFLOW,
    YSB,
    PeerRun,
    native,
    our_probes,
    peer_probes,
    summary,
)

PEERS = (
    PeerRun("flink-strings-2", "flink", "flink_ysb.py", ("ysb-strings", "2"), (80_000_000, 20_000_000)),
    PeerRun("flink-1", "flink", "flink_ysb.py", ("ysb", "1"), (100_000_000, 30_000_000)),
    PeerRun("flink-2", "flink", "flink_ysb.py", ("ysb", "2"), (150_000_000, 40_000_000)),
    PeerRun(
        "flink-preaggregated-2",
        "flink",
        "flink_ysb.py",
        ("ysb-preaggregated", "2"),
        (500_000_000, 150_000_000),
    ),
    PeerRun("spark-2", "spark", "spark_ysb.py", ("ysb", "2"), (20_000_000, 10_000_000), ("4",)),
    PeerRun("bytewax-1", "bytewax", "bytewax_ysb.py", ("ysb", "1"), (20_000_000, 6_000_000)),
    PeerRun("bytewax-2", "bytewax", "bytewax_ysb.py", ("ysb", "2"), (20_000_000, 6_000_000)),
    PeerRun("pathway-1", "pathway", "pathway_ysb.py", ("ysb",), (800_000, 300_000)),
)
NETWORK_START_SECONDS = 2.0
"""What ranks take longer to start than forked workers, at most."""
TEXT_ROWS = 16_384
"""Rows of a batch of texts: it has 2.6 MB then, and is not pushed out of the caches while it is made."""


def over(way: str, seconds: float) -> Probe:
    """The run on two workers over a network transport, although both are on one host."""
    run = partial(native, YSB, 2, seconds, transport=way, same_host=way)
    return probe(f"{way}-2", EVENTS, run, against="native-2")


def suite(settings: Settings) -> Suite:
    seconds = 2.2 if settings.quick else 3.0
    wide = partial(job.call, f"{LOOPS}:wide", seconds=0.5 if settings.quick else 1.0)
    texts = "flink-strings-2" if "flink" in settings.peers else None
    probes = [
        *our_probes(YSB, settings),
        probe("c-loop-bytes136-1", EVENTS, wide),
        probe(
            "bytes136-2", EVENTS, partial(native, YSB, 2, seconds, "bytes136"), against="c-loop-bytes136-1"
        ),
        probe(
            "strings-2",
            EVENTS,
            partial(native, YSB, 2, seconds, "uuid", batch_size=TEXT_ROWS),
            against=texts,
        ),
        *(over(way, seconds + NETWORK_START_SECONDS) for way in ("mpi", "zmq")),
        *peer_probes(PEERS, settings),
    ]
    notes = (
        "generated: 7 columns of integers, 26 bytes an event, made by the engine, the kernels or the peer themselves",
        "columns: 4 batches in memory, again and again; of 16,384 rows for the kernels, 65,536 for the engine",
        f"bytes136: events of {WIDE_BYTES} bytes, generated; its C loop reads 3 fields of such rows that lie in memory",
    )
    return Suite("ysb", tuple(probes), notes, summary=lines)


def lines(medians: Mapping[str, float]) -> list[str]:
    found = summary(medians)
    found.append(
        f"native-2 is {medians['native-2'] / WINDFLOW:,.0f} times WindFlow's 5.8 M (docs/benchmarks.md, not measured here)"
    )
    for case in ("bytes136-2", "c-loop-bytes136-1"):
        found.append(f"{case}: {medians[case] * WIDE_BYTES / 1e9:.1f} GB/s of events")
    if "flink-strings-2" in medians:
        found.append(
            f"strings-2 is {medians['strings-2'] / medians['flink-strings-2']:.1f} times flink-strings-2"
        )
    return found
