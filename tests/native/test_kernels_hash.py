"""The key hash is what include/kernels.h defines, stays so, and spreads real keys evenly over the groups."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.native import kernels
from actorstream.native.pieces import ColumnTable
from tests.native.unused_calls import NULL_HASH, hash_float

MASK = 2**64 - 1


def root(number: int) -> int:
    """First 64 bits of the fraction of a square root, lowest bit set."""
    return (math.isqrt(number << 128) & MASK) | 1


def mix(x: int) -> int:
    x ^= x >> 32
    x = x * root(5) & MASK
    x ^= x >> 29
    x = x * root(7) & MASK
    return x ^ x >> 32


def model_bytes(data: bytes) -> int:
    state = root(3) ^ (len(data) * root(11) & MASK)
    while len(data) > 8:
        product = (state ^ int.from_bytes(data[:8], "little")) * root(13)
        state, data = (product >> 64) ^ (product & MASK), data[8:]
    return mix(state ^ int.from_bytes(data, "little"))


def hashes(array: np.ndarray, how: int) -> np.ndarray:
    table = ColumnTable(1)
    table.fill([(array.dtype.itemsize, 0, 0, 0, array.ctypes.data, 0)])
    return kernels.hash_columns(table, [(0, how)], len(array))


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_hash_as_the_definition_says(value):
    assert kernels.hash_int(value) == mix((value & MASK) ^ root(2))


@given(st.floats())
def test_floats_hash_their_normalised_bits(value):
    bits = struct.unpack("<Q", struct.pack("<d", value + 0.0 if value == value else math.nan))[0]
    assert hash_float(value) == mix(bits ^ root(2))


@given(st.binary(max_size=60))
def test_bytes_hash_as_the_definition_says(data):
    assert kernels.hash_bytes(data) == model_bytes(data)


@given(st.integers(0, MASK), st.integers(0, MASK), st.integers(1, 2**32 - 1))
def test_combining_and_grouping_are_as_the_definition_says(first, second, groups):
    mixed = (((first << 31 | first >> 33) & MASK) * root(17) + second) & MASK
    assert kernels.combine(first, second) == mixed ^ mixed >> 32
    assert kernels.key_group(first, groups) == (first >> 32) * groups >> 32 < groups
    assert kernels.key_groups(np.array([first, second], np.uint64), groups).tolist() == [
        kernels.key_group(first, groups),
        kernels.key_group(second, groups),
    ]


def test_the_hash_has_not_changed():
    """State and routes depend on these values: a change is a new hash version, not a new golden value."""
    integers = {0: 0xFBE18F9E65E57173, -1: 0xB414F501FB7E4F94, 42: 0x9A886DCC2E7124A9}
    strings = {
        b"": 0x5686EFFB1F6ED52A,
        b"actor": 0x9D99D346A79534D9,
        b"stream12": 0xCE7BC2E94A722379,
        b"stream123": 0x934F7B3780D431CA,
        b"the quick brown fox jumps": 0xE9376B9E6DDB6D64,
    }
    assert {value: kernels.hash_int(value) for value in integers} == integers
    assert {value: kernels.hash_bytes(value) for value in strings} == strings
    assert hash_float(1.5) == 0xA9BC002330A355AB
    assert hash_float(math.nan) == 0x79B93CBF1719FD2D
    assert NULL_HASH == 0x5BE0CD19137E2179
    assert kernels.combine(kernels.hash_int(1), kernels.hash_bytes(b"actor")) == 0x071B9C48DD3C981B
    assert [kernels.key_group(kernels.hash_int(value)) for value in range(6)] == [125, 4, 104, 70, 47, 46]


def test_equal_values_hash_alike_at_every_width_and_sign():
    values = np.array([0, 1, 5, 127])
    expected = [kernels.hash_int(value) for value in values.tolist()]
    for width in (1, 2, 4, 8):
        assert hashes(values.astype(f"i{width}"), kernels.SIGNED).tolist() == expected
        assert hashes(values.astype(f"u{width}"), kernels.UNSIGNED).tolist() == expected
    negative = np.array([-1, -128])
    for width in (1, 2, 4, 8):
        got = hashes(negative.astype(f"i{width}"), kernels.SIGNED).tolist()
        assert got == [kernels.hash_int(-1), kernels.hash_int(-128)]
    assert hashes(np.array([200, 255], np.uint8), kernels.UNSIGNED)[1] == kernels.hash_int(255)


def test_floats_of_both_widths_hash_alike_and_are_normalised():
    values = np.array([0.0, -0.0, 1.5, -2.25, np.inf, np.nan, -np.nan])
    expected = hashes(values, kernels.FLOAT)
    assert hashes(values.astype(np.float32), kernels.FLOAT).tolist() == expected.tolist()
    assert expected[0] == expected[1] == hash_float(-0.0)
    assert expected[5] == expected[6] == hash_float(math.nan)
    odd = np.array([0x7FF0000000000001, 0xFFF8000000000123], np.uint64).view(np.float64)
    assert set(hashes(odd, kernels.FLOAT).tolist()) == {hash_float(math.nan)}


@pytest.mark.parametrize("keys", ["sequential", "random"])
def test_flipping_any_input_bit_flips_each_output_bit_half_of_the_time(keys):
    samples = 4096
    rng = np.random.default_rng(1)
    base = np.arange(samples) if keys == "sequential" else rng.integers(-(2**63), 2**63, samples)
    before = hashes(base, kernels.SIGNED)
    for bit in range(64):
        flipped = base ^ np.array(1 << bit, np.uint64).view(np.int64)
        changed = (before ^ hashes(flipped, kernels.SIGNED)).view(np.uint8).reshape(-1, 8)
        share = np.unpackbits(changed, axis=1).mean(axis=0)
        assert np.abs(share - 0.5).max() < 0.05  # six standard deviations


@pytest.mark.parametrize("length", [1, 5, 8, 9, 16, 30])
def test_flipping_any_bit_of_a_string_flips_each_output_bit_half_of_the_time(length):
    rng = np.random.default_rng(2)
    samples = [rng.bytes(length) for _ in range(256)]
    for bit in range(0, 8 * length, 7):
        flip = 1 << bit
        changed = [
            kernels.hash_bytes(data)
            ^ kernels.hash_bytes((int.from_bytes(data, "little") ^ flip).to_bytes(length, "little"))
            for data in samples
        ]
        bits = np.unpackbits(np.array(changed, np.uint64).view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
        assert np.abs(bits - 0.5).max() < 0.2  # six standard deviations


def key_sets() -> dict[str, list[int]]:
    """Hashes of keys that streams really have."""
    numbers = range(1 << 14)
    return {
        "sequential": [kernels.hash_int(n) for n in numbers],
        "negative": [kernels.hash_int(-n) for n in numbers],
        "multiples of 128": [kernels.hash_int(128 * n) for n in numbers],
        "multiples of 1000003": [kernels.hash_int(1000003 * n) for n in numbers],
        "high bits": [kernels.hash_int(n << 48) for n in numbers],
        "microseconds": [kernels.hash_int(1_700_000_000_000_000 + 50_000 * n) for n in numbers],
        "whole floats": [hash_float(float(n)) for n in numbers],
        "words": [kernels.hash_bytes(word.encode()) for word in words(1 << 14)],
        "numbered names": [kernels.hash_bytes(f"sensor-{n:06}".encode()) for n in numbers],
        "long names": [kernels.hash_bytes(f"/plant/line/{n % 97}/machine/{n}".encode()) for n in numbers],
        "pairs": [kernels.combine(kernels.hash_int(n >> 7), kernels.hash_int(n & 127)) for n in numbers],
        "equal pairs": [kernels.combine(kernels.hash_int(n), kernels.hash_int(n)) for n in numbers],
    }


def words(count: int) -> list[str]:
    """Distinct words of one to four syllables."""
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    found = []
    for number in range(count):
        word = ""
        while True:
            word += syllables[number % 60]
            number //= 60
            if not number:
                break
        found.append(word)
    return found


@pytest.mark.parametrize("name", list(key_sets()))
def test_keys_spread_evenly_over_the_key_groups(name):
    values = np.array(key_sets()[name], np.uint64)
    assert len(np.unique(values)) == len(values) or name == "words"
    for groups in (128, 100, 2):
        counts = np.bincount(kernels.key_groups(values, groups), minlength=groups)
        expected = len(values) / groups
        chi_square = ((counts - expected) ** 2 / expected).sum()
        # six standard deviations of chi-square with groups - 1 degrees of freedom
        assert chi_square < (groups - 1) + 6 * math.sqrt(2 * (groups - 1)) + 12
    low = np.bincount((values & np.uint64(127)).astype(np.int64), minlength=128)
    assert ((low - len(values) / 128) ** 2 / (len(values) / 128)).sum() < 127 + 6 * math.sqrt(254)
