from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.topology.quantities import format_size, parse_duration, parse_nanoseconds, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("50ms", 0.05), ("1h30m", 5400), ("1.5s", 1.5), ("2min", 120), ("1d", 86400), ("0s", 0),
     ("5us", 5e-6), (" 1m 30s ", 90), ("3µs", 3e-6)],
)  # fmt: skip
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "10", "s", "10 seconds", "-1s", "1s2", "1,5s", "99999999999999d", "400ns", "1.5us"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="10s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [("1500ns", 1500), ("1.5us", 1500), ("1us 1ns", 1001), ("0.1d", 8_640_000_000_000)],
)
def test_nanoseconds_are_exact(text: str, nanoseconds: int) -> None:
    assert parse_nanoseconds(text) == nanoseconds


@pytest.mark.parametrize("text", ["1.5ns", "0.0001us"])
def test_a_part_of_a_nanosecond_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_nanoseconds(text)


@given(st.integers(0, 3650), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59_999_999))
def test_the_parts_of_a_duration_add_up(days: int, hours: int, minutes: int, us: int) -> None:
    text = f"{days}d{hours}h{minutes}m{us}us"
    assert parse_duration(text) == timedelta(days=days, hours=hours, minutes=minutes, microseconds=us)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("4MiB", 4 << 20),
        ("64 KiB", 64 << 10),
        ("1MB", 10**6),
        ("1.5kib", 1536),
        ("7B", 7),
    ],
)
def test_sizes_are_read(value: int | str, size: int) -> None:
    assert parse_size(value) == size


@pytest.mark.parametrize("value", ["", "MiB", "4 potatoes", "-1", "4MiBs", True])
def test_what_is_no_size_is_refused_with_an_example(value: int | str) -> None:
    with pytest.raises(ValueError, match="4MiB"):
        parse_size(value)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (4 << 20, "4 MiB")]
)
def test_sizes_are_shown_in_binary_units(size: int, text: str) -> None:
    assert format_size(size) == text
