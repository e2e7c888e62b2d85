"""Where the time went, from counters that are written here."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.launch.latency_parts import latency_parts
from actorstream.metrics.batch_sizes import BatchSizes
from actorstream.metrics.counters import Counter, CounterTable
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Numbers, Pass

MS = 1_000_000


def job_of(**deploy: Any) -> Job:
    topology = Topology("parts")
    rows = topology.source(Numbers, name="numbers").shuffle().through(Pass, name="passes", replicas=2)
    rows.to_one().into(Collect, name="sink")
    return compile_job(
        topology.spec(), load_deploy(None, [f"deploy.{key}={value}" for key, value in deploy.items()])
    )


def write(job: Job, actor: str, index: int = 0, **counters: int) -> None:
    (replica,) = (each.id for each in job.plan.replicas if (each.actor, each.index) == (actor, index))
    for name, value in counters.items():
        job.counters.row(replica)[Counter[name]] = value


def test_each_part_is_the_time_between_two_places_on_the_way() -> None:
    job = job_of(pipelining="false")
    write(job, "numbers", READS=10, EXECUTE_NS=20 * MS, JUMBO_OUT=20, GATHERED_NS=40 * MS)
    for index in range(
        2
    ):  # 2 ms of reading and 2 ms of gathering, 3 ms in the ring, 1 ms in the queue, 5 ms in the hook
        counters = {"JUMBO_IN": 5, "AGE_NS": 40 * MS, "QUEUED_NS": 5 * MS, "EXECUTE_NS": 25 * MS}
        write(job, "passes", index, JUMBO_OUT=5, GATHERED_NS=0, **counters)
    write(job, "sink", JUMBO_IN=10, AGE_NS=170 * MS, QUEUED_NS=20 * MS, EXECUTE_NS=10 * MS)
    found = {"read": 2.0, "hooks": 6.0, "builder": 2.0, "ring": 5.0, "queue": 3.0, "sum": 18.0}
    assert latency_parts(job) == found


def test_operators_that_are_called_directly_belong_to_the_unit_of_their_caller() -> None:
    topology = Topology("chained")
    topology.source(Numbers, name="numbers").through(Pass, name="passes").into(Collect, name="sink")
    job = compile_job(topology.spec(), load_deploy(None, ["deploy.workers=1"]))
    assert len(job.fused) == 2
    write(job, "numbers", READS=10, EXECUTE_NS=20 * MS)
    write(job, "passes", EXECUTE_NS=30 * MS, JUMBO_IN=10)
    write(job, "sink", EXECUTE_NS=10 * MS, JUMBO_IN=10)
    assert latency_parts(job) == {
        "read": 2.0,
        "hooks": 4.0,
        "builder": 0.0,
        "ring": 0.0,
        "queue": 0.0,
        "sum": 6.0,
    }


def test_without_a_batch_all_parts_are_nothing() -> None:
    assert set(latency_parts(job_of()).values()) == {0.0}


def test_a_line_of_many_units_is_followed_to_its_end() -> None:
    topology = Topology("line")
    rows = topology.source(Numbers, name="numbers")
    for number in range(400):
        rows = rows.shuffle().through(Pass, name=f"pass{number}")
    rows.into(Collect, name="sink")
    job = compile_job(topology.spec(), load_deploy(None, ["deploy.pipelining=false"]))
    write(job, "numbers", READS=10, EXECUTE_NS=20 * MS, JUMBO_OUT=10)
    for number in range(400):
        write(job, f"pass{number}", JUMBO_IN=10, JUMBO_OUT=10, EXECUTE_NS=10 * MS)
    write(job, "sink", JUMBO_IN=10)
    parts = latency_parts(job)
    assert (parts["read"], parts["hooks"]) == (2.0, 400.0)


@pytest.mark.parametrize("transport", ["local", "shm"])
def test_a_run_says_where_its_time_went(transport: str) -> None:
    topology = Topology("run")
    topology.source(Numbers, count=5000).shuffle().through(Pass, replicas=2).to_one().into(Collect)
    parts = topology.run(transport=transport, workers=2, pipelining=False).report["latency_parts_ms"]
    assert parts.pop("sum") == pytest.approx(sum(parts.values()), abs=1e-5)
    assert parts["read"] > 0
    assert parts["hooks"] > 0
    assert min(parts.values()) >= 0


def test_sizes_are_counted_by_powers_of_two() -> None:
    table = CounterTable(1)
    some, others = BatchSizes(), BatchSizes()
    some.count(100)
    some.count(1000, 5)
    others.count(7)
    BatchSizes.publish([some, others, BatchSizes()], table.row(0))
    found = [table.value(0, each) for each in (Counter.BATCH_P50, Counter.BATCH_MIN, Counter.BATCH_MAX)]
    assert found == [512, 7, 1000]
    assert some.total() == 6
