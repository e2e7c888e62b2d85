"""`swa`: events of each of 100 users in the last 10 s, every second, as apps/ysb/swa-bench.toml has it."""

from __future__ import annotations

from benchmarks.suite import Settings, Suite
from benchmarks.yahoo import SWA, PeerRun, our_probes, peer_probes, summary

PEERS = (
    PeerRun("flink-1", "flink", "flink_ysb.py", ("swa", "1"), (8_000_000, 3_000_000)),
    PeerRun("flink-2", "flink", "flink_ysb.py", ("swa", "2"), (15_000_000, 5_000_000)),
    PeerRun(
        "flink-preaggregated-2",
        "flink",
        "flink_ysb.py",
        ("swa-preaggregated", "2"),
        (500_000_000, 150_000_000),
    ),
    PeerRun("spark-2", "spark", "spark_ysb.py", ("swa", "2"), (4_000_000, 2_000_000), ("3",)),
    PeerRun("bytewax-1", "bytewax", "bytewax_ysb.py", ("swa", "1"), (1_000_000, 400_000)),
    PeerRun("bytewax-2", "bytewax", "bytewax_ysb.py", ("swa", "2"), (1_000_000, 400_000)),
    PeerRun("pathway-1", "pathway", "pathway_ysb.py", ("swa",), (150_000, 60_000)),
)


def suite(settings: Settings) -> Suite:
    probes = (*our_probes(SWA, settings), *peer_probes(PEERS, settings))
    notes = (
        "kernels and c-loop count each event once, in its pane of 1 s, and add up 10 panes when one is over",
    )
    return Suite("swa", probes, notes, summary=summary)
