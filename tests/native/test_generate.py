"""Generated columns agree with a model in plain Python, on any batch and shard; values are as likely as they should."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.native.address import address_of
from actorstream.native.generate import ADS, PAGES, USERS, AliasTable, ShardNumbering, YsbIds, YsbTexts

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
WIDE = [np.int64] * 3 + [np.int8] * 2 + [np.int64] * 2 + [np.uint64] * 11 + [np.uint32, np.uint16]
INTEGERS = [np.int32] * 3 + [np.int8] * 2 + [np.int64, np.int32]
AD_TYPES = ["banner", "modal", "sponsored-search", "mail", "mobile"]
EVENT_TYPES = ["view", "click", "purchase"]
IDS = [f"{number:08d}-1234-5678-9abc-def012345678" for number in range(USERS + PAGES + ADS)]

made_rows = st.integers(0, 2**40)
few = st.integers(0, 1500)
seeds = st.integers(0, MASK)
shards = st.integers(1, 9).flatmap(lambda stride: st.tuples(st.integers(0, stride - 1), st.just(stride)))


def splitmix64(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def mix32(x: int) -> int:
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def ysb_row(seed: int, number: int) -> tuple[int, int, int, int, int]:
    """user_id, page_id, ad_id, ad_type, event_type of a row, as include/generate.h defines them."""
    key = splitmix64(seed + (number >> 32) * GOLDEN & MASK) >> 32
    word = mix32(number & 0xFFFFFFFF ^ key)
    second = word * 0x9E3779B9 & 0xFFFFFFFF
    second ^= second >> 16
    return (
        (second >> 16) * 100 >> 16,
        (second & 0xFFFF) * 100 >> 16,
        (word >> 12) * 1000 >> 20,
        (second * 0x85EBCA6B >> 20 & 0xFFF) * 5 >> 12,
        (word & 0xFFF) * 3 >> 12,
    )


def columns(numbering: ShardNumbering, made: int, rows: int, dtypes: list[type]) -> list[np.ndarray]:
    """The columns that C writes, in memory with a guard behind it."""
    spaces = [-(-rows * np.dtype(dtype).itemsize // 64) * 64 for dtype in dtypes]
    memory = np.full(sum(spaces) + 128, 0xA5, np.uint8)
    start = -address_of(memory) % 64
    write = numbering.ysb_integers if dtypes is INTEGERS else numbering.ysb_wide
    write(made, rows, address_of(memory) + start)
    assert (memory[start + sum(spaces) :] == 0xA5).all()
    found = []
    for dtype, space in zip(dtypes, spaces):
        found.append(memory[start : start + rows * np.dtype(dtype).itemsize].view(dtype))
        start += space
    return found


@given(seeds, shards, made_rows, few)
@settings(max_examples=40, deadline=None)
def test_integer_rows_are_those_of_the_model(seed, shard, made, rows):
    first, stride = shard
    numbering = ShardNumbering(seed=seed, first=first, stride=stride)
    user, page, ad, ad_type, event_type, _, address = columns(numbering, made, rows, INTEGERS)
    expected = [ysb_row(seed, first + (made + row) * stride) for row in range(rows)]
    assert list(zip(*(column.tolist() for column in (user, page, ad, ad_type, event_type)))) == expected
    assert (address == 0x01020304).all()


@pytest.mark.parametrize("stride", [1, 3, 2**20])
def test_rows_on_both_sides_of_a_multiple_of_2_to_32_are_those_of_the_model(stride):
    made = 2**32 // stride - 5
    numbering = ShardNumbering(seed=9, stride=stride)
    found = columns(numbering, made, 20, INTEGERS)
    expected = [ysb_row(9, (made + row) * stride) for row in range(20)]
    assert list(zip(*(column.tolist() for column in found[:5]))) == expected


@given(seeds, shards, made_rows, few)
@settings(max_examples=20, deadline=None)
def test_wide_rows_hold_the_same_fields_and_136_bytes(seed, shard, made, rows):
    numbering = ShardNumbering(seed=seed, first=shard[0], stride=shard[1], units=3, rows=7)
    wide, narrow = columns(numbering, made, rows, WIDE), columns(numbering, made, rows, INTEGERS)
    assert [column.tolist() for column in wide[:7]] == [column.tolist() for column in narrow]
    assert sum(np.dtype(dtype).itemsize for dtype in WIDE) == 136
    steps = [(wide[8 + k] - wide[7]).tolist() for k in range(10)]
    assert steps == [[(k + 1) * GOLDEN & MASK] * rows for k in range(10)]


@given(seeds, shards, st.integers(0, 2**40), few)
@settings(max_examples=20, deadline=None)
def test_texts_spell_the_same_rows_out(seed, shard, made, rows):
    numbering = ShardNumbering(seed=seed, first=shard[0], stride=shard[1], units=1, rows=10)
    ids = YsbIds(IDS[:USERS], IDS[USERS : USERS + PAGES], IDS[USERS + PAGES :])
    room = YsbTexts(rows + 3)
    numbering.ysb_texts(made, rows, ids, room)
    found = []
    for offsets, data in zip(room.offsets, room.data):
        ends = offsets[: rows + 1].tolist()
        found.append([bytes(data[begin:end]).decode() for begin, end in pairwise(ends)])
    user, page, ad, ad_type, event_type, time, _ = columns(numbering, made, rows, INTEGERS)
    assert found[0] == [IDS[code] for code in user]
    assert found[1] == [IDS[USERS + code] for code in page]
    assert found[2] == [IDS[USERS + PAGES + code] for code in ad]
    assert found[3] == [AD_TYPES[code] for code in ad_type]
    assert found[4] == [EVENT_TYPES[code] for code in event_type]
    assert found[5] == ["1.2.3.4"] * rows
    assert room.event_time[:rows].tolist() == time.tolist()


@given(
    shards,
    made_rows,
    few,
    st.integers(-(2**40), 2**40),
    st.integers(0, 2**21),
    st.one_of(st.just(1), st.integers(1, 100), st.integers(1, 2**40)),
)
@settings(max_examples=300, deadline=None)
def test_event_times_are_exact_quotients(shard, made, rows, start, units, per):
    first, stride = shard
    numbering = ShardNumbering(first=first, stride=stride, start=start, units=units, rows=per)
    expected = [start + (first + (made + row) * stride) * units // per for row in range(rows)]
    if expected and expected[-1] >= 2**63:
        with pytest.raises(ValueError, match="event times below 2"):
            numbering.event_times(made, rows)
        return
    assert numbering.event_times(made, rows).tolist() == expected
    assert [numbering.event_time(made)] == (expected[:1] or [start + (first + made * stride) * units // per])


def test_every_value_is_about_as_likely_as_the_others_and_pairs_of_fields_do_not_depend_on_each_other():
    rows = 2_000_000
    fields = columns(ShardNumbering(seed=5), 0, rows, INTEGERS)[:5]
    sizes = [USERS, PAGES, ADS, 5, 3]
    for field, size in zip(fields, sizes):
        assert _chi_square(np.bincount(field, minlength=size)) < 1.6 * size + 20
    for a in range(5):
        for b in range(a):
            joint = np.bincount(
                fields[a].astype(np.int64) * sizes[b] + fields[b], minlength=sizes[a] * sizes[b]
            )
            assert _chi_square(joint) < 1.2 * len(joint) + 60


def _chi_square(counts: np.ndarray) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2).sum() / expected)


@given(seeds, shards, made_rows, few, st.integers(0, MASK))
@settings(max_examples=30, deadline=None)
def test_random_words_are_splitmix64_of_a_counter(seed, shard, made, rows, salt):
    first, stride = shard
    numbering = ShardNumbering(seed=seed, first=first, stride=stride)
    numbers = numbering.numbers(made, rows).tolist()
    assert numbers == [first + (made + row) * stride for row in range(rows)]
    bits = [splitmix64((number + 1) * GOLDEN + salt * 0xD1342543DE82EF95 & MASK) for number in numbers]
    assert numbering.bits(made, rows, salt).tolist() == bits
    assert numbering.units(made, rows, salt).tolist() == [(each >> 11) * 2.0**-53 for each in bits]
    for low, high in ((0, 10), (-5, 2**32 - 6), (-(2**62), 2**62), (2**62, 2**62 + 1), (-(2**63), 2**63)):
        span = high - low
        drawn = [(each >> 32) * span >> 32 if span < 2**32 else each * span >> 64 for each in bits]
        assert numbering.integers(made, rows, salt, low, high).tolist() == [low + each for each in drawn]


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.9), (-1e9, 1e-3), (1e15, 3e15)])
def test_random_floats_are_rounded_after_the_product_and_after_the_sum_on_every_processor(low, high):
    numbering = ShardNumbering(seed=7)
    units = numbering.units(0, 5000, 3).tolist()
    expected = [low + unit * (high - low) for unit in units]
    assert numbering.units(0, 5000, 3, low, high).tolist() == expected


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda weights: sum(weights) > 1e-3))
@settings(max_examples=30, deadline=None)
def test_ranks_are_drawn_as_often_as_their_weights_say(weights):
    rows = 200_000
    shares = np.array(weights) / sum(weights)
    counts = np.bincount(ShardNumbering().ranks(0, rows, 1, AliasTable(weights)), minlength=len(weights))
    assert np.abs(counts / rows - shares).max() < 5 * 0.5 / rows**0.5
    assert not counts[shares == 0].any()


def test_what_c_cannot_number_is_refused():
    with pytest.raises(ValueError, match="stride is 0"):
        ShardNumbering(stride=0)
    with pytest.raises(ValueError, match="rows is 0"):
        ShardNumbering(rows=0)
    with pytest.raises(ValueError, match="below 2"):
        ShardNumbering(stride=2**20).bits(2**50, 1, 0)
    with pytest.raises(ValueError, match="below 2"):
        ShardNumbering(units=2**40).event_times(2**40, 1)
    with pytest.raises(ValueError, match="5 rows into room for 4"):
        ShardNumbering().ysb_texts(0, 5, YsbIds(IDS[:100], IDS[:100], IDS[:1000]), YsbTexts(4))
    with pytest.raises(ValueError, match="50 million"):
        YsbTexts(50_000_001)
    with pytest.raises(ValueError, match="not all 0"):
        AliasTable([0, 0])
    with pytest.raises(ValueError, match="3 users"):
        YsbIds(IDS[:3], IDS[:100], IDS[:1000])
