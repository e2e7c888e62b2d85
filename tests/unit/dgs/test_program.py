"""Program: what a class says of itself, and the defaults of what it leaves unsaid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec
import pytest

from actorstream import Event, EventTime
from actorstream.dgs import Program, Tag, Tags, by, every
from actorstream.dgs.states import Fork
from actorstream.dgs.tags import ImplementationTag
from actorstream.errors import ConfigurationError


class Operation(Event):
    ts: EventTime
    op: str
    key: int


class Read(Event):
    key: int
    ts: int
    count: int


class KeyedCounters(Program):
    """Figure 1 of the paper."""

    class State(msgspec.Struct):
        counts: dict[int, int] = {}

    tags: ClassVar = {"events": by("op", {"i": "increment", "r": "read"}, key="key", classes=8)}

    def depends(self, one: Tag, other: Tag) -> bool:
        return one.key == other.key and "read" in (one.name, other.name)

    def update(self, state: State, event: Operation, tag: Tag) -> Iterator[Read]:
        if tag.name == "increment":
            state.counts[event.key] = state.counts.get(event.key, 0) + 1
        else:
            yield Read(event.key, event.ts, state.counts.pop(event.key, 0))

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        to_right = {key: n for key, n in state.counts.items() if self.tag("read", key) in right}
        to_left = {key: n for key, n in state.counts.items() if key not in to_right}
        return self.State(to_left), self.State(to_right)

    def join(self, left: State, right: State) -> State:
        for key, count in right.counts.items():
            left.counts[key] = left.counts.get(key, 0) + count
        return left


class WithParts(Program):
    class Whole(msgspec.Struct):
        rules: int = 0
        total: int = 0

    class Part(msgspec.Struct):
        total: int = 0

    tags: ClassVar = {"values": "value", "rules": "rule", "hour": every("1h")}
    states: ClassVar = {"Whole": lambda tag: True, "Part": ["value"]}
    forks: ClassVar = {
        ("Whole", "Part", "Part"): ("divide", "gather"),
        ("Part", "Part", "Part"): ("halve", "add"),
    }

    def depends(self, one: Tag, other: Tag) -> bool:
        return "value" not in (one.name, other.name) or one.name != other.name

    def init(self) -> Whole:
        return self.Whole()

    def divide(self, state: Whole, left: Tags, right: Tags) -> tuple[Part, Part]:
        return self.Part(state.total), self.Part()

    def gather(self, left: Part, right: Part) -> Whole:
        return self.Whole(0, left.total + right.total)


def test_a_program_with_one_state_type_need_not_declare_it() -> None:
    program = KeyedCounters()
    types = program.state_types()
    assert types.initial == "State"
    assert types.forks == (Fork("State", "State", "State"),)
    assert types.can("State", [ImplementationTag(Tag("read", 3))])
    assert program.state_class("State") is KeyedCounters.State
    assert program.init() == KeyedCounters.State({})


def test_a_program_without_fork_has_no_forks() -> None:
    class Alone(Program):
        class State(msgspec.Struct):
            n: int = 0

    assert Alone().state_types().forks == ()


def test_state_types_and_forks_are_taken_as_they_are_declared() -> None:
    program = WithParts()
    types = program.state_types()
    assert types.initial == "Whole"
    assert types.forks == (Fork("Whole", "Part", "Part"), Fork("Part", "Part", "Part"))
    assert types.can("Part", [ImplementationTag(Tag("value"))])
    assert not types.can("Part", [ImplementationTag(Tag("rule"))])
    assert program.state_class("Part") is WithParts.Part
    fork, join = program.functions(types.forks[0])
    assert fork(WithParts.Whole(1, 5), frozenset(), frozenset()) == (WithParts.Part(5), WithParts.Part())
    assert join(WithParts.Part(5), WithParts.Part(2)) == WithParts.Whole(0, 7)


def test_ticks_are_no_input() -> None:
    program = WithParts()
    assert list(program.taggings()) == ["values", "rules"]
    assert list(program.ticks()) == [Tag("hour")]


def test_the_type_of_the_initial_state_may_be_told_by_init() -> None:
    class Elsewhere(Program):
        def init(self) -> WithParts.Part:
            return WithParts.Part()

    assert Elsewhere().state_class("State") is WithParts.Part


def test_a_state_type_that_is_nowhere_defined_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"Alone\.State: is not defined"):

        class Alone(Program):
            pass

        Alone().state_class("State")


def test_output_types_come_from_the_annotation_of_update() -> None:
    assert KeyedCounters.output_types({}, []) == {"default": Read}


def test_a_program_finds_the_tag_of_a_key_in_its_hash_class() -> None:
    program = KeyedCounters()
    assert program.tag("read", 3) == program.taggings()["events"].tag_of(Operation(1, "r", 3))
    assert WithParts().tag("rule") == Tag("rule")
