"""An Event class that a hook is annotated with must be found in its input."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Actor, Batch, Event, Int32
from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.builder import Topology


class Row(Event):
    n: int
    name: str
    share: Int32 = 0


class Wider(Event):
    n: int
    zzz: float = 0.0


class Other(Event):
    n: str


class Part(Event):
    share: float
    name: str | None


class TakesWider(Actor):
    def on_event(self, event: Wider) -> None: ...


class TakesOther(Actor):
    def on_event(self, event: Other | Wider) -> None: ...


class TakesByName(Actor):
    def on_event(self, event: Wider) -> None: ...
    def on_left(self, event: Row) -> None: ...
    def on_right(self, event: Other) -> None: ...


class TakesPart(Actor):
    def on_event(self, event: Part) -> None: ...


class TakesOneOf(Actor):
    def on_event(self, event: Other | Row | None) -> None: ...


class TakesAny(Actor):
    def on_event(self, event: Any) -> None: ...


class TakesAnyOf(Actor):
    def on_event(self, event: Other | Any) -> None: ...


class TakesEvents(Actor):
    def on_event(self, event: Event) -> None: ...


class TakesUnknown(Actor):
    def on_event(self, event: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


class TakesBatches(Actor):
    def on_event(self, event: Other) -> None: ...
    def on_batch(self, batch: Batch) -> None: ...


def problems_of(kind: type, name: str = "") -> list[Problem]:
    topology = Topology("t")
    topology.source([Row(1, "a")], name="rows").named(name).through(kind, name="taker")
    try:
        topology.graph()
    except ConfigurationError as error:
        return error.problems
    return []


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (TakesWider, "", "TakesWider.on_event takes Wider, but the input has no 'zzz'"),
        (TakesOther, "", "TakesOther.on_event takes Other, but the input's n: int64 is not its n: string"),
        (
            TakesByName,
            "right",
            "TakesByName.on_right takes Other, but the input's n: int64 is not its n: string",
        ),
    ],
)
def test_a_field_that_the_input_has_not_or_has_of_another_kind_is_told(
    kind: type, name: str, message: str
) -> None:
    (problem,) = problems_of(kind, name)
    assert (problem.where, problem.message) == ("actors.taker.inputs[0]", message)
    assert problem.allowed.endswith("has: n: int64, name: string, share: int32")
    assert problem.file.endswith("test_hook_events.py")


@pytest.mark.parametrize(
    "kind", [TakesPart, TakesOneOf, TakesAny, TakesAnyOf, TakesEvents, TakesUnknown, TakesBatches]
)
def test_what_can_be_read_from_the_input_or_is_not_told_is_right(kind: type) -> None:
    assert problems_of(kind) == []


def test_each_input_is_checked_by_the_hook_that_takes_it() -> None:
    assert problems_of(TakesByName, "left") == []
    assert len(problems_of(TakesByName, "middle")) == 1
