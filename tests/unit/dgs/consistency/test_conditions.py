"""Copies of states, and when two of them are the same."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np

from actorstream.dgs.consistency.conditions import copied, same


class Inner(msgspec.Struct, frozen=True):
    values: list[float] = []


class Point(NamedTuple):
    at: list[int]


@dataclass
class Beside:
    names: dict[str, list[str]] = field(default_factory=dict)


class State(msgspec.Struct):
    counts: dict[int, list[int]] = {}
    inner: Inner = Inner()
    array: Any = None
    pair: tuple[int, list[str]] = (0, [])
    beside: Beside = Beside()
    point: Point = Point([])
    kinds: set[str] = set()


def a_state() -> State:
    beside = Beside({"a": ["b"]})
    return State({1: [2, 3]}, Inner([0.5, math.nan]), np.arange(3.0), (1, ["x"]), beside, Point([7]), {"k"})


def test_a_copy_is_the_same_and_shares_nothing_that_can_change() -> None:
    state, before = a_state(), a_state()
    made = copied(state)
    assert same(made, state)
    assert type(made) is State
    made.counts[1].append(4)
    made.inner.values[0] = 1.5
    made.array[0] = 9.0
    made.pair[1].append("y")
    made.beside.names["a"].append("c")
    made.point.at.append(8)
    made.kinds.add("l")
    assert same(state, before)
    assert not same(made, state)


def test_a_copy_is_what_a_deep_copy_is() -> None:
    assert same(copied(a_state()), deepcopy(a_state()))


def test_lists_are_the_same_to_nine_digits_and_with_values_that_are_no_numbers() -> None:
    assert same([1, 0.1 + 0.2, math.nan, "a"], [1, 0.3, math.nan, "a"])
    assert not same([1.0, 2.0], [1.0, 2.0001])
    assert not same([1], [1, 2])
