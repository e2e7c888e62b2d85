"""Emitters: what `emit` appends by itself, and what it leaves to the subclass."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from actorstream import Event
from actorstream.native.emitter import Emitter


class Score(Event):
    value: int


class Other(Score):
    more: int = 0


class Noting(Emitter):
    __slots__ = ("__weakref__", "left")

    def __init__(self, events: dict[str, Any]) -> None:
        super().__init__(events, Event)
        self.left: list[tuple[Any, str]] = []

    def _emit(self, item: Any, to: str = "default") -> None:
        self.left.append((item, to))


def noting() -> Noting:
    return Noting({"default": [], "alerts": []})


def test_events_are_appended_to_the_list_of_their_output() -> None:
    made = noting()
    assert made.touched is False
    for event in (Score(1), Other(2, 3)):
        made.emit(event)
        made.emit(event, "alerts")
        made.emit(event, to="alerts")
        made.emit(event, to="".join(["al", "erts"]))  # equal, and not the same
    assert made.events["default"] == [Score(1), Other(2, 3)]
    assert made.events["alerts"] == [Score(1)] * 3 + [Other(2, 3)] * 3
    assert made.touched is True and made.left == []


def test_what_is_no_event_for_a_list_is_left_to_the_subclass() -> None:
    made = noting()
    made.events["gathered"] = ()
    made.emit("text")
    made.emit(Score(1), to="nowhere")
    made.emit(Score(2), "gathered")
    made.emit(item=Score(3), to="alerts")
    assert made.left == [
        ("text", "default"),
        (Score(1), "nowhere"),
        (Score(2), "gathered"),
        (Score(3), "alerts"),
    ]
    assert made.touched is False
    assert made.events == {"default": [], "alerts": [], "gathered": ()}


@pytest.mark.parametrize("given", [((), {}), ((1, "default", 2), {}), ((1,), {"two": "default"})])
def test_other_arguments_are_a_type_error(given: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    with pytest.raises(TypeError):
        noting().emit(*given[0], **given[1])


def test_an_output_that_cannot_be_looked_up_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        noting().emit(Score(1), to=[])


def test_a_list_that_was_replaced_is_the_one_that_is_appended_to() -> None:
    made = noting()
    emit = made.emit
    emit(Score(1))
    before, made.events["default"] = made.events["default"], []
    emit(Score(2))
    assert (before, made.events["default"]) == ([Score(1)], [Score(2)])


def test_the_dict_of_lists_cannot_be_replaced() -> None:
    with pytest.raises(AttributeError):
        noting().events = {}


@pytest.mark.parametrize("arguments", [(), ({},), ([], Event), ({}, "Event")])
def test_an_emitter_needs_a_dict_and_a_class(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        Emitter(*arguments)


def test_an_emitter_that_refers_to_itself_is_collected() -> None:
    made = noting()
    made.events["default"].append(made)
    made.left.append((made.emit, ""))
    known = weakref.ref(made)
    del made
    gc.collect()
    assert known() is None
