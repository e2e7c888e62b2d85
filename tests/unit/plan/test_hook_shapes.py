"""What hooks answer, told from their signatures."""

from __future__ import annotations

from collections.abc import Iterator

from actorstream import Event
from actorstream.dgs import Program, Tag
from actorstream.plan.hook_shapes import shape_of


class Out(Event):
    value: int


class Emits(Program):
    class State: ...

    def update(self, state: State, event: Out, tag: Tag) -> None: ...


class Answers(Emits):
    def update(self, state: Emits.State, event: Out, tag: Tag) -> Out | None: ...


class AnswersMany(Emits):
    class Deep(Emits.State): ...

    def update(self, state: Deep, event: Out, tag: Tag) -> list[Out]: ...


class Yields(Emits):
    def update(self, state: State, event: Out, tag: Tag) -> Iterator[Out]:  # type: ignore[name-defined]  # noqa: F821
        yield event


class SaysNothing(Emits):
    def update(self, state, event, tag):  # type: ignore[no-untyped-def]
        return event


class IsWrong(Emits):
    def update(self, state: NoSuchClass, event: Out, tag: Tag) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def test_annotations_may_name_classes_that_lie_in_the_class_of_the_hook() -> None:
    found = {made: shape_of(made().update) for made in (Emits, Answers, AnswersMany, Yields)}
    assert found == {Emits: "nothing", Answers: "single", AnswersMany: "many", Yields: "generator"}


def test_where_nothing_can_be_told_answers_are_looked_at() -> None:
    assert [shape_of(made().update) for made in (SaysNothing, IsWrong)] == ["", ""]


def test_a_function_has_no_class_to_look_into() -> None:
    def hook(event: Out) -> Out: ...

    assert shape_of(hook) == "one"
