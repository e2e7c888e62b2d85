"""Every registered suite loads and has the case names that stay."""

from __future__ import annotations

import pytest

from benchmarks.harness import check
from benchmarks.registry import SUITES, UnknownNameError, asked_for, load
from benchmarks.suite import Settings, Suite

YAHOO = "native-1 native-2 kernels-generated-1 kernels-generated-2 kernels-columns-1 c-loop-1"
NAMES = {
    "ipc": "hand-over-filled hand-over-reference numpy-sum c-ring",
    "transport": "zmq-4096 zmq-65536 zmq-4194304 bare-zmq-4096 mpi-4096 mpi-4194304 bare-mpi-65536 shm-65536"
    " zmq-curve-65536 zmq-control-p50 bare-zmq-control-p50 mpi-control-p50 bare-mpi-control-p50",
    "exchange": "keyed-2to2",
    "idle": "idle-shm idle-zmq idle-mpi",
    "actors": "tell ask ask-p99",
    "connectors": "csv-read jsonl-read parquet-read csv-write",
    "spark": "source first-batch no-op identity identity-sorted local-iterator",
    "python-map": "event-3-fields-return event-3-fields-yield event-3-fields-same"
    " bare-loop-return bare-loop-yield bare-loop-same event-int batch-numpy",
    "word-count": "per-event-1 per-event-2 batch-1 batch-2 native-2",
    "latency": "parked-p50 parked-p99 spin-p50 spin-p99 word-count-half-load-p99",
    "batch-size": "ysb-256 ysb-auto swa-auto ysb-star-auto word-count-auto half-load-auto-p50 half-load-auto-p99",
    "defaults": "ysb-defaults ysb-tuned ysb-star-defaults swa-defaults word-count-defaults word-count-tuned",
    "batch-cost": "kernels-256 above-256 above-lone-256 above-hooks-4096 kernels-generated-2 native-2-256 native-2-4096",
    "ysb": f"{YAHOO} strings-2 bytes136-2",
    "ysb-star": YAHOO,
    "swa": YAHOO,
    "ablation": "both-1 both-16384 both-65536 no-pipelining-16384 no-pre-aggregation-16384 neither-16384",
    "tpcx-bb": "q1-turns-1 q1-ct-2 q1-lp-2-p99 q1-serial-2 q15-lp-half-load-p99 q15-qst-16-simulated",
    "keyed": "distinct-1m-1 distinct-1m-2 keys-10m-1 keys-10m-2 keys-10m-2-memory one-window-10m-1-memory",
    "reorder": "unordered-1us non-blocking-1us non-blocking-light-4 lock-based-light-4-send-p99"
    " non-blocking-light-8-cost non-blocking-pipeline-2 lock-based-pipeline-2-cost",
    "hybrid": "hybrid-uniform hybrid-sigma-0.05 partitioned-sigma-0.05 shared-sigma-0.05"
    " hybrid-10us-latency hybrid-10000us-work partitioned-10000us-latency-p50",
    "linear-road": "pos_rep-cl-1x1-1 pos_rep-ol-6x6-1024 new_seg-cl-4x2-1-latency new_seg-ol-2x4-1024-cpu"
    " app-1 app-2 app-paced app-paced-p99",
    "briskstream": "wc-2 wc-half-load-p99 wc-event-2 fd-2 fd-half-load-p99 fd-batch-2 sd-2 sd-spikes-2 sd-half-load-p50"
    " sd-half-load-p99 lr-2 lr-half-load-p99",
    "order-price": "none serial timestamp dependency serial-mean timestamp-half-load-p99 timestamp-64",
    "rlas": "server-a-wc-rlas-model server-b-lr-rlas-simulated server-a-fd-first-fit-simulated table-7-r5-planning"
    " server-a-sd-sockets-4-simulated server-b-wc-random-best-model table-3-counter-s0-s7"
    " figure-8-parser-remote",
    "rlas-here": "here-wc-two-cores-predicted here-lr-two-cores-round-robin-measured here-sd-rlas figure-6-fd table-5-lr-p99"
    " figure-7-wc-p999 figure-11-wc-2 figure-16-sd-placement air-star-8x28-simulated",
    "rlas-pairs": "wc-by-hand fd-rlas sd-median lr-lowest ysb-rlas ysb-star-median swa-by-hand",
    "dgs": "value-barrier-batch-1 value-barrier-batch-2 rule-fraud-batch-100k-2 page-view-join-event-2 join-2",
    "dgs-latency": "barrier-spin-p50 synchronization-park-p50 ratio-100-p50 heartbeats-1-p50",
    "dgs-studies": "outliers-2 outliers-model smart-home-2 smart-home-2-network smart-home-2-p90",
    "scalegate": "alternating-2-1 alternating-6-2 runs-2-1 runs-4-2 single-1-1 single-4-1 broadcast-4-4-shared"
    " keyed-4-4-gate lanes-16 lanes-64 lanes-64-tied",
}
PEERS = "flink-1 flink-2 flink-preaggregated-2 spark-2 bytewax-1 bytewax-2 pathway-1"


def names(suite: Suite) -> list[str]:
    return [case.name for probe in suite.probes for case in probe.cases]


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_has_the_cases_that_stay(name: str) -> None:
    suite = load(name, Settings())
    check(suite)
    assert suite.name == name
    assert set(NAMES[name].split()) <= set(names(suite))


@pytest.mark.parametrize("name", SUITES)
def test_peers_take_part_only_when_named(name: str) -> None:
    assert not any(probe.peer for probe in load(name, Settings()).probes)
    peers = ("bytewax", "spark", "flink", "pathway")
    assert {probe.peer for probe in load(name, Settings(peers=peers)).probes} <= {None, *peers}
    check(load(name, Settings(peers=peers)))


@pytest.mark.parametrize("name", ["ysb", "ysb-star", "swa"])
def test_the_peers_of_the_yahoo_benchmark_have_the_names_that_stay(name: str) -> None:
    suite = load(name, Settings(peers=("flink", "spark", "bytewax", "pathway")))
    assert set(PEERS.split()) <= set(names(suite))


def test_a_misspelt_suite_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'latency'"):
        load("latncy", Settings())


def test_dgs_is_run_with_its_parts_and_each_suite_once() -> None:
    assert asked_for(["dgs"]) == ["dgs", "dgs-latency", "dgs-studies"]
    assert asked_for(["dgs-studies", "dgs", "ipc", "dgs"]) == ["dgs-studies", "dgs", "dgs-latency", "ipc"]
