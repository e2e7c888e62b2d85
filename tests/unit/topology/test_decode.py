from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from actorstream.errors import Problem
from actorstream.topology.conversion import MismatchError
from actorstream.topology.decode import decode_struct, decode_value
from actorstream.topology.deploy import Bytes
from actorstream.topology.quantities import DURATION_ALLOWED
from actorstream.topology.written import Written


class Inner(msgspec.Struct):
    every: timedelta
    seed: int = 0


class Outer(msgspec.Struct):
    name: str
    count: Annotated[int, Meta(ge=1, description="at least 1")] = 1
    size: Bytes = 8
    from_: str = msgspec.field(name="from", default="")
    inner: Inner | None = None
    more: list[Inner] = []


def decoded(table: dict[str, object]) -> tuple[Outer | None, list[str]]:
    problems: list[Problem] = []
    return decode_struct(Outer, table, ("o",), Written(), problems), [str(each) for each in problems]


def test_a_table_becomes_a_struct_with_nested_ones() -> None:
    found, problems = decoded({"name": "x", "from": "y", "size": "1KiB", "inner": {"every": "2s"}})
    assert found == Outer("x", 1, 1024, "y", Inner(timedelta(seconds=2)))
    assert problems == []


def test_every_wrong_field_is_reported_and_the_others_are_kept() -> None:
    found, problems = decoded(
        {"name": "x", "count": 0, "size": "?", "from": 5, "inner": {"sed": 1}, "nmae": 1}
    )
    assert found == Outer("x")
    assert problems == [
        "o.nmae: is not a key here; allowed: name, count, size, from, inner, more (did you mean 'name'?)",
        "o.count: is 0; allowed: at least 1",
        'o.size: is \'?\'; allowed: bytes, as a number or as text such as "64KiB", "4MiB", "1GB"',
        "o.from: is 5; allowed: text",
        "o.inner.sed: is not a key here; allowed: every, seed (did you mean 'seed'?)",
        f"o.inner.every: is missing; allowed: {DURATION_ALLOWED}",
    ]


def test_an_array_in_place_of_a_table_and_a_table_in_place_of_an_array_are_named() -> None:
    found, problems = decoded({"name": "x", "inner": [{"every": "2s"}], "more": {"every": "2s"}})
    assert found == Outer("x")
    assert problems == [
        "o.inner: is [{'every': '2s'}]; allowed: one table: [o.inner]",
        "o.more: is {'every': '2s'}; allowed: an array of tables: [[o.more]], or [{ … }]",
    ]
    assert decoded({"name": "x", "inner": []})[1] == ["o.inner: is []; allowed: one table: [o.inner]"]


def test_without_a_required_field_there_is_no_struct() -> None:
    found, problems = decoded({})
    assert found is None
    assert problems == ["o.name: is missing; allowed: text"]


def test_a_single_value_is_decoded_by_its_annotation() -> None:
    assert decode_value("4KiB", Bytes, (), Written()) == 4096
    with pytest.raises(MismatchError):
        decode_value(0, Bytes, (), Written())
