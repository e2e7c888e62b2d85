"""A topology becomes a job: channels with their doorbell bits, who calls whom, and the same plan every time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import ConfigurationError
from actorstream.plan.channels import MIN_SLOTS, RING_ENTRIES, SLOTS, slots_for
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Double, DoubleAsync, DoubleBatch, Number, Numbers


def job_of(topology: Topology, **deploy: Any) -> Job:
    return compile_job(topology.spec(), load_deploy(None, (), **deploy))


def chain(operator: type[Actor] = Double, replicas: int = 2) -> Topology:
    topology = Topology("chain")
    stream = topology.source(Numbers, name="source", parts=4, replicas=replicas)
    stream = stream.through(operator, name="first", replicas=replicas)
    stream = stream.through(DoubleBatch, name="second", replicas=replicas)
    stream.by("group").into(Collect, name="sink", replicas=2)
    return topology


def named(job: Job, fused: dict[int, Any]) -> dict[str, str]:
    names = {replica.id: replica.name for replica in job.plan.replicas}
    return {names[down]: names[up] for down, (up, _) in fused.items()}


@pytest.mark.parametrize("deploy", [{"transport": "local", "workers": 1}, {"transport": "shm", "workers": 2}])
def test_forward_neighbours_in_a_worker_are_called_directly(deploy: dict[str, Any]) -> None:
    job = job_of(chain(), **deploy)
    assert named(job, job.fused) == {
        "first/0": "source/0",
        "first/1": "source/1",
        "second/0": "first/0",
        "second/1": "first/1",
    }
    assert len(job.channels) == 4, "only the key edge has channels"


def test_pipelining_can_be_switched_off() -> None:
    job = job_of(chain(), transport="local", workers=1, pipelining=False)
    assert job.fused == {}
    assert len(job.channels) == 2 + 2 + 4


def test_neighbours_in_different_workers_have_channels() -> None:
    job = job_of(chain(replicas=1), transport="shm", workers=3, placement="round-robin")
    assert job.fused == {}
    assert all(link.remote == (link.channel.sender != link.channel.receiver) for link in job.channels)
    assert any(link.remote for link in job.channels)


def test_a_hook_that_awaits_is_not_called_by_its_neighbour() -> None:
    job = job_of(chain(DoubleAsync), transport="local", workers=1)
    assert named(job, job.fused) == {"second/0": "first/0", "second/1": "first/1"}


def test_a_consumer_of_two_streams_is_not_called_directly() -> None:
    topology = Topology("join")
    first, second = topology.source(Numbers, name="a"), topology.source(Numbers, name="b")
    first.forward().through(Double, second.forward(), name="both").into(Collect, name="sink")
    job = job_of(topology, transport="local", workers=1)
    assert named(job, job.fused) == {"sink/0": "both/0"}


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_every_end_of_a_channel_has_a_doorbell_bit_of_its_own(workers: int) -> None:
    job = job_of(chain(replicas=4), transport="shm", workers=workers, pipelining=False)
    bits = Counter(
        bit
        for link in job.channels
        for bit in (
            (link.channel.sender, link.channel.send_bit),
            (link.channel.receiver, link.channel.receive_bit),
        )
    )
    assert set(bits.values()) == {1}
    for worker in range(workers):
        own = sorted(bit for each, bit in bits if each == worker)
        assert own == list(range(len(own))), "dense, so that the bitmap is short"


def test_producers_of_an_input_share_its_budget() -> None:
    job = job_of(chain(replicas=4), transport="shm", workers=2, edge_bytes=1 << 20)
    shared = Counter()
    for link in job.channels:
        shared[link.consumer] += link.channel.budget
    assert set(shared.values()) == {1 << 20}
    tiny = job_of(chain(replicas=4), transport="shm", workers=2, edge_bytes=1)
    assert {link.channel.budget for link in tiny.channels} == {1}


def test_the_same_topology_gives_the_same_plan_and_another_another() -> None:
    first, again = (job_of(chain(), transport="shm", workers=2) for _ in range(2))
    assert first.fingerprint == again.fingerprint
    assert first.channels == again.channels
    assert job_of(chain(), transport="shm", workers=3).fingerprint != first.fingerprint
    assert job_of(chain(), transport="shm", workers=2, batch_size=7).fingerprint != first.fingerprint


def test_local_runs_all_workers_of_the_plan_in_one_process() -> None:
    job = job_of(chain(), transport="local", workers=4)
    assert job.processes == 1
    assert {job.process_of(replica) for replica in job.plan.replicas} == {0}
    assert job.actors_of(0) == ["first", "second", "sink", "source"]
    assert job.make_fabric() is None


def test_actors_are_listed_by_process() -> None:
    job = job_of(chain(replicas=1), transport="shm", workers=2)
    assert job.actors_of(0) == ["first", "second", "sink", "source"]
    assert job.actors_of(1) == ["sink"]


@pytest.mark.parametrize("inputs", [1, 200, 5000, 100_000])
def test_many_channels_get_fewer_slots_each(inputs: int) -> None:
    slots = slots_for(inputs)
    assert MIN_SLOTS <= slots <= SLOTS
    assert slots & (slots - 1) == 0
    assert slots == MIN_SLOTS or slots * inputs <= RING_ENTRIES


def test_everything_that_is_wrong_is_said_at_once() -> None:
    topology = Topology("wrong")
    topology.source(Numbers, name="source", cuont=5).by("no-such-field").into(
        Collect, name="sink", replicas=2
    )
    with pytest.raises(ConfigurationError) as caught:
        job_of(topology, transport="carrier-pigeon", workers=2)
    text = str(caught.value)
    assert len(caught.value.problems) >= 3
    for part in ("cuont", "count", "no-such-field", "carrier-pigeon"):
        assert part in text


def test_only_those_upstream_of_a_listener_carry_promises() -> None:
    class Listens(Double):
        def on_heartbeat(self, frontier: int) -> None:
            """Wants to know."""

        def on_event(self, event: Number) -> Number:
            return event

    topology = Topology("listens")
    source = topology.source(Numbers, name="source")
    source.through(Listens, name="listens").into(Collect, name="a")
    topology.source(Numbers, name="other").through(Double, name="deaf").into(Collect, name="b")
    job = job_of(topology, transport="local", workers=1)
    assert job.listens == {"source", "listens"}
