"""Which hook takes which input, and what the errors of hooks show."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.actors.operator_errors import operator_error, preview
from actorstream.errors import DataError, OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.plan.hook_shapes import hook_for


class In(Event):
    value: int


class Out(Event):
    value: int


# -- which hook takes which input


class Named(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Out}

    def on_event(self, event: In) -> str:
        return "event"

    def on_prices(self, batch: Batch) -> str:
        return "prices"

    def on_count_final(self, event: In) -> str:
        return "count.final"


def test_the_hook_of_a_named_input_wins() -> None:
    actor = Named()
    assert hook_for(actor, "prices")[0](None) == "prices"
    assert hook_for(actor, "prices")[1], "annotated with Batch"
    assert hook_for(actor, "count.final")[0](None) == "count.final"
    assert hook_for(actor, "count-final")[0](None) == "count.final"
    assert not hook_for(actor, "count.final")[1]
    assert hook_for(actor, "others")[0](None) == "event"


@pytest.mark.parametrize(
    "name", ["start", "stop", "end", "timer", "heartbeat", "failure", "message", "event", "batch"]
)
def test_an_input_named_like_a_hook_of_the_life_cycle_goes_to_on_event(name: str) -> None:
    assert hook_for(Named(), name)[0](None) == "event"


def test_an_actor_without_a_hook_for_an_input_says_which_to_define() -> None:
    with pytest.raises(OperatorError, match="define on_event, on_batch or on_lines"):
        hook_for(Actor(), "lines")


# -- what errors show


class Shy:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_preview_is_short_and_never_raises() -> None:
    assert preview(None) == ""
    assert preview("x" * 10_000).endswith("(10002 characters)")
    assert len(preview("x" * 10_000)) < 2100
    assert "Shy" in preview(Shy())


def test_an_error_of_ours_keeps_its_words_and_an_operator_error_its_self() -> None:
    found = operator_error("op", 0, None, DataError("is no number", file="a.csv", line=3, column="price"))
    assert "a.csv, line 3, column 'price': is no number" in str(found)
    assert operator_error("other", 1, None, found) is found
