"""Barriers on edges in timestamp order: they change nothing about the sequence, and each comes in everywhere."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers, Pass
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
