"""Barriers on serial edges: every state at a barrier is what a sequential run has after the rows before it."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Number, Numbers
from tests.integration.serial_parts import Chain, CountByGroup, Some
from tests.integration.test_recovery_hooks import (
    ENDLESS,
    barriers_then_drain,
    job_of,
    run_with,
    states,
)


def topology_of() -> Topology:
    """Two branches of any selectivity, one by key, that come together in one sequence."""
    topology = Topology("serial-barriers")
    rows = topology.source(Numbers, name="source", count=ENDLESS, rate=3_000)
    counts = rows.through(Some, replicas=3).by("group").through(CountByGroup, name="counts", replicas=2)
    other = rows.shuffle().through(Some, name="other", replicas=2, most=2)
    chain = counts.ordered("serial").through(Chain, other.ordered("serial"), name="chain")
    chain.into(Collect, name="sink")
    return topology


def chained(rows: int) -> int:
    """The state of the chain after so many rows of the source, one after the other."""
    some, other, counts, chain = Some(), Some(2), CountByGroup(), Chain()
    for value in range(rows):
        row = Number(value, value % 101)
        for each in [*map(counts.on_event, some.on_event(row)), *other.on_event(row)]:
            chain.on_event(each)
    return chain.state


@pytest.mark.parametrize(
    "deploy",
    [
        {"workers": 2, "batch_size": 64},
        {"workers": 3, "batch_size": 16, "edge_bytes": 1, "reorder_window": 1},
        {"workers": 2, "batch_size": 256, "testing": {"delay": "1ms", "seed": 3}},
    ],
)
def test_every_state_at_a_barrier_is_that_of_a_sequential_run(deploy: dict[str, Any]) -> None:
    result, launcher = run_with(job_of(topology_of(), **deploy), barriers_then_drain(3))
    assert result.interrupted is not None
    assert result.interrupted.drained
    for barrier in (1, 2, 3):
        taken = states(launcher, barrier)
        (rows,) = taken["source"][0]["positions"].values()
        assert taken["chain"][0]["state"] == chained(rows)
