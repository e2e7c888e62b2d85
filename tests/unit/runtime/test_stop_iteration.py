"""A hook that raises StopIteration: `map` takes it for the end of the events."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.errors import OperatorError
from actorstream.runtime.hooks import EventCall

from .test_hooks import Bench, In, Out, column


def stops_once(event):  # type: ignore[no-untyped-def]
    return Out(next(iter([event.value] if event.value else [])))


def stops_many(event: In) -> list[Out]:
    return [stops_once(event)]


def stops_maybe(event: In) -> Out | None:
    return Out(next(value for value in (event.value,) if value))


@pytest.mark.parametrize("hook", [stops_once, stops_many, stops_maybe])
@pytest.mark.parametrize("as_feed", [False, True])
@pytest.mark.parametrize("values", [[0, 1, 2], [1, 0, 0, 2], [1, 2, 0], [0]])
def test_stop_iteration_in_a_hook_is_an_error_of_its_event_alone(
    hook: Any, as_feed: bool, values: list[int]
) -> None:
    for mode in ("skip", "fail"):
        bench = Bench(mode)
        events: Any = column(values).feed() if as_feed else [In(value) for value in values]
        call = EventCall(hook, bench.outbox, bench.failures)
        if mode == "skip":
            call.run(events)
            assert bench.taken() == [("default", [value for value in values if value])][: any(values)]
        else:
            with pytest.raises(OperatorError, match=r"StopIteration(.|\n)*In\(value=0\)"):
                call.run(events)
