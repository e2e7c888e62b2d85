"""Control needs no process of its own, and no sockets: here a coordinator and two workers live in one event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from actorstream.checkpoint.store import CheckpointStore
from actorstream.control.coordinator import Coordinator
from actorstream.control.host import Host
from actorstream.control.messages import Message
from actorstream.errors import OperatorError
from actorstream.launch.checkpoints import CheckpointRecord, checkpoints_of
from actorstream.launch.process import run_worker
from actorstream.metrics.counters import Counter, CounterTable
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.memory_links import MemoryEnd, MemoryLink
from tests.integration.parts import Collect, Numbers, Pass
from tests.integration.test_executed_workers import Asks, Dies, Table

COUNT = 400


def job_of(middle: Any, *, ask: bool = False, **keys: Any) -> Job:
    topology = Topology("hosted")
    numbers = topology.source(Numbers, name="numbers", count=COUNT)
    numbers.shuffle().through(middle, name="middle", replicas=2, **keys).into(Collect, name="sink")
    if ask:
        numbers.through(Table, name="table", replicas=2)
    deploy = {"transport": "shm", "workers": 2, "placement": "round-robin", "batch_size": 32}
    return compile_job(topology.spec(), load_deploy(None, (), **deploy))


async def hosted(job: Job, store: str | None = None, *, apart: bool = False) -> Host:
    """Runs a job of two workers in this loop. `apart`: each has counters of its own."""
    checkpoints = record = None
    if store is not None:
        checkpoints = checkpoints_of(job, CheckpointStore(store), 1e9)
        record = CheckpointRecord(job, CheckpointStore(store))
    links = [MemoryLink.pair() for _ in range(job.processes)]

    def send(worker: int, message: Message) -> None:
        links[worker][0].send(message)

    host = Host(
        Coordinator(job.processes, len(job.plan.replicas), checkpoints),
        record,
        send,
        lambda: [task.cancel() for task in running],  # type: ignore[arg-type, return-value]
        job.counters.take,
    )
    loop = asyncio.get_running_loop()
    fabric = job.make_fabric()
    ends = MemoryEnd.pair()

    def hear(worker: int) -> None:
        for message in links[worker][0].receive():
            host.heard(worker, message)

    async def work(worker: int) -> None:
        near, far = links[worker]
        near.listen(loop, lambda: hear(worker))
        own = replace(job, counters=CounterTable(job.counters.rows, is_shared=False)) if apart else job
        try:
            await run_worker(own, worker, fabric, far, {1 - worker: ends[worker]})
        except Exception:
            """The coordinator was told."""
        hear(worker)
        far.close()
        host.lost(worker, f"worker {worker} has ended")

    running = [asyncio.ensure_future(work(worker)) for worker in range(job.processes)]
    await asyncio.wait_for(asyncio.gather(*running), 60)
    if fabric is not None:
        fabric.close()
    return host


async def test_a_run_ends_with_all_its_rows() -> None:
    job = job_of(Pass)
    host = await hosted(job)
    assert host.finished is not None
    assert host.finished.outcome is None
    rows = job.decode_collected("sink", host.collected["sink"])
    assert sorted(row[0] for row in rows) == list(range(COUNT))


async def test_counters_that_the_host_cannot_read_are_sent_to_it() -> None:
    job = job_of(Pass)
    await hosted(job, apart=True)
    counted = {}
    for each in job.plan.replicas:
        taken = job.counters.value(each.id, Counter.EVENTS_IN)
        counted[each.actor] = counted.get(each.actor, 0) + taken
    assert counted == {"numbers": 0, "middle": COUNT, "sink": COUNT}


async def test_the_record_of_the_end_is_in_the_store(tmp_path: Path) -> None:
    host = await hosted(job_of(Pass), str(tmp_path))
    assert host.finished is not None
    assert host.finished.outcome is None


async def test_actors_are_told_and_asked_over_a_way_that_is_no_socket() -> None:
    job = job_of(Asks, ask=True)
    host = await hosted(job)
    assert host.finished is not None
    assert host.finished.outcome is None
    rows = job.decode_collected("sink", host.collected["sink"])
    assert sorted(row[0] for row in rows) == [number**2 for number in range(COUNT)]


async def test_an_error_of_an_operator_is_the_outcome() -> None:
    host = await hosted(job_of(Fails))
    assert host.finished is not None
    assert isinstance(host.finished.outcome, OperatorError)
    assert host.collected == {}


class Fails(Dies):
    def __init__(self) -> None:
        super().__init__("raise")

    def on_event(self, event: Any) -> Any:
        return super().on_event(type(event)(event.value + 400, event.group))
