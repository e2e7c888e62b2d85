"""The report has exactly the fields of the contract, from counters as they stand."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from actorstream.launch.report import (
    PAGE_BYTES,
    PSS_EVERY_S,
    PSS_FREE_S,
    PSS_SHARE,
    Sampler,
    build_report,
    may_look,
    pss_bytes,
)
from actorstream.metrics.counters import Counter, bucket_of, bucket_upper
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Double, Numbers

FIELDS = [
    "topology",
    "plan",
    "transport",
    "workers",
    "elapsed_s",
    "cpu_s",
    "peak_pss_mb",
    "events_in",
    "events_out",
    "throughput_eps",
    "steady",
    "latency_ms",
    "processing_ms",
    "latency_parts_ms",
    "late",
    "dead",
    "restarts",
    "checkpoints",
    "actors",
]
REPLICA_FIELDS = [
    "in",
    "out",
    "execute_s",
    "transfer_s",
    "wait_in_s",
    "wait_out_s",
    "queue_max_bytes",
    "state_bytes",
    "kept_blocks",
]


@pytest.fixture
def job() -> Job:
    topology = Topology("reported")
    stream = topology.source(Numbers, name="source", parts=2, replicas=2)
    stream.by("group").through(Double, name="double", replicas=3).to_one().into(Collect, name="sink")
    return compile_job(topology.spec(), load_deploy(None, (), transport="shm", workers=2))


def ids(job: Job, actor: str) -> list[int]:
    return [replica.id for replica in job.plan.replicas if replica.actor == actor]


def report_of(job: Job, sampler: Sampler | None = None) -> dict[str, object]:
    return build_report(job, sampler or Sampler(job, 0.0), elapsed_s=1.25, cpu_s=0.5)


def test_the_fields_are_those_of_the_contract(job: Job) -> None:
    report = report_of(job)
    assert list(report) == FIELDS
    assert list(report["latency_ms"]) == list(report["processing_ms"]) == ["p50", "p90", "p99", "p999", "max"]  # type: ignore[call-overload]
    assert list(report["actors"]) == ["source", "double", "sink"]  # type: ignore[call-overload]
    for name, replicas in report["actors"].items():  # type: ignore[attr-defined]
        assert [row["replica"] for row in replicas] == list(range(len(ids(job, name))))
        assert all(list(row) == ["replica", *REPLICA_FIELDS] for row in replicas)


def test_a_report_is_one_json_object_also_when_nothing_has_run(job: Job) -> None:
    report = report_of(job)
    assert json.loads(json.dumps(report)) == report
    assert report["topology"] == "reported"
    assert report["plan"] == job.plan.fingerprint
    assert (report["transport"], report["workers"]) == ("shm", 2)
    assert (report["elapsed_s"], report["cpu_s"]) == (1.25, 0.5)
    assert report["events_in"] == {"source": 0, "double": 0, "sink": 0}
    assert (report["throughput_eps"], report["steady"]) == (0.0, False)
    assert set(report["latency_ms"].values()) == {0.0}  # type: ignore[attr-defined]


def test_counters_are_summed_by_actor_and_kept_by_replica(job: Job) -> None:
    for number, replica in enumerate(ids(job, "double")):
        row = job.counters.row(replica)
        row[Counter.EVENTS_IN] = 10 * (number + 1)
        row[Counter.EVENTS_OUT] = number
        row[Counter.EXECUTE_NS] = 1_500_000_000
        row[Counter.DEAD], row[Counter.LATE] = 2, 3
        row[Counter.KEPT_BLOCKS] = number
        row[Counter.QUEUE_MAX_BYTES] = 4096
        row[Counter.WAIT_IN_NS], row[Counter.WAIT_OUT_NS] = 1000, 2000
    report = report_of(job)
    assert report["events_in"]["double"] == 60  # type: ignore[index]
    assert report["events_out"]["double"] == 3  # type: ignore[index]
    assert (report["dead"], report["late"]) == (6, 9)
    rows = report["actors"]["double"]  # type: ignore[index]
    assert [row["in"] for row in rows] == [10, 20, 30]
    assert [row["kept_blocks"] for row in rows] == [0, 1, 2]
    assert {row["execute_s"] for row in rows} == {1.5}
    assert {(row["wait_in_s"], row["wait_out_s"]) for row in rows} == {(1e-6, 2e-6)}


def test_latencies_are_those_of_the_sinks_in_milliseconds(job: Job) -> None:
    (sink,) = ids(job, "sink")
    other = ids(job, "double")[0]
    values = np.array([1_000_000] * 90 + [50_000_000] * 10)
    for value in values:
        job.counters.histogram(sink)[bucket_of(int(value))] += 1
        job.counters.histogram(other)[bucket_of(10**12)] += 1
    job.counters.histogram(sink, processing=True)[bucket_of(500_000)] += 7
    report = report_of(job)
    latency, processing = report["latency_ms"], report["processing_ms"]
    assert latency["p50"] == pytest.approx(1.0, rel=1 / 16)  # type: ignore[index]
    assert latency["max"] == pytest.approx(50.0, rel=1 / 16)  # type: ignore[index]
    assert latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p999"] <= latency["max"]  # type: ignore[index]
    assert processing["p50"] == processing["max"] == bucket_upper(bucket_of(500_000)) / 1e6  # type: ignore[index]


# -- throughput


def sampled(job: Job, samples: list[tuple[float, int]]) -> Sampler:
    sampler = Sampler(job, 0.0)
    sampler.times, sampler.events = [at for at, _ in samples], [events for _, events in samples]
    return sampler


def test_throughput_is_taken_between_a_fifth_and_four_fifths_of_the_events(job: Job) -> None:
    """Slow at the start and at the end; 1,000 a second in between."""
    slow_start = [(at / 10, at) for at in range(101)]  # 10 s for the first 100
    steady = [(10 + at / 10, 100 + at * 100) for at in range(1, 100)]
    slow_end = [(20 + at, 10_000 + at) for at in range(1, 20)]
    eps, is_steady = sampled(job, slow_start + steady + slow_end).throughput()
    assert is_steady
    assert eps == pytest.approx(1000, rel=0.01)


def test_a_run_of_less_than_two_seconds_is_not_steady(job: Job) -> None:
    samples = [(0.0, 0), (0.5, 0), (1.0, 500), (1.5, 1000), (9.0, 1000)]
    eps, is_steady = sampled(job, samples).throughput()
    assert not is_steady
    assert eps == pytest.approx(1000), "from the sample before the first event to that of the last"


@pytest.mark.parametrize("samples", [[], [(0.0, 0)], [(0.0, 0), (5.0, 0)], [(0.0, 7)]])
def test_no_events_or_no_time_give_no_throughput(job: Job, samples: list[tuple[float, int]]) -> None:
    assert sampled(job, samples).throughput() == (0.0, False)


def test_all_events_at_once_give_a_finite_throughput(job: Job) -> None:
    eps, is_steady = sampled(job, [(0.0, 0), (0.05, 1_000_000)]).throughput()
    assert (eps, is_steady) == (pytest.approx(2e7), False)
    eps, _ = sampled(job, [(0.0, 0), (3.0, 1_000_000), (6.0, 1_000_000)]).throughput()
    assert np.isfinite(eps)


def test_a_sample_looks_at_all_sources_and_their_bytes(job: Job) -> None:
    sampler = Sampler(job, 0.0)
    for number, replica in enumerate(ids(job, "source")):
        row = job.counters.row(replica)
        row[Counter.EVENTS_OUT] = 100 + number
        row[Counter.BYTES_DONE], row[Counter.BYTES_TOTAL] = 10, 50
    job.counters.row(ids(job, "double")[0])[Counter.EVENTS_OUT] = 10**9
    sampler.sample()
    assert sampler.events == [201]
    assert len(sampler.times) == 1
    assert sampler.progress() == (20, 100)


def test_memory_is_that_of_the_processes_and_zero_for_one_that_is_gone(job: Job) -> None:
    assert pss_bytes(os.getpid()) > 1 << 20
    assert pss_bytes(2**22 + 1) == 0
    sampler = Sampler(job, 0.0, memory=True)
    sampler.sample()
    own = sampler.peak_pss
    assert own > 0
    assert report_of(job, sampler)["peak_pss_mb"] == round(own / 2**20, 1)


@pytest.mark.parametrize("grown", [False, True])
def test_memory_is_looked_at_as_its_share_of_the_time_allows_and_often_at_first_where_it_grows(
    grown: bool,
) -> None:
    looks, spent = [], 0.0
    for quarter in range(4000):
        if may_look(quarter * PSS_EVERY_S, spent, grown=grown):
            looks.append(quarter * PSS_EVERY_S)
            spent += 0.005
    assert sum(each <= 2 for each in looks) == (7 if grown else 1)
    assert len(looks) > 300
    assert spent <= 1000 * PSS_SHARE + (PSS_FREE_S if grown else 0) + 0.005


def test_memory_that_grows_is_looked_at_again_and_memory_that_does_not_is_left_alone(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    resident = iter([1000, 1000, 1030, 1060, 1060, 900, 1090])  # pages, of which half are shared
    monkeypatch.setattr("actorstream.launch.report.resident_pages", lambda pid: next(resident))
    half = 500 * PAGE_BYTES
    monkeypatch.setattr("actorstream.launch.report.pss_bytes", lambda pid: looks.append(now) or half)
    monkeypatch.setattr("actorstream.launch.report.thread_time", lambda: 0.005 * len(looks))
    monkeypatch.setattr("actorstream.launch.report.monotonic", lambda: now)
    sampler = Sampler(job, 0.0, memory=True)
    for quarter in range(7):
        now = quarter * PSS_EVERY_S
        sampler.sample()
    assert looks == [0.0, 0.25, 0.5, 0.75, 1.5]


def test_a_run_of_days_keeps_few_samples_evenly_spread_and_the_last_one(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler, most = Sampler(job, 0.0), 16
    monkeypatch.setattr("actorstream.launch.report.MOST_SAMPLES", most)
    for second in range(1, 1001):
        monkeypatch.setattr("actorstream.launch.report.monotonic", lambda second=second: float(second))
        monkeypatch.setattr(sampler, "source_events", lambda second=second: 10 * second)
        sampler.sample()
        assert len(sampler.times) <= most
        assert second < 20 or sampler.throughput() == (pytest.approx(10), True)
    assert len(sampler.times) >= most // 2
    assert sampler.times[-1] == 1000
    gaps = set(np.diff(sampler.times[:-1]).tolist())
    assert len(gaps) == 1
