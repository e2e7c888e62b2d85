"""StateClasses: what init, fork and join answer is a state of the declared class, or an error that says what is allowed."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from actorstream.dgs.program import Program
from actorstream.dgs.state_classes import StateClasses
from actorstream.dgs.states import Fork, everything
from actorstream.errors import SchemaError

WHOLE, PARTS = Fork("State", "State", "State"), Fork("State", "Left", "Right")


class Pair(Program):
    class State(msgspec.Struct):
        left: int = 0
        right: int = 0

    class Left(msgspec.Struct):
        left: int = 0

    class Right(msgspec.Struct):
        right: int = 0

    class More(State):
        pass

    states: ClassVar = {"State": everything, "Left": ["left"], "Right": ["right"]}
    forks: ClassVar = {WHOLE: ("fork", "join"), PARTS: ("apart", "together")}


CLASSES = StateClasses(Pair())


def test_states_of_the_declared_classes_are_taken_and_those_that_extend_them() -> None:
    assert CLASSES.first(Pair.More(1)) == Pair.More(1)
    assert CLASSES.forked(PARTS, (Pair.Left(1), Pair.Right(2))) == (Pair.Left(1), Pair.Right(2))
    assert CLASSES.forked(WHOLE, [Pair.State(1), Pair.State(2)]) == (Pair.State(1), Pair.State(2))
    assert CLASSES.joined(PARTS, Pair.State(1)) == Pair.State(1)


@pytest.mark.parametrize(
    "answer", [None, Pair.Left(), (Pair.Left(),), (Pair.Right(), Pair.Left()), ({}, Pair.Right())]
)
def test_a_fork_that_answers_something_else_is_told_what_is_allowed(answer: Any) -> None:
    with pytest.raises(
        SchemaError, match=r"Pair\.apart\(state, left, right\) answered .*two states, a Left and a Right"
    ):
        CLASSES.forked(PARTS, answer)


@pytest.mark.parametrize("answer", [None, Pair.Left()])
def test_a_join_that_answers_something_else_is_told_what_is_allowed(answer: Any) -> None:
    with pytest.raises(SchemaError, match=r"Pair\.together\(left, right\) answered .*allowed: a State"):
        CLASSES.joined(PARTS, answer)


def test_a_first_state_of_another_class_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"Pair\.init\(\) answered None; allowed: State"):
        CLASSES.first(None)
