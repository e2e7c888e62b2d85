"""An operator compiles its expressions once for each schema that its rows come with."""

from __future__ import annotations

import pytest

from actorstream import Schema
from actorstream.operators import compiled
from actorstream.operators.compiled import Compiled


def schema(name: str = "Row", time_unit: str = "ms") -> Schema:
    return Schema.from_dict({"x": "int"}, name=name, time_unit=time_unit)


def counted() -> tuple[Compiled[int], list[Schema]]:
    """Returns a function that numbers the schemas it is called with, and the list of those schemas."""
    made: list[Schema] = []

    def make(given: Schema) -> int:
        made.append(given)
        return len(made)

    return Compiled(make), made


def test_schemas_that_alternate_are_compiled_once_each() -> None:
    found, made = counted()
    first, second, third = schema(), schema(), Schema.from_dict({"y": "int"})
    assert [found.of(each) for each in (first, second, third, first, third, second, second)] == [
        1, 2, 3, 1, 3, 2, 2
    ]  # fmt: skip
    assert made == [first, second, third]


def test_equal_schemas_of_other_names_or_time_units_keep_what_was_made_of_them() -> None:
    found = Compiled(lambda given: (given.name, given.time_unit))
    given = [schema(), schema("Other"), schema(time_unit="ns")]
    assert given[0] == given[1] == given[2]
    assert [found.of(each) for each in given * 2] == [("Row", "ms"), ("Other", "ms"), ("Row", "ns")] * 2


def test_what_was_not_asked_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MOST", 2)
    found, _ = counted()
    first, second, third = schema(), schema(), schema()
    assert [found.of(each) for each in (first, second, first, third, first, second)] == [1, 2, 1, 3, 1, 4]


def test_a_schema_that_cannot_be_compiled_leaves_the_others_as_they_were() -> None:
    def make(given: Schema) -> str:
        if "x" not in given:
            raise ValueError
        return "made"

    found = Compiled(make)
    good = schema()
    assert found.of(good) == "made"
    with pytest.raises(ValueError):
        found.of(Schema.from_dict({"y": "int"}))
    assert found.of(good) == "made"
