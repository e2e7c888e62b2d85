"""Plain hooks whose annotation says nothing: what they return is looked at before the next call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actorstream.errors import OperatorError

from .test_hooks import Bench, Out, at_three_yielding, column


@pytest.mark.parametrize("hook", [at_three_yielding, lambda event: at_three_yielding(event)])
def test_what_a_returned_generator_raises_is_the_error_of_its_event(hook: Any) -> None:
    bench = Bench("skip")
    assert bench.events(hook, [1, 3, 2]) == [("default", [1, 3, 2])]
    assert bench.failures.dead == 1
    with pytest.raises(OperatorError) as caught:
        Bench().events(hook, [1, 3, 2])
    assert caught.value.event == "In(value=3)"


def test_a_returned_generator_sees_the_state_that_its_call_left() -> None:
    calls = 0

    def counted() -> Iterator[Out]:
        yield Out(calls)

    def hook(event):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        return counted() if event.value else Out(-calls)

    assert Bench().events(hook, [1, 0, 1, 1]) == [("default", [1, -2, 3, 4])]


def test_lists_stay_whole_around_a_batch_that_is_emitted_between_them() -> None:
    bench = Bench()

    def hook(event):  # type: ignore[no-untyped-def]
        if event.value == 2:
            bench.outbox.emit(column([100]), "default")
        return [Out(event.value)] * 2

    assert bench.events(hook, [1, 2, 3]) == [
        ("default", [1, 1]),
        ("default", [100]),
        ("default", [2, 2, 3, 3]),
    ]
