"""Methods of a program that cannot be called as they will be are told before a run, each by its name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream.dgs import Program, Tag, Tags
from actorstream.dgs.signatures import problems_of_methods


class Sound(Program):
    class State(msgspec.Struct):
        amount: int = 0

    tags: ClassVar = {"values": "value"}

    def depends(self, one: Tag, other: Tag) -> bool:
        return False

    def update(self, state: State, event: Any, tag: Tag) -> None: ...

    def fork(self, state: State, left: Tags, right: Tags) -> Any: ...

    def join(self, *both: State) -> Any: ...


def told(kind: type[Program]) -> list[str]:
    return [f"{each.message}; allowed: {each.allowed}" for each in problems_of_methods(kind(), Program)]


def test_a_sound_program_has_none() -> None:
    assert told(Sound) == []


def test_a_program_defines_depends_and_update() -> None:
    assert told(type("Bare", (Program,), {})) == [
        "it does not define depends(one, other); allowed: a program that does",
        "it does not define update(state, event, tag); allowed: a program that does",
    ]


@pytest.mark.parametrize(
    ("name", "method", "takes", "called"),
    [
        ("depends", lambda self, one: True, "one", "one, other"),
        ("update", lambda self, state, event: None, "state, event", "state, event, tag"),
        ("update_batch", lambda self, batch: None, "batch", "state, batch, tag"),
        ("fork", lambda self, state: None, "state", "state, left, right"),
        ("join", lambda self, left, right, more: None, "left, right, more", "left, right"),
        ("end", lambda self: None, "", "state"),
        ("init", lambda self, first: None, "first", ""),
        ("checkpoint", lambda self, state: True, "state", "state, joins, elapsed"),
    ],
)
def test_a_method_that_takes_other_arguments_is_named(
    name: str, method: Any, takes: str, called: str
) -> None:
    (message,) = told(type("Strange", (Sound,), {name: method}))
    assert message.startswith(f"it defines {name}({takes}): ")
    assert message.endswith(f"; allowed: what can be called as {name}({called})")


def test_methods_of_several_forks_are_looked_at_each_once() -> None:
    class Several(Sound):
        forks: ClassVar = {
            ("State", "State", "Part"): ("apart", "join"),
            ("Part", "Part", "Part"): ("apart", "join"),
        }

        def apart(self, state: Any) -> Any: ...

    (message,) = told(Several)
    assert message.startswith("it defines apart(state): ")


def test_a_method_cannot_wait() -> None:
    class Waiting(Sound):
        async def update(self, state: Any, event: Any, tag: Tag) -> None: ...  # type: ignore[override]

        async def end(self, state: Any) -> AsyncIterator[int]:
            yield 1

    assert told(Waiting) == [
        "its update is an `async def`; allowed: a plain `def` of update(state, event, tag)",
        "its end is an `async def`; allowed: a plain `def` of end(state)",
    ]


def test_what_is_no_method_is_named() -> None:
    assert told(type("Strange", (Sound,), {"end": 5})) == ["its end is 5; allowed: a method end(state)"]
