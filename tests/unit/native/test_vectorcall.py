"""Metaclasses in Python that take vectorcalls like the C metaclass below them."""

from __future__ import annotations

import sys

import pytest
from msgspec import Struct, StructMeta

from actorstream import Event
from actorstream.native.vectorcall import inherit_vectorcall

HAVE_VECTORCALL = 1 << 11

only_cpython = pytest.mark.skipif(sys.implementation.name != "cpython", reason="the flag is CPython's")


@only_cpython
def test_event_classes_are_called_as_fast_as_plain_structs() -> None:
    assert type(Struct).__flags__ & HAVE_VECTORCALL
    assert type(Event).__flags__ & HAVE_VECTORCALL


def test_classes_of_a_marked_metaclass_take_the_same_calls() -> None:
    class Marked(StructMeta):
        pass

    inherit_vectorcall(Marked)

    class Point(Struct, metaclass=Marked, frozen=True):
        x: int
        y: int = 7

    assert Point(1) == Point(1, 7) == Point(x=1, y=7) == Point(*[1], **{"y": 7})
    assert [point.x for point in map(Point, range(3), range(3))] == [0, 1, 2]
    for arguments, keywords in (((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2})):
        with pytest.raises(TypeError):
            Point(*arguments, **keywords)


def test_a_metaclass_with_a_call_of_its_own_keeps_it() -> None:
    class Counting(StructMeta):
        calls = 0

        def __call__(cls, *arguments: object) -> object:
            Counting.calls += 1
            return super().__call__(*arguments)

    inherit_vectorcall(Counting)

    class Point(Struct, metaclass=Counting):
        x: int

    assert Point(1).x == 1
    assert Counting.calls == 1


def test_classes_of_a_metaclass_of_plain_classes_are_called_as_before() -> None:
    class Plain(type):
        pass

    inherit_vectorcall(Plain)
    made = Plain("Made", (), {"__init__": lambda self, value: setattr(self, "value", value)})

    assert made(3).value == made(value=3).value == 3
