"""Which actors a pool runs, with how many threads, and what is called directly there."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import ConfigurationError
from actorstream.events.batch import Batch
from actorstream.operators.aggregate import Aggregate
from actorstream.operators.filter import Filter
from actorstream.operators.map import Map
from actorstream.operators.reduce import Reduce
from actorstream.operators.union import Union
from actorstream.runtime.compile import Job, compile_job
from actorstream.scheduling.base import UNBOUNDED
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Double, DoubleAsync, DoubleBatch, Number, Numbers
from tests.integration.pooled import RunningSum, SumsAtPromises, Times
from tests.integration.timestamp_parts import PooledRunning, PooledTicks, Ticks


def job_of(topology: Topology, **deploy: Any) -> Job:
    deploy = {"transport": "local", "workers": 1, "schedule": "ct", "threads": 2, **deploy}
    return compile_job(topology.spec(), load_deploy(None, (), **deploy))


def limit_of(kind: Any, **keys: Any) -> float:
    topology = Topology("one")
    made = topology.source(Numbers, name="numbers", count=1).through(kind, name="it", **keys)
    made.into(Collect, name="out")
    return job_of(topology).pooled.get("it", 0)


class Timed(Times):
    def on_timer(self, name: str) -> None:
        """Timers are the loop's."""


class Asked(Times):
    def on_message(self, message: Any) -> None:
        """Messages are the loop's."""


class Awaits(Actor):
    outputs = {"default": Number}  # noqa: RUF012

    @classmethod
    def pool_limit(cls, keys: dict[str, Any]) -> float:
        return math.inf

    async def on_batch(self, batch: Batch) -> Batch:
        return batch


class Started(Times):
    def on_start(self) -> None:
        """What it does here an instance of another thread would lack."""


def positive(event: Number) -> bool:
    return event.value > 0


@pytest.mark.parametrize(
    ("kind", "keys", "limit"),
    [
        (Filter, {"function": positive}, 0),
        (Union, {}, UNBOUNDED),
        (Reduce, {"aggregate": "count()"}, 1),
        (Aggregate, {"key": ["group"], "aggregates": {"n": "count()"}}, 1),
        (Times, {}, UNBOUNDED),
        (RunningSum, {}, 1),
        (SumsAtPromises, {}, 1),
        (Started, {}, 1),
        (Double, {}, 0),
        (DoubleBatch, {}, 0),
        (DoubleAsync, {}, 0),
        (Awaits, {}, 0),
        (Timed, {}, 0),
        (Asked, {}, 0),
    ],
)
def test_the_pool_runs_what_it_can_keep_apart(kind: Any, keys: dict[str, Any], limit: float) -> None:
    assert limit_of(kind, **keys) == limit


class Kept(Filter):
    """Has a hook of its own: the kernel of its class would not be what it does."""

    def on_batch(self, batch: Batch) -> Batch | None:
        return batch


@pytest.mark.parametrize(
    ("kind", "keys", "found"),
    [
        (Filter, {"where": "value > 1"}, True),
        (Map, {"set": {"value": "1"}}, True),
        (Filter, {"function": positive}, False),
        (Kept, {"where": "value > 1"}, False),
        (Times, {}, False),
        (RunningSum, {}, False),
    ],
)
def test_what_has_kernels_of_its_own_is_the_loops_and_they_are_the_pools(
    kind: Any, keys: dict[str, Any], found: bool
) -> None:
    topology = Topology("one")
    made = topology.source(Numbers, name="numbers", count=1).through(kind, name="it", **keys)
    made.into(Collect, name="out")
    job = job_of(topology)
    assert ("it" in job.kernels) == found
    assert not found or job.pooled == {}
    assert job_of(topology, pipelining=False).kernels == {}
    assert job_of(topology, threads=0).kernels == {}


