"""Which actors a pool runs, with how many threads, and what is called directly there."""

from __future__ import annotations

import math
from typing import Any

import pytest

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.events.batch import Batch
from actorstream.operators.filter import Filter
from actorstream.operators.map import Map
from actorstream.operators.split import Split
from actorstream.operators.union import Union
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.scheduling.base import UNBOUNDED
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Double, DoubleAsync, DoubleBatch, Number, Numbers
from tests.integration.pooled import RunningSum, Times


def job_of(topology: Topology, **deploy: Any) -> Job:
    deploy = {"transport": "local", "workers": 1, "schedule": "ct", "threads": 2, **deploy}
    return compile_job(topology.spec(), load_deploy(None, (), **deploy))


def limit_of(kind: Any, **keys: Any) -> float:
    topology = Topology("one")
    made = topology.source(Numbers, name="numbers", count=1).through(kind, name="it", **keys)
    made.into(Collect, name="out")
    return job_of(topology).kernels.get("it", 0)


class Prepares(Times):
    """Its kernel can be had apart."""

    contract = Contract(pool_limit=math.inf)

    def on_batch(self, batch: Batch) -> Batch | None:
        return super().on_batch(batch)

    def prepare(self, batch: Batch) -> None:
        """Nothing comes of this one."""


class Sums(RunningSum):
    contract = Contract(pool_limit=1)

    def on_batch(self, batch: Batch) -> Batch:
        return super().on_batch(batch)

    def prepare(self, batch: Batch) -> None:
        """Nothing comes of this one."""


class Timed(Prepares):
    def on_timer(self, name: str) -> None:
        """Timers are the loop's."""


class Asked(Prepares):
    def on_message(self, message: Any) -> None:
        """Messages are the loop's."""


class Awaits(Actor):
    outputs = {"default": Number}  # noqa: RUF012

    contract = Contract(pool_limit=math.inf)

    async def on_batch(self, batch: Batch) -> Batch:
        return batch


def positive(event: Number) -> bool:
    return event.value > 0


@pytest.mark.parametrize(
    ("kind", "keys", "limit"),
    [
        (Filter, {"where": "value > 1"}, UNBOUNDED),
        (Filter, {"function": positive}, 0),
        (Map, {"set": {"value": "1"}}, UNBOUNDED),
        (Split, {"cases": {"few": "value < 3"}}, UNBOUNDED),
        (Prepares, {}, UNBOUNDED),
        (Sums, {}, 1),
        (Times, {}, 0),
        (RunningSum, {}, 0),
        (Double, {}, 0),
        (DoubleBatch, {}, 0),
        (DoubleAsync, {}, 0),
        (Awaits, {}, 0),
        (Timed, {}, 0),
        (Asked, {}, 0),
    ],
)
def test_threads_run_kernels_that_can_be_had_apart(kind: Any, keys: dict[str, Any], limit: float) -> None:
    assert limit_of(kind, **keys) == limit


class Kept(Filter):
    """Has a hook of its own: the kernel of its class would not be what it does."""

    def on_batch(self, batch: Batch) -> Batch | None:
        return batch


def test_a_hook_of_its_own_has_no_kernel_of_its_class() -> None:
    assert limit_of(Kept, where="value > 1") == 0


def one(**deploy: Any) -> Job:
    topology = Topology("one")
    stream = topology.source(Numbers, name="numbers", count=1).through(Filter, name="it", where="value > 1")
    stream.into(Collect, name="out")
    return job_of(topology, **deploy)


def test_kernels_are_threads_also_where_an_actor_has_channels_before_it() -> None:
    assert set(one().kernels) == set(one(pipelining=False).kernels) == {"it"}


def test_without_threads_or_a_schedule_there_are_no_kernels() -> None:
    assert one(threads=0).kernels == {}
    assert one(threads=0, schedule="none").kernels == {}


def serial(way: str) -> Job:
    topology = Topology("serial")
    stream = topology.source(Numbers, name="numbers", count=1).through(Prepares, name="first")
    if way == "replicas":
        stream = stream.by("group").through(Prepares, name="keyed", replicas=2)
    if way == "streams":
        one, other = (stream.through(Prepares, name=name).ordered("serial") for name in ("one", "other"))
        stream = one.through(Union, other, name="both")
    stream.ordered("serial").through(Prepares, name="last").into(Collect, name="out")
    return job_of(topology)


def test_a_chain_is_in_serial_order_without_numbers() -> None:
    job = serial("chain")
    assert job.serial.edges == {}
    assert job.serial.producers == {}
    assert set(job.kernels) == {"first", "last"}


def test_what_a_numbering_point_calls_has_no_kernels_on_threads() -> None:
    job = serial("streams")
    assert [name for name, each in job.serial.producers.items() if each.numbers] == ["first"]
    assert set(job.kernels) == {"first", "last"}
