"""Event hooks whose answers are gathered as values of each field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.event_columns import MOST_FIELDS, EventColumns, loop_of
from actorstream.events.schema import Schema
from actorstream.runtime.failures import Failures
from actorstream.runtime.hooks import EventCall, Outbox


class In(Event):
    value: int


class Out(Event):
    value: int
    text: str = "x"


class Only(Event):
    value: int


class Wide(Event):
    a: int
    b: int
    c: int
    d: int
    e: int


def one(event: In) -> Out:
    return Out(event.value)


def odd(event: In) -> Out | None:
    return Out(event.value, "odd") if event.value % 2 else None


def twice(event: In) -> Iterator[Out]:
    yield Out(event.value)
    if event.value == 3:
        raise ValueError("three")
    yield Out(-event.value)


def only(event: In) -> Only:
    if event.value == 3:
        raise AttributeError("three")
    return Wide(0, 0, 0, 0, 0) if event.value == 5 else Only(event.value + 1)  # type: ignore[return-value]


def stranger(event: In) -> Out:
    return In(event.value) if event.value == 4 else Out(event.value)  # type: ignore[return-value]


class Shifted:
    """The same hooks as methods, whose object counts."""

    def __init__(self) -> None:
        self.calls = 0

    def one(self, event: In) -> Out:
        self.calls += 1
        return Out(event.value + self.calls)

    def odd(self, event: In) -> Out | None:
        self.calls += 1
        return Out(self.calls, "odd") if event.value % 2 else None

    def twice(self, event: In) -> Iterator[Out]:
        self.calls += 1
        yield Out(event.value)
        yield Out(self.calls)

    def only(self, event: In) -> Only:
        self.calls += 1
        return Only(event.value + self.calls)


class Bench:
    """A hook that runs over columns, with an outbox whose default output is gathered."""

    def __init__(self, hook: Callable[..., Any], mode: str = "fail", answers: type[Event] = Out) -> None:
        self.outbox = Outbox(("dead",), "op")
        self.call = EventCall(hook, self.outbox, Failures("op", 0, mode, self.outbox))
        self.call.gather(Schema.of(answers))

    def run(self, rows: int) -> list[tuple[str, list[Any]]]:
        self.call.run(Batch.of_columns(In, {"value": np.arange(rows)}).feed())
        return [(output, batch.events()) for output, batch in self.taken()]

    def taken(self) -> list[tuple[str, Batch]]:
        return self.outbox.take(
            lambda to, events: (
                events.batch()
                if isinstance(events, EventColumns)
                else Batch.of_events(type(events[0]), events)
            )
        )


@pytest.mark.parametrize("hook", [one, odd, twice])
def test_gathered_values_are_those_of_the_events(hook: Callable[..., Any]) -> None:
    plain = Bench(hook)
    plain.call._loop = None
    assert Bench(hook).run(3) == plain.run(3)


@pytest.mark.parametrize(("name", "answers"), [("one", Out), ("odd", Out), ("twice", Out), ("only", Only)])
def test_a_method_that_is_gathered_from_is_called_on_its_object(name: str, answers: type[Event]) -> None:
    shifted, plain = Shifted(), Bench(getattr(Shifted(), name), answers=answers)
    plain.call._loop = None
    assert Bench(getattr(shifted, name), answers=answers).run(7) == plain.run(7)
    assert shifted.calls == 7


def test_what_is_gathered_becomes_columns_without_events() -> None:
    bench = Bench(one)
    bench.call.run(Batch.of_columns(In, {"value": np.arange(9)}).feed())
    ((_, batch),) = bench.taken()
    assert not batch.has_events
    assert batch["value"].tolist() == list(range(9))


def test_a_hook_that_raises_costs_the_others_nothing() -> None:
    assert Bench(twice, "skip").run(5) == [
        ("default", [Out(value) for value in (0, 0, 1, -1, 2, -2, 3, 4, -4)])
    ]
    with pytest.raises(OperatorError, match="three") as caught:
        Bench(twice).run(5)
    assert "value=3" in str(caught.value)


def test_what_a_hook_emits_besides_stays_in_order() -> None:
    def hook(event: In) -> Out:
        bench.outbox.emit(Out(event.value, "before"))
        if event.value == 1:
            bench.outbox.emit(Batch.of_events(Out, [Out(99)]))
        return Out(event.value)

    hook.__annotations__ = {"event": In, "return": Out}
    bench = Bench(hook)
    assert bench.run(2) == [
        ("default", [Out(0, "before"), Out(0), Out(1, "before")]),
        ("default", [Out(99)]),
        ("default", [Out(1)]),
    ]


@pytest.mark.parametrize("mode", ["fail", "skip"])
def test_an_answer_of_another_type_is_an_error_of_the_hook(mode: str) -> None:
    with pytest.raises(OperatorError, match=r"emitted a In: In\(value=4\); allowed: Out") as caught:
        Bench(stranger, mode).run(9)
    assert caught.value.actor == "op"


def test_answers_of_one_field_are_gathered_around_one_that_raised() -> None:
    bench = Bench(only, "skip", Only)
    assert bench.run(5) == [("default", [Only(value) for value in (1, 2, 3, 5)])]
    assert bench.call.failures.dead == 1
    with pytest.raises(OperatorError, match="three") as caught:
        Bench(only, "fail", Only).run(5)
    assert "value=3" in str(caught.value)


def test_an_answer_of_another_type_is_named_where_one_field_is_read() -> None:
    with pytest.raises(OperatorError, match=r"emitted a Wide: Wide\(a=0.*allowed: Only") as caught:
        Bench(only, "skip", Only).run(6)
    assert "value=5" in str(caught.value)


class More(Event):
    value: int
    text: str
    rest: int = 0


class Kind(Out):
    rest: int = 0


def more(event: In) -> Out:
    return More(event.value, "x")  # type: ignore[return-value]


def more_or_nothing(event: In) -> Out | None:
    return More(event.value, "x") if event.value else None  # type: ignore[return-value]


def yields_more(event):  # type: ignore[no-untyped-def]
    yield More(event.value, "x")


def more_than_one(event: In) -> Only:
    return More(event.value, "x")  # type: ignore[return-value]


def a_kind(event: In) -> Out:
    return Kind(event.value)


@pytest.mark.parametrize("hook", [more, more_or_nothing, yields_more, more_than_one])
def test_an_answer_of_another_class_does_not_lose_its_other_fields_in_silence(
    hook: Callable[..., Any],
) -> None:
    bench = Bench(hook, "skip", Only if hook is more_than_one else Out)
    assert bench.call._loop is not None
    with pytest.raises(
        OperatorError, match=r"More\(.*is not of class (Out|Only).*declare its class"
    ) as caught:
        bench.run(3)
    assert not caught.value.event, "nobody knows which one it was"


def test_the_last_answer_that_is_no_none_is_looked_at() -> None:
    def more_at_first(event: In) -> Out | None:
        return More(event.value, "x") if event.value == 0 else None  # type: ignore[return-value]

    with pytest.raises(OperatorError, match=r"More\(.*is not of class Out"):
        Bench(more_at_first).run(3)


def test_an_emitted_event_of_another_class_is_refused_among_gathered_values() -> None:
    def hook(event: In) -> Out:
        if event.value == 1:
            bench.outbox.emit(More(1, "x"))
        return Out(event.value)

    hook.__annotations__ = {"event": In, "return": Out}
    bench = Bench(hook)
    with pytest.raises(OperatorError, match="is not of class Out"):
        bench.run(2)


def test_an_answer_of_a_subclass_is_one_of_its_class() -> None:
    assert Bench(a_kind).run(2) == [("default", [Out(0), Out(1)])]


def test_wide_events_and_hooks_of_other_shapes_are_gathered_as_they_are() -> None:
    assert loop_of(print, "many", Schema.of(Out)) is None
    assert loop_of(print, "one", Schema.of(Wide)) is None
    assert len(Schema.of(Wide).names()) > MOST_FIELDS
