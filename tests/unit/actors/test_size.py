from __future__ import annotations

import enum
from typing import Literal

import msgspec
import numpy as np

from actorstream.actors.size import ENTRY_BYTES, SIZES, estimate


class Fixed(msgspec.Struct, frozen=True, gc=False):
    number: int
    ratio: float | None
    side: Literal["a", "b"]


class Text(msgspec.Struct):
    number: int
    text: str


class Nest(msgspec.Struct):
    texts: list[Text]
    blob: bytes


class Color(enum.Enum):
    RED = 1


def test_a_struct_of_fixed_fields_has_one_size_for_all() -> None:
    assert estimate(Fixed(1, 2.0, "a")) == estimate(Fixed(2**40, None, "b")) > ENTRY_BYTES
    assert isinstance(SIZES[Fixed], int)


def test_text_and_bytes_count_by_length() -> None:
    assert estimate("x" * 1000) - estimate("") == 1000
    assert estimate(b"x" * 1000) - estimate(b"") == 1000
    assert estimate(Text(1, "x" * 1000)) - estimate(Text(1, "")) == 1000


def test_containers_count_what_they_hold() -> None:
    blob = b"x" * 10_000
    for message in ([blob] * 50, tuple([blob] * 50), dict.fromkeys(range(50), blob)):
        assert 450_000 < estimate(message) < 600_000
    assert estimate(Nest([Text(1, "x" * 500)] * 4, blob)) > 12_000


def test_an_array_counts_its_bytes() -> None:
    assert estimate(np.zeros(1000)) >= 8000


def test_nesting_without_end_has_a_size() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert estimate(endless) > 0


def test_every_message_costs_at_least_its_entry() -> None:
    assert (
        min(estimate(message) for message in (None, 0, True, 1.5, "", b"", (), {}, Color.RED)) >= ENTRY_BYTES
    )
