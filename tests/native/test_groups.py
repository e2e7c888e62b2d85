"""Groups agree with a dictionary from keys to numbers, for all kinds of keys, whatever is renumbered on the way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.events.fields import Kind
from actorstream.native.groups import Groups
from tests.native.aggregate_rows import column, operands

seeds = st.integers(0, 2**32 - 1)


def keys_of(groups: Groups, kinds: list[Kind], numbers: np.ndarray) -> list[tuple]:
    """The keys of groups, as Python values."""
    columns = []
    for key, kind in enumerate(kinds):
        if kind in (Kind.STRING, Kind.BYTES):
            offsets, data = groups.texts(key, numbers)
            raw = data.tobytes()
            values = [raw[a:b] for a, b in zip(offsets.tolist(), offsets.tolist()[1:])]
            values = [value.decode() for value in values] if kind is Kind.STRING else values
        else:
            words = groups.words(key, numbers)
            if kind in (Kind.FLOAT32, Kind.FLOAT64):
                values = words.view(np.float64).tolist()
            elif kind.value.startswith("u") or kind is Kind.BOOL:
                values = words.tolist()
            else:
                values = words.view(np.int64).tolist()
        valid = groups.valid(key, numbers).tolist()
        columns.append([value if there else None for value, there in zip(values, valid)])
    return list(zip(*columns))


def rank(value):
    """What orders keys: nulls last, NaN behind all numbers."""
    if value is None:
        return (2, 0)
    if isinstance(value, float) and math.isnan(value):
        return (1, 0)
    return (0, value.encode() if isinstance(value, str) else value)


def some(rng: np.random.Generator, kind: Kind, rows: int, spread: int) -> list:
    picked = rng.integers(0, spread, rows).tolist()
    if kind is Kind.STRING:
        return [f"key-{value * 7919}" * (value % 3) for value in picked]
    if kind is Kind.FLOAT64:
        return [[-0.0, 0.0, math.nan, math.inf, -1.5][v] if v < 5 else v / 3 for v in picked]
    if kind is Kind.UINT64:
        return [2**64 - 1 - value * value for value in picked]
    if kind is Kind.INT64:
        return [(value - spread // 2) * (1 if rng.random() < 0.5 else 2**40) for value in picked]
    return [value - 100 for value in picked]


@given(
    st.lists(
        st.sampled_from([Kind.INT64, Kind.INT16, Kind.UINT64, Kind.FLOAT64, Kind.STRING]),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
    st.integers(1, 250),
    seeds,
)
def test_equal_keys_have_one_number_and_different_keys_have_two(kinds, null, spread, seed):
    rng = np.random.default_rng(seed)
    keys = [(column(kind, [], null=null).how, null) for kind in kinds]
    groups = Groups(keys)
    known: dict[tuple, int] = {}
    for _ in range(4):
        rows = int(rng.integers(0, 3000))
        columns = []
        for kind in kinds:
            values = some(rng, kind, rows, spread)
            if null:
                values = [None if rng.random() < 0.1 else value for value in values]
            columns.append(column(kind, values, rng, null=null))
        found = groups.find(operands(columns), rows).tolist()
        for number, *key in zip(found, *(each.values for each in columns)):
            text = tuple(repr(0.0 if value == 0.0 and isinstance(value, float) else value) for value in key)
            assert known.setdefault(text, number) == number
    assert len(set(known.values())) == len(known)
    order = groups.order()
    assert sorted(order.tolist()) == list(range(groups.count))
    listed = keys_of(groups, kinds, order)
    assert listed == sorted(listed, key=lambda key: [rank(value) for value in key])
    assert {tuple(map(repr, key)) for key in listed} == {
        tuple(repr(0.0) if text == "-0.0" else text for text in key) for key in known
    }


@given(
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(1, 500)), min_size=1, max_size=6), seeds
)
def test_integer_keys_stay_right_as_their_range_grows_and_shrinks(ranges, seed):
    rng = np.random.default_rng(seed)
    groups = Groups([(column(Kind.INT64, []).how, False)])
    alive: set[int] = set()
    kinds = set()
    for base, span in ranges:
        high = min(base + span, 2**63 - 1)
        values = rng.integers(base, high, int(rng.integers(1, 2000)), endpoint=True).tolist()
        numbers = groups.find(operands([column(Kind.INT64, values, rng)]), len(values))
        alive.update(values)
        assert keys_of(groups, [Kind.INT64], numbers) == [(value,) for value in values]
        if groups.crowded:
            groups.renumber()
        if rng.random() < 0.4:
            kept = {value for value in alive if rng.random() < 0.5}
            everything = np.arange(groups.count, dtype=np.uint32)
            marks = np.array([key[0] in kept for key in keys_of(groups, [Kind.INT64], everything)], np.uint8)
            before = keys_of(groups, [Kind.INT64], everything)
            moved = groups.renumber(marks)
            for old, key in enumerate(before):
                if not marks[old]:
                    assert moved[old] == 2**32 - 1
                else:
                    now = np.array([moved[old]], np.uint32)
                    assert keys_of(groups, [Kind.INT64], now) == [key]
            alive = kept
        kinds.add(groups.kind)
    assert kinds <= {"direct", "number"}


@pytest.mark.parametrize(
    ("kind", "batches"),
    [
        (Kind.UINT64, [[2**64 - 1], [0, 1, 2]]),
        (Kind.UINT64, [[3], [2], [2**64 - 1]]),
        (Kind.UINT64, [[2**64 - 3], [2**64 - 2], [0]]),
        (Kind.INT64, [[2**63 - 1], [-(2**63)]]),
        (Kind.INT64, [[-(2**63) + 3], [-(2**63) + 2], [2**63 - 1]]),
        (Kind.INT64, [[5], [4], [-1, 0]]),
    ],
)
def test_integer_keys_are_in_order_at_both_ends_of_their_type_whatever_the_batches(kind, batches):
    groups = Groups([(column(kind, []).how, False)])
    for keys in batches:
        groups.find(operands([column(kind, keys)]), len(keys))
        if groups.crowded:
            groups.renumber()
    given = {key for keys in batches for key in keys}
    listed = [key for (key,) in keys_of(groups, [kind], groups.order())]
    assert [key for key in listed if key in given] == sorted(given)


def test_keys_that_lie_close_together_are_numbered_directly():
    groups = Groups([(column(Kind.INT32, []).how, False)])
    values = column(Kind.INT32, [5, 7, 5, 9])
    groups.find(operands([values]), 4)
    assert groups.kind == "number"
    assert groups.crowded
    groups.renumber()
    assert groups.kind == "direct"
    assert groups.find(operands([values]), 4).tolist() == [0, 2, 0, 4]
    far = column(Kind.INT32, [2**30])
    groups.find(operands([far]), 1)
    assert groups.kind == "number"


def test_without_key_columns_all_rows_are_one_group():
    groups = Groups([])
    assert groups.find(operands([]), 3).tolist() == [0, 0, 0]
    assert (groups.count, groups.kind, groups.order().tolist()) == (1, "all", [0])


def test_texts_that_begin_alike_are_ordered_bytewise():
    texts = [
        "",
        "same",
        "same-prefix-of-many-bytes",
        "same-prefix-of-many-bytez",
        "same-prefix",
        "é",
        "sam\0e",
    ]
    groups = Groups([(column(Kind.STRING, []).how, False)])
    groups.find(operands([column(Kind.STRING, texts)]), len(texts))
    listed = [key[0] for key in keys_of(groups, [Kind.STRING], groups.order())]
    assert listed == sorted(texts, key=str.encode)


def test_too_many_key_columns_are_refused():
    with pytest.raises(ValueError, match="17 key columns"):
        Groups([(column(Kind.INT64, []).how, False)] * 17)
