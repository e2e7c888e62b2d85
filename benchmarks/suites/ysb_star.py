"""`ysb-star`: clicks per view, two windowed aggregations and their join (AIR figure 1), as apps/ysb/star-bench.toml has
it."""

from __future__ import annotations

from benchmarks.suite import Settings, Suite
from benchmarks.yahoo import STAR, PeerRun, our_probes, peer_probes, summary

PEERS = (
    PeerRun("flink-1", "flink", "flink_ysb.py", ("ysb-star", "1"), (60_000_000, 20_000_000)),
    PeerRun("flink-2", "flink", "flink_ysb.py", ("ysb-star", "2"), (100_000_000, 30_000_000)),
    PeerRun(
        "flink-preaggregated-2",
        "flink",
        "flink_ysb.py",
        ("ysb-star-preaggregated", "2"),
        (300_000_000, 100_000_000),
    ),
    PeerRun("spark-2", "spark", "spark_ysb.py", ("ysb-star", "2"), (10_000_000, 5_000_000), ("4",)),
    PeerRun("bytewax-1", "bytewax", "bytewax_ysb.py", ("ysb-star", "1"), (12_000_000, 4_000_000)),
    PeerRun("bytewax-2", "bytewax", "bytewax_ysb.py", ("ysb-star", "2"), (12_000_000, 4_000_000)),
    PeerRun("pathway-1", "pathway", "pathway_ysb.py", ("ysb-star",), (600_000, 250_000)),
)


def suite(settings: Settings) -> Suite:
    probes = (*our_probes(STAR, settings), *peer_probes(PEERS, settings))
    notes = (
        "kernels: filter, look-up and count for views, then for clicks, and a merge join of what is closed",
    )
    return Suite("ysb-star", probes, notes, summary=summary)