def test_a_kernel_behind_what_the_pool_runs_itself_is_run_with_it() -> None:
    topology = Topology("behind")
    stream = topology.source(Numbers, name="numbers", count=1).through(Filter, name="a", where="value > 1")
    stream = stream.through(Times, name="b").through(Map, name="c", set={"value": "1"})
    stream.through(DoubleBatch, name="d").through(Map, name="e", set={"value": "1"}).into(Collect, name="out")
    job = job_of(topology)
    assert set(job.kernels) == {"a", "e"}
    assert job.pooled == {"b": UNBOUNDED, "c": UNBOUNDED}
    chains = [[job.plan.replicas[each].actor for each in chain] for chain in job.plan.chains]
    assert chains == [["numbers", "a"], ["b", "c"], ["d", "e", "out"]]


def test_without_threads_or_a_schedule_nothing_is_pooled() -> None:
    topology = Topology("none")
    topology.source(Numbers, name="numbers", count=1).through(Times, name="it").into(Collect, name="out")
    assert job_of(topology, threads=0).pooled == {}
    assert job_of(topology, threads=0, schedule="none").pooled == {}


def chains(**deploy: Any) -> list[list[str]]:
    topology = Topology("chain")
    stream = topology.source(Numbers, name="numbers", count=1).through(DoubleBatch, name="python")
    stream = stream.through(Times, name="a").through(Filter, name="b", where="value > 1")
    stream.through(RunningSum, name="sum").through(RunningSum, name="more").into(Collect, name="out")
    job = job_of(topology, **deploy)
    return [[job.plan.replicas[each].actor for each in chain] for chain in job.plan.chains]


def test_only_what_runs_alike_is_called_directly() -> None:
    assert chains() == [["numbers", "python"], ["a", "b"]]
    assert chains(threads=0) == [["numbers", "python", "a", "b", "sum", "more", "out"]]
    assert chains(pipelining=False) == []


def serial(way: str) -> Job:
    topology = Topology("serial")
    stream = topology.source(Numbers, name="numbers", count=1).through(Times, name="first")
    if way == "replicas":
        stream = stream.by("group").through(Times, name="keyed", replicas=2)
    if way == "streams":
        stream = stream.through(Union, stream.through(Times, name="again").ordered("serial"), name="both")
    stream.ordered("serial").through(Times, name="last").into(Collect, name="out")
    return job_of(topology)


def test_a_chain_is_in_serial_order_without_numbers() -> None:
    job = serial("chain")
    assert job.serial.edges == {}
    assert job.serial.producers == {}
    assert job.pooled == {"first": UNBOUNDED, "last": UNBOUNDED}


@pytest.mark.parametrize(("way", "where"), [("replicas", "last"), ("streams", "both")])
def test_rows_of_several_ways_are_numbered_and_taken_one_number_after_the_other(way: str, where: str) -> None:
    job = serial(way)
    assert job.serial.edges
    assert job.pooled[where] == 1


def test_in_timestamp_order_a_replica_has_one_thread_and_what_has_no_state_stays_with_its_producer() -> None:
    topology = Topology("timestamp")
    stream = topology.source(Ticks, name="ticks", parts=2, replicas=2)
    stream = stream.forward().through(Filter, name="near", where="key > 1", replicas=2)
    stream = stream.by("key").through(PooledRunning, name="running", replicas=2)
    stream = stream.forward().through(PooledTicks, name="behind", replicas=2)
    stream.by("n").through(PooledTicks, name="spread", replicas=2).to_one().ordered("timestamp").into(
        Collect, name="out"
    )
    job = job_of(topology)
    assert job.kernels == {}
    assert job.pooled == {"running": 1, "behind": 1, "spread": 1}
    heads = {job.plan.replicas[chain[0]].actor: len(chain) for chain in job.plan.chains}
    assert heads == {"ticks": 2, "running": 2}


def test_a_plan_that_joins_what_the_pool_runs_with_what_the_loop_runs_is_refused() -> None:
    topology = Topology("mixed")
    made = (
        topology.source(Numbers, name="numbers", count=1)
        .shuffle()
        .through(Map, name="map", set={"value": "1"})
    )
    made.into(Collect, name="out")
    job = job_of(topology)
    chained = msgspec.structs.replace(job.plan, chains=[[1, 2]], channels=job.plan.channels[:1])
    with pytest.raises(
        ConfigurationError, match="a chain leads from 'map' to 'out', and 'map' alone runs in the pool"
    ):
        Job.of(job.graph, chained)
