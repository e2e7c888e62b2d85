"""Timestamp order: whole topologies give one sequence, whatever the workers, batches, transports and interleavings."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.topology.builder import Topology
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import PassTicks, Row, Ticks, rows_of

DEPLOYMENTS: list[dict[str, Any]] = [
    {"workers": 1, "transport": "local"},
    {"workers": 2, "transport": "shm", "batch_size": 7},
    {"workers": 4, "transport": "shm", "edge_bytes": 4096},
    {"workers": 2, "transport": "shm", "batch_size": 64, "testing": {"delay": "2ms", "seed": 3}},
]


def rows(topology: Topology, deployment: dict[str, Any], sink: str = "sink") -> list[Row]:
    return [tuple(row) for row in topology.run(**deployment).collected[sink]]


def in_rank_order(*inputs: list[Row]) -> list[Row]:
    """The rows of sequences in timestamp order: those of one time by input, then as they are."""
    ranked = [
        (row[0], rank, number, row) for rank, each in enumerate(inputs) for number, row in enumerate(each)
    ]
    return [row for *_, row in sorted(ranked)]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=str)
@pytest.mark.parametrize("replicas", [1, 3])
def test_sorted_sources_become_one_sequence_by_time_rank_origin_and_position(
    deployment: dict[str, Any], replicas: int
) -> None:
    topology = Topology("merged")
    first = topology.source(Ticks, name="first", who=1, count=600, parts=3, span=90)
    second = topology.source(Ticks, name="second", who=2, count=900, span=90)
    passed = first.shuffle().through(PassTicks, name="pass", replicas=replicas)
    passed.ordered("timestamp").into(Collect, second.ordered("timestamp"), name="sink")
    expected = in_rank_order(rows_of(1, 600, 3, 90), rows_of(2, 900, 1, 90))
    assert rows(topology, deployment) == expected
