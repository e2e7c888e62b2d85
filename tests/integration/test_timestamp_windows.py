"""Where times tie, `first`, `last`, count windows and `top` over inputs in timestamp order go by (time, rank, origin,
position): the same on every deployment, and what a model says."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from actorstream.topology.builder import Stream, Topology
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import PassTicks, Row, Ticks, rows_of

DEPLOYMENTS: list[dict[str, Any]] = [
    {"workers": 1, "transport": "local"},
    {"workers": 2, "transport": "shm", "batch_size": 7},
    {"workers": 3, "transport": "shm", "batch_size": 64, "testing": {"delay": "2ms", "seed": 3}},
]
everywhere = pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=str)
SIZE = 20


def streams(topology: Topology) -> tuple[Stream, Stream]:
    """Rows with many ties, of three partitions through two replicas, and of one partition."""
    first = topology.source(Ticks, name="first", who=1, count=400, parts=3, span=90, replicas=3)
    second = topology.source(Ticks, name="second", who=2, count=600, span=90)
    passed = first.shuffle().through(PassTicks, name="pass", replicas=2)
    return passed.ordered("timestamp"), second.ordered("timestamp")


def sequence() -> list[Row]:
    """All rows in the total order."""
    both = (rows_of(1, 400, 3, 90), rows_of(2, 600, 1, 90))
    ranked = [(row[0], rank, at, row) for rank, rows in enumerate(both) for at, row in enumerate(rows)]
    return [row for *_, row in sorted(ranked)]


def run(deployment: dict[str, Any], kind: str, **keys: Any) -> list[tuple[Any, ...]]:
    topology = Topology("windows")
    found = topology.actor("found", kind, list(streams(topology)), replicas=2, **keys)
    found.into(Collect, name="sink")
    return sorted(tuple(row) for row in topology.run(**deployment).collected["sink"])


@everywhere
def test_first_and_last_of_tied_rows_go_by_the_total_order(deployment: dict[str, Any]) -> None:
    window = {"type": "tumbling", "size": SIZE}
    aggregates = {"n1": "first(n)", "who1": "first(who)", "n2": "last(n)", "part2": "last(part)"}
    found = run(deployment, "aggregate", key="key", window=window, aggregates=aggregates)
    groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in sequence():
        groups[row[0] // SIZE * SIZE, row[4]].append(row)
    assert found == sorted(
        (start, start + SIZE, key, rows[0][3], rows[0][1], rows[-1][3], rows[-1][2])
        for (start, key), rows in groups.items()
    )


@everywhere
def test_count_windows_take_tied_rows_in_the_total_order(deployment: dict[str, Any]) -> None:
    aggregates = {"n": "sum(n)", "who": "sum(who)"}
    window = {"type": "count", "size": 5}
    found = run(deployment, "aggregate", key="key", window=window, aggregates=aggregates)
    groups: dict[int, list[Row]] = defaultdict(list)
    for row in sequence():
        groups[row[4]].append(row)
    expected = []
    for key, rows in groups.items():
        for at in range(0, len(rows), 5):
            part = rows[at : at + 5]
            sums = (sum(row[3] for row in part), sum(row[1] for row in part))
            expected.append((part[0][0], part[-1][0] + 1, key, *sums))
    assert found == sorted(expected)


Keys = dict[str, Any]
OF_KEY: dict[str, tuple[str, Keys]] = {
    "count windows": ("aggregate", {"window": {"type": "count", "size": 5}, "aggregates": {"n": "sum(n)"}}),
    "count windows that wait": (
        "aggregate",
        {"window": {"type": "count", "size": 9}, "aggregates": {"n": "sum(n)"}, "ttl": "3ms"},
    ),
    "one window": ("aggregate", {"aggregates": {"n": "sum(n)", "last": "last(n)"}}),
    "tops": ("top", {"window": {"type": "tumbling", "size": SIZE}, "n": 3, "by": "n"}),
}


@everywhere
@pytest.mark.parametrize("what", OF_KEY)
def test_rows_of_keys_come_in_one_sequence_whatever_the_replicas(what: str, deployment: Keys) -> None:
    """The same as of one replica in one process, those that come out at the end included."""
    kind, keys = OF_KEY[what]

    def seen(replicas: int, deployment: Keys) -> list[Any]:
        topology = Topology("keys")
        found = topology.actor("found", kind, list(streams(topology)), replicas=replicas, key="key", **keys)
        found.to_one().ordered("timestamp").into(Collect, name="sink")
        return [tuple(row) for row in topology.run(**deployment).collected["sink"]]

    expected = seen(1, DEPLOYMENTS[0])
    assert len({row[-2 if kind == "aggregate" else -1] for row in expected}) > 1
    assert seen(3, deployment) == expected
    if what.startswith("count"):
        assert sum(row[-1] for row in expected) == sum(row[3] for row in sequence())
