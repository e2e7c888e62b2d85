"""Programs that are written wrongly are refused before a run: what is wrong, where, and what is allowed."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from actorstream import Event, EventTime
from actorstream.dgs import Program, Tag, by
from actorstream.dgs.loading import problems_of
from actorstream.events.schema import Schema


class Value(Event):
    ts: EventTime
    value: int


class Sound(Program):
    class State(msgspec.Struct):
        amount: int = 0

    tags: ClassVar = {"values": "value"}

    def depends(self, one: Tag, other: Tag) -> bool:
        return False

    def update(self, state: State, event: Any, tag: Tag) -> None: ...


class Full(msgspec.Struct):
    amount: int


def problems(**other: Any) -> list[str]:
    """What is wrong with the sound program if some of its attributes are others."""
    program = type("Other", (Sound,), other)()
    return [each.message for each in problems_of(program, {"values": Schema.of(Value)})]


def test_nothing_is_wrong_with_a_sound_program() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"tags": ["value"]}, "its tags are ['value']"),
        ({"tags": {"values": Tag("value")}}, "its tags have Tag(name='value', key=None) for 'values'"),
        ({"tags": {"others": "value"}}, "the program has no tags for an input 'values'"),
        ({"tags": {"values": by("op", ["i"])}}, "its tags are told by 'op', which Value does not have"),
        ({"update": Program.update}, "it does not define update(state, event, tag)"),
        (
            {"depends": lambda self, one, other: one.key < other.key},
            "depends(value, value) raised TypeError(\"'<' not supported between instances of 'NoneType' and "
            "'NoneType'\")",
        ),
        ({"depends": lambda self, one, other: None}, "Other.depends: depends(value, value) is None"),
        (
            {"State": Full},
            "it begins with State(), which raised TypeError(\"Missing required argument 'amount'\")",
        ),
        ({"fork": lambda self, state, left, right: (state, state)}, "it defines fork and no join"),
        ({"additive": ["values"]}, "additive has a tag 'values'"),
    ],
)
def test_what_is_wrong_is_told(other: dict[str, Any], message: str) -> None:
    assert problems(**other) == [message]


def test_a_program_with_init_needs_no_defaults_in_its_state() -> None:
    assert problems(State=Full, init=lambda self: Full(1)) == []
