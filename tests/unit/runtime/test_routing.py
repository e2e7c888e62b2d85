"""Every row goes exactly where its route says, once, and in order."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.errors import ConfigurationError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.runtime.routing import ByFunction, Router, group_owners, make_router, resolve_function


class Row(Event):
    """`id` counts the rows of all batches."""

    id: int
    key: int
    name: str
    price: float


Routed = dict[int, list[tuple[int, int, str, float]]]


def batch_of(first: int, keys: list[int], names: list[str] | None = None) -> Batch:
    return Batch.of_columns(
        Row,
        {
            "id": np.arange(first, first + len(keys)),
            "key": np.array(keys, np.int64),
            "name": names or [f"n{key}" for key in keys],
            "price": np.array(keys, np.float64) / 4,
        },
    )


def batches_of(runs: list[list[int]]) -> list[Batch]:
    made, first = [], 0
    for keys in runs:
        made.append(batch_of(first, keys))
        first += len(keys)
    return made


def routed(router: Router, batches: list[Batch]) -> Routed:
    """What each consumer got, in order."""
    found: Routed = defaultdict(list)
    for batch in batches:
        for consumer, part in router(batch):
            assert part.rows
            found[consumer].extend(
                zip(*(part.column(name).tolist() for name in ("id", "key", "name", "price")))
            )
    return found


def values(batch: Batch) -> list[tuple[int, int, str, float]]:
    return list(zip(*(batch.column(name).tolist() for name in batch.schema.names())))


def router(route: str, consumers: int, *key: str, producer: int = 0, bounds: tuple[Any, ...] = ()) -> Router:
    return make_router(route, key, producer, consumers, key_groups=128, batch_size=8, bounds=bounds)


RUNS = st.lists(st.lists(st.integers(-50, 50), min_size=1, max_size=40), max_size=6)
CONSUMERS = st.integers(1, 9)


def check_once_and_in_order(found: Routed, batches: list[Batch]) -> None:
    ids = sorted(row[0] for rows in found.values() for row in rows)
    assert ids == list(range(sum(batch.rows for batch in batches)))
    for rows in found.values():
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)


@given(RUNS, CONSUMERS, st.sampled_from(["key", "name", "price"]))
def test_a_key_route_sends_each_row_once_and_equal_keys_together(
    runs: list[list[int]], consumers: int, key: str
) -> None:
    batches = batches_of(runs)
    found = routed(router("key", consumers, key), batches)
    check_once_and_in_order(found, batches)
    homes = defaultdict(set)
    for consumer, rows in found.items():
        assert 0 <= consumer < consumers
        for row in rows:
            homes[row[1]].add(consumer)
    assert all(len(home) == 1 for home in homes.values())


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from("ab")), min_size=1, max_size=60), CONSUMERS)
def test_a_key_of_several_fields_keeps_equal_ones_together(
    rows: list[tuple[int, str]], consumers: int
) -> None:
    batch = batch_of(0, [key for key, _ in rows], [name for _, name in rows])
    found = routed(router("key", consumers, "key", "name"), [batch])
    check_once_and_in_order(found, [batch])
    homes = defaultdict(set)
    for consumer, got in found.items():
        for _, key, name, _ in got:
            homes[key, name].add(consumer)
    assert all(len(home) == 1 for home in homes.values())


def test_all_producers_send_a_key_to_the_same_replica() -> None:
    batch = batch_of(0, list(range(100)))
    parts = [routed(router("key", 4, "key", producer=producer), [batch]) for producer in range(3)]
    assert parts[0] == parts[1] == parts[2]
    assert len(parts[0]) == 4


@given(RUNS, CONSUMERS, st.integers(0, 8))
def test_a_shuffle_sends_each_row_once_and_spreads_a_large_batch(
    runs: list[list[int]], consumers: int, producer: int
) -> None:
    batches = batches_of(runs)
    found = routed(router("shuffle", consumers, producer=producer), batches)
    check_once_and_in_order(found, batches)
    pieces = sum(max(1, -(-batch.rows // 8)) for batch in batches if batch.rows)
    assert len(found) <= max(1, min(consumers, pieces + len(batches)))


def test_a_shuffle_starts_at_the_producers_own_number_and_goes_round() -> None:
    shuffle = router("shuffle", 3, producer=4)
    assert [consumer for _ in range(5) for consumer, _ in shuffle(batch_of(0, [1]))] == [1, 2, 0, 1, 2]
    assert [(consumer, part.rows) for consumer, part in shuffle(batch_of(0, [1] * 20))] == [
        (0, 8),
        (1, 8),
        (2, 4),
    ]


@given(RUNS, CONSUMERS, st.integers(0, 8), st.integers(1, 5))
def test_a_shuffle_of_few_rows_gives_each_replica_what_one_cut_after_the_other_would(
    runs: list[list[int]], consumers: int, producer: int, size: int
) -> None:
    def shuffled(batches: list[Batch]) -> Routed:
        made = make_router("shuffle", (), producer, consumers, key_groups=16, batch_size=size)
        return routed(made, batches)

    batches = batches_of(runs)
    cut = [
        batch.slice(first, min(size, batch.rows - first))
        for batch in batches
        for first in range(0, batch.rows, size)
    ]
    assert shuffled(batches) == shuffled(cut)


@given(RUNS, CONSUMERS)
def test_broadcast_sends_every_row_to_everyone(runs: list[list[int]], consumers: int) -> None:
    batches = batches_of(runs)
    found = routed(router("broadcast", consumers), batches)
    every = [
        row
        for batch in batches
        for row in zip(*(batch.column(n).tolist() for n in ("id", "key", "name", "price")))
    ]
    assert all(found[consumer] == every for consumer in range(consumers))


@given(RUNS, CONSUMERS, st.integers(0, 8))
def test_forward_and_global_send_whole_batches_to_one(
    runs: list[list[int]], consumers: int, producer: int
) -> None:
    batches = batches_of(runs)
    for route, home in (("forward", producer % consumers), ("global", 0)):
        for batch in batches:
            ((consumer, part),) = router(route, consumers, producer=producer)(batch)
            assert consumer == home
            assert part is batch


@given(RUNS, CONSUMERS, st.lists(st.integers(-60, 60), min_size=0, max_size=6))
def test_a_range_route_keeps_neighbouring_keys_together(
    runs: list[list[int]], consumers: int, bounds: list[int]
) -> None:
    batches = batches_of(runs)
    found = routed(router("range", consumers, "key", bounds=tuple(bounds)), batches)
    check_once_and_in_order(found, batches)
    spans = sorted((min(row[1] for row in rows), max(row[1] for row in rows)) for rows in found.values())
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    edges = sorted(bounds)
    for consumer, rows in found.items():
        for _, key, _, _ in rows:
            ranges = len(edges) + 1
            within = sum(bound <= key for bound in edges)
            assert consumer == (within * consumers // ranges if consumers > 1 else 0)


def test_a_bound_belongs_to_the_range_that_it_begins() -> None:
    found = routed(router("range", 3, "key", bounds=(10, 20)), [batch_of(0, [9, 10, 19, 20, -5, 100])])
    assert {consumer: [row[1] for row in rows] for consumer, rows in found.items()} == {
        0: [9, -5],
        1: [10, 19],
        2: [20, 100],
    }


def test_text_and_floats_have_ranges_too() -> None:
    batch = batch_of(0, [0, 1, 2, 3], ["apple", "kiwi", "melon", "zebra"])
    found = routed(router("range", 2, "name", bounds=("m",)), [batch])
    assert [row[2] for row in found[0]] == ["apple", "kiwi"]
    assert [row[2] for row in found[1]] == ["melon", "zebra"]
    found = routed(router("range", 2, "price", bounds=(0.5,)), [batch])
    assert [row[3] for row in found[0]] == [0.0, 0.25]
    assert [row[3] for row in found[1]] == [0.5, 0.75]


@given(RUNS, CONSUMERS)
def test_a_function_sends_each_row_where_it_says(runs: list[list[int]], consumers: int) -> None:
    batches = batches_of(runs)
    found = routed(ByFunction(lambda batch, count: np.abs(batch["key"]) % count, consumers), batches)
    check_once_and_in_order(found, batches)
    for consumer, rows in found.items():
        assert {abs(row[1]) % consumers for row in rows} == {consumer}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda batch, count: np.zeros(batch.rows - 1, int), r"shape \(2,\).*allowed: 3 integers, one a row"),
        (lambda batch, count: np.zeros(batch.rows), "type float64"),
        (lambda batch, count: 1, r"shape \(1,\)"),
        (lambda batch, count: np.full(batch.rows, count), "chose replica 4 or 4; allowed: 0 to 3"),
        (lambda batch, count: np.full(batch.rows, -1), "chose replica -1 or -1"),
        (lambda batch, count: None, "type object"),
        (lambda batch, count: ["a"] * batch.rows, "type <U1"),
    ],
)
def test_a_function_that_answers_nonsense_is_told_what_is_allowed(function: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ByFunction(function, 4)(batch_of(0, [1, 2, 3]))


@pytest.mark.parametrize("name", ["no_such_module:f", "actorstream.errors:nothing", "shuffel:"])
def test_a_function_that_is_not_there_is_a_configuration_error(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be imported|a route name"):
        resolve_function(name)


@settings(max_examples=200)
@given(st.integers(1, 300), st.integers(1, 40))
def test_key_groups_are_shared_out_evenly_in_contiguous_runs(key_groups: int, consumers: int) -> None:
    owners = group_owners(key_groups, consumers)
    assert owners.shape == (key_groups,)
    assert (np.diff(owners.astype(int)) >= 0).all()
    assert owners.max() < consumers
    if key_groups >= consumers:
        sizes = np.bincount(owners, minlength=consumers)
        assert sizes.max() - sizes.min() <= 1


def test_the_key_hash_is_the_same_for_rows_and_selections() -> None:
    """A selection of a selection routes like the rows it names."""
    keys = list(range(200))
    whole = batch_of(0, keys)
    homes = {
        row[1]: consumer
        for consumer, rows in routed(router("key", 5, "key"), [whole]).items()
        for row in rows
    }
    part = whole.take(np.arange(0, 200, 3)).take(np.arange(1, 60, 2))
    for consumer, rows in routed(router("key", 5, "key"), [part]).items():
        assert all(homes[row[1]] == consumer for row in rows)


def test_selections_stay_what_they_were_when_the_router_is_used_again() -> None:
    """The partitioner's buffer is used again; what was handed out is not."""
    route = router("key", 3, "key")
    first = list(route(batch_of(0, list(range(30)))))
    before = [(consumer, part["id"].tolist()) for consumer, part in first]
    again = list(route(batch_of(0, list(range(29, -1, -1)))))
    assert again
    assert [(consumer, part["id"].tolist()) for consumer, part in first] == before


def test_without_a_batch_size_a_large_batch_is_dealt_out_in_equal_shares() -> None:
    shuffle = make_router("shuffle", (), 1, 3, key_groups=16, batch_size=None)
    large, small = batch_of(0, [1] * 3001), batch_of(0, [1] * 1024)
    assert [(consumer, part.rows) for consumer, part in shuffle(large)] == [(1, 1001), (2, 1001), (0, 999)]
    assert [(consumer, part.rows) for consumer, part in shuffle(small)] == [(1, 1024)]
