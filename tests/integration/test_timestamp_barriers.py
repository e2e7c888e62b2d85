"""Barriers on edges in timestamp order: they change nothing about the sequence, and each comes in everywhere."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.events.batch import Batch
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Number, Numbers, Pass
from tests.integration.test_recovery_hooks import ENDLESS, barriers_then_drain, job_of, run_with, states


@pytest.mark.parametrize(
    "deploy",
    [
        {"workers": 1, "batch_size": 64},
        {"workers": 2, "batch_size": 16, "edge_bytes": 1},
        {"workers": 2, "batch_size": 256, "testing": {"delay": "1ms", "seed": 3}},
    ],
    ids=str,
)
def test_the_sequence_is_whole_and_in_order_with_barriers_between_its_rows(deploy: dict[str, Any]) -> None:
    """The sources are at different times when a barrier comes: rows before it wait for rows behind it."""
    topology = Topology("timestamp-barriers")
    fast = topology.source(Numbers, name="fast", count=ENDLESS, rate=9_000)
    slow = topology.source(Numbers, name="slow", count=ENDLESS, rate=2_000)
    one = fast.shuffle().through(Pass, name="one", replicas=2)
    both = one.to_one().ordered("timestamp").through(Pass, slow.ordered("timestamp"), name="both")
    both.ordered("timestamp").into(Collect, name="sink")
    result, launcher = run_with(job_of(topology, **deploy), barriers_then_drain(3))
    assert result.interrupted is not None
    assert result.interrupted.drained
    for barrier in (1, 2, 3):
        assert set(states(launcher, barrier)) == {"fast", "slow", "one", "both", "sink"}
    values = [row[0] for row in result.collected["sink"]]
    assert values == sorted(values)
    counts = [values.count(value) for value in range(min(5, len(values)))]
    last = states(launcher, 3)
    for name in ("fast", "slow"):
        (read,) = last[name][0]["positions"].values()
        assert values[-1] >= read - 1 or name == "slow"
    assert all(count == 2 for count in counts)
    assert sorted(set(values)) == list(range(values[-1] + 1))


class Lingers(Actor):
    """Stays in its hook for a while after each barrier, so that a second thread would find the first one there."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self) -> None:
        self.alone, self.came, self.is_cut = threading.Lock(), threading.Event(), False

    def snapshot(self) -> None:
        self.is_cut = True

    def on_batch(self, batch: Batch) -> Batch:
        if not self.alone.acquire(blocking=False):
            self.came.set()
            raise RuntimeError("two threads are in one replica")
        try:
            if self.is_cut:
                self.is_cut = False
                self.came.wait(0.02)
            return batch
        finally:
            self.alone.release()


def test_no_second_thread_comes_into_a_replica_behind_a_barrier() -> None:
    topology = Topology("pooled-barriers")
    first, second = (
        topology.source(Numbers, name=name, count=ENDLESS, rate=5_000) for name in ("first", "second")
    )
    merged = first.by("group").ordered("timestamp")
    merged = merged.through(Lingers, second.by("group").ordered("timestamp"), name="merged", replicas=2)
    merged.to_one().ordered("timestamp").into(Collect, name="sink")
    job = job_of(topology, schedule="lp", threads=2, merge="gate", batch_size=16)
    result, _ = run_with(job, barriers_then_drain(4))
    values = [row[0] for row in result.collected["sink"]]
    assert values == sorted(values)
