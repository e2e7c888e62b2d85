"""How the results of hooks are gathered, and what happens when one raises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorstream.errors import ActorstreamError, OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.plan.hook_shapes import is_async
from actorstream.runtime.failures import DeadLetter, Failures
from actorstream.runtime.hooks import BatchCall, EventCall, Outbox


class In(Event):
    value: int


class Out(Event):
    value: int


class Bench:
    """An outbox and `on_error`, and what came out as (output, values) in order."""

    def __init__(self, mode: str = "fail", outputs: tuple[str, ...] = ("alerts", "dead")) -> None:
        self.outbox = Outbox(outputs, "op")
        self.failures = Failures("op", 3, mode, self.outbox)

    def events(self, hook: Callable[..., Any], values: list[int]) -> list[tuple[str, list[Any]]]:
        EventCall(hook, self.outbox, self.failures).run([In(value) for value in values])
        return self.taken()

    def awaited(self, hook: Callable[..., Any], values: list[int]) -> list[tuple[str, list[Any]]]:
        call = EventCall(hook, self.outbox, self.failures)
        assert call.is_async
        asyncio.run(call.run_async([In(value) for value in values]))
        return self.taken()

    def batch(
        self, hook: Callable[..., Any], values: list[int], *, stateless: bool = False
    ) -> list[tuple[str, list[Any]]]:
        call = BatchCall(hook, self.outbox, self.failures, stateless)
        batch = column(values)
        if call.is_async:
            asyncio.run(call.run_async(batch))
        else:
            call.run(batch)
        return self.taken()

    def taken(self) -> list[tuple[str, list[Any]]]:
        made: list[tuple[str, list[Any]]] = []
        for output, batch in self.outbox.take(lambda to, events: Batch.of_events(type(events[0]), events)):
            made.append((output, [getattr(event, "value", event) for event in batch.events()]))
        return made


def column(values: list[int]) -> Batch:
    return Batch.of_columns(In, {"value": np.array(values, np.int64)})


def once_plain(event):  # type: ignore[no-untyped-def]
    return Out(event.value) if event.value % 2 else None


def once(event: In) -> Out | None:
    return Out(event.value) if event.value % 2 else None


def many_plain(event):  # type: ignore[no-untyped-def]
    return [Out(event.value)] * event.value


def many(event: In) -> list[Out] | None:
    return [Out(event.value)] * event.value if event.value else None


def yields(event: In) -> Iterator[Out]:
    for _ in range(event.value):
        yield Out(event.value)


def as_tuple(event):  # type: ignore[no-untyped-def]
    return (Out(event.value), Out(-event.value))


async def awaits(event: In) -> Out | None:
    await asyncio.sleep(0)
    return Out(event.value) if event.value % 2 else None


async def awaits_many(event: In) -> list[Out]:
    await asyncio.sleep(0)
    return [Out(event.value)] * event.value


async def awaits_between(event: In) -> AsyncIterator[Out]:
    for _ in range(event.value):
        await asyncio.sleep(0)
        yield Out(event.value)


@pytest.mark.parametrize("hook", [once_plain, once])
def test_a_returned_event_is_one_and_none_is_none(hook: Any) -> None:
    assert Bench().events(hook, [1, 2, 3]) == [("default", [1, 3])]


@pytest.mark.parametrize("hook", [many_plain, many, yields])
def test_lists_and_generators_give_all_their_events_in_order(hook: Any) -> None:
    assert Bench().events(hook, [2, 0, 1, 3]) == [("default", [2, 2, 1, 3, 3, 3])]


def test_a_tuple_gives_all_its_events() -> None:
    assert Bench().events(as_tuple, [1, 2]) == [("default", [1, -1, 2, -2])]


def test_a_hook_that_answers_nothing_makes_nothing() -> None:
    assert Bench().events(lambda event: None, [1, 2]) == []
    assert Bench().events(once, []) == []


@pytest.mark.parametrize("hook", [awaits, awaits_many, awaits_between])
def test_async_hooks_are_told_from_sync_ones(hook: Any) -> None:
    assert is_async(hook)
    assert not is_async(once)
    assert not is_async(yields)


def test_async_hooks_give_what_sync_hooks_give() -> None:
    assert Bench().awaited(awaits, [1, 2, 3]) == [("default", [1, 3])]
    assert Bench().awaited(awaits_many, [2, 0, 1]) == [("default", [2, 2, 1])]
    assert Bench().awaited(awaits_between, [2, 0, 1]) == [("default", [2, 2, 1])]


def test_emitted_and_returned_events_keep_their_order() -> None:
    bench = Bench()

    def hook(event: In) -> Out:
        bench.outbox.emit(Out(event.value * 10), "default")
        return Out(event.value)

    assert bench.events(hook, [1, 2]) == [("default", [10, 1, 20, 2])]


def test_a_batch_that_is_emitted_between_events_stays_between_them() -> None:
    bench = Bench()

    def hook(event: In) -> Out:
        if event.value == 2:
            bench.outbox.emit(column([100, 101]), "default")
        return Out(event.value)

    assert bench.events(hook, [1, 2, 3]) == [
        ("default", [1]),
        ("default", [100, 101]),
        ("default", [2, 3]),
    ]


def test_outputs_are_kept_apart_by_name() -> None:
    bench = Bench()

    def hook(event: In) -> Out | None:
        if event.value > 2:
            bench.outbox.emit(Out(event.value), "alerts")
            return None
        return Out(event.value)

    assert sorted(bench.events(hook, [1, 3, 2, 4])) == [("alerts", [3, 4]), ("default", [1, 2])]


def test_an_unknown_output_is_named_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(
        ActorstreamError, match=r"'alert', which it does not have.*'alerts'.*did you mean 'alerts'"
    ):
        Bench().outbox.emit(Out(1), "alert")


def test_an_emit_to_an_unknown_output_is_an_error_of_the_operator() -> None:
    bench = Bench()
    with pytest.raises(OperatorError) as caught:
        bench.events(lambda event: bench.outbox.emit(Out(1), "nowhere"), [7])
    assert caught.value.actor == "op"
    assert "In(value=7)" in caught.value.event
    assert "nowhere" in caught.value.error


# -- errors


def at_three(event: In) -> Out:
    if event.value == 3:
        raise ValueError("three is too many")
    return Out(event.value)


def at_three_yielding(event: In) -> Iterator[Out]:
    yield Out(event.value)
    if event.value == 3:
        raise ValueError("three is too many")


def at_three_plain(event):  # type: ignore[no-untyped-def]
    return at_three(event)


async def at_three_async(event: In) -> Out:
    await asyncio.sleep(0)
    return at_three(event)


@pytest.mark.parametrize("hook", [at_three, at_three_plain])
def test_fail_names_operator_replica_event_and_the_users_line(hook: Any) -> None:
    with pytest.raises(OperatorError) as caught:
        Bench().events(hook, [1, 2, 3, 4])
    error = caught.value
    assert (error.actor, error.replica, error.error) == ("op", 3, "ValueError: three is too many")
    assert error.event == "In(value=3)"
    assert 'raise ValueError("three is too many")' in error.traceback
    assert "runtime/hooks.py" not in error.traceback
    for part in ("op", "replica 3", "three is too many", "In(value=3)"):
        assert part in str(error)


@pytest.mark.parametrize("position", [0, 1, 4])
@pytest.mark.parametrize("hook", [at_three, at_three_plain, at_three_yielding])
def test_the_event_is_named_wherever_it_stands(hook: Any, position: int) -> None:
    values = [1, 2, 4, 5]
    values.insert(position, 3)
    with pytest.raises(OperatorError) as caught:
        Bench().events(hook, values)
    assert caught.value.event == "In(value=3)"


@pytest.mark.parametrize("hook", [at_three, at_three_plain])
def test_skip_costs_only_the_event_that_raised(hook: Any) -> None:
    bench = Bench("skip")
    assert bench.events(hook, [3, 1, 3, 2, 3]) == [("default", [1, 2])]
    assert bench.failures.dead == 3


def test_what_a_generator_yielded_before_it_raised_stays() -> None:
    bench = Bench("skip")
    assert bench.events(at_three_yielding, [2, 3, 4]) == [("default", [2, 3, 4])]
    assert bench.failures.dead == 1


def test_dead_letters_say_event_error_and_operator() -> None:
    bench = Bench("dead-letter")
    made = dict(bench.events(at_three, [1, 3, 2]))
    assert made["default"] == [1, 2]
    assert made["dead"] == [DeadLetter("In(value=3)", "ValueError: three is too many", "op")]
    assert bench.failures.dead == 1


def test_async_hooks_fail_and_skip_alike() -> None:
    bench = Bench("skip")
    assert bench.awaited(at_three_async, [1, 3, 2]) == [("default", [1, 2])]
    with pytest.raises(OperatorError) as caught:
        Bench().awaited(at_three_async, [1, 3, 2])
    assert caught.value.event == "In(value=3)"


# -- batches


def test_a_batch_hook_may_return_yield_list_or_emit_batches() -> None:
    assert Bench().batch(lambda batch: batch, [1, 2]) == [("default", [1, 2])]
    assert Bench().batch(lambda batch: None, [1, 2]) == []
    assert Bench().batch(lambda batch: [batch, batch.take([0])], [1, 2]) == [
        ("default", [1, 2]),
        ("default", [1]),
    ]

    def halves(batch: Batch) -> Iterator[Batch]:
        yield batch.slice(0, 1)
        yield batch.slice(1, 1)

    assert Bench().batch(halves, [1, 2]) == [("default", [1]), ("default", [2])]
    bench = Bench()
    assert bench.batch(lambda batch: bench.outbox.emit(batch, "alerts"), [5]) == [("alerts", [5])]


def test_a_batch_hook_may_return_events() -> None:
    assert Bench().batch(lambda batch: [Out(batch.rows)], [1, 2, 3]) == [("default", [3])]


def test_async_batch_hooks_give_what_sync_ones_give() -> None:
    async def same(batch: Batch) -> Batch:
        await asyncio.sleep(0)
        return batch

    async def twice(batch: Batch) -> AsyncIterator[Batch]:
        yield batch
        await asyncio.sleep(0)
        yield batch

    assert Bench().batch(same, [1, 2]) == [("default", [1, 2])]
    assert Bench().batch(twice, [1, 2]) == [("default", [1, 2]), ("default", [1, 2])]


def picky(batch: Batch) -> Batch:
    if (batch["value"] == 3).any():
        raise ValueError("a three")
    return batch


def test_a_stateful_batch_fails_as_a_whole() -> None:
    with pytest.raises(OperatorError) as caught:
        Bench().batch(picky, [1, 2, 3, 4])
    assert "a batch of 4 rows, the first In(value=1)" in caught.value.event
    bench = Bench("skip")
    assert bench.batch(picky, [1, 2, 3, 4]) == []
    assert bench.failures.dead == 4


def test_a_stateless_batch_is_split_until_the_row_is_found() -> None:
    with pytest.raises(OperatorError) as caught:
        Bench().batch(picky, [1, 2, 3, 4, 5], stateless=True)
    assert caught.value.event == "In(value=3)"
    bench = Bench("dead-letter")
    made = bench.batch(picky, [1, 2, 3, 4, 3, 6, 7], stateless=True)
    assert [value for output, values in made if output == "default" for value in values] == [1, 2, 4, 6, 7]
    assert [letter.event for output, values in made if output == "dead" for letter in values] == [
        "In(value=3)"
    ] * 2
    assert bench.failures.dead == 2


def test_a_stateless_async_batch_is_split_where_on_error_goes_on() -> None:
    async def yields(batch: Batch) -> AsyncIterator[Batch]:
        yield batch.slice(0, 1)
        await asyncio.sleep(0)
        picky(batch)
        yield batch.slice(1, batch.rows - 1)

    async def returns(batch: Batch) -> Batch:
        await asyncio.sleep(0)
        return picky(batch)

    for hook in (yields, returns):
        bench = Bench("dead-letter")
        made = bench.batch(hook, [1, 2, 3, 4, 3, 6, 7], stateless=True)
        good = [value for output, values in made if output == "default" for value in values]
        assert good == [1, 2, 4, 6, 7]
        dead = [letter.event for output, values in made if output == "dead" for letter in values]
        assert dead == ["In(value=3)"] * 2
        with pytest.raises(OperatorError, match="a three"):  # some rows may have gone on while it awaited
            Bench().batch(hook, [1, 2, 3, 4, 5], stateless=True)


def test_a_stateless_hook_that_raises_leaves_nothing_it_emitted_for_the_row() -> None:
    bench = Bench("skip")

    def hook(batch: Batch) -> None:
        for event in batch.events():
            bench.outbox.emit(Out(event.value), "default")
            bench.outbox.emit(batch.slice(0, 1), "alerts")
            bench.outbox.emit(Out(event.value), "alerts")
            if event.value == 3:
                raise ValueError("a three")

    flat: dict[str, list[int]] = {}
    for output, values in bench.batch(hook, [1, 2, 3, 4, 5], stateless=True):
        flat.setdefault(output, []).extend(values)
    # halves: [1, 2], then [3], which raises, then [4, 5]; on "alerts" each row has the half's first before it
    assert flat == {"default": [1, 2, 4, 5], "alerts": [1, 1, 1, 2, 4, 4, 4, 5]}
    assert bench.failures.dead == 1


def test_rollback_returns_to_exactly_what_was_there() -> None:
    outbox = Outbox(("alerts",), "op")
    outbox.emit(Out(1), "default")
    outbox.emit(Out(2), "alerts")
    mark = outbox.mark()
    for value in (3, 4):
        outbox.emit(Out(value), "default")
        outbox.emit(column([value]), "default")
        outbox.emit(Out(value), "default")
    outbox.emit(Out(9), "alerts")
    outbox.rollback(mark)
    taken = outbox.take(lambda to, events: Batch.of_events(Out, events))
    assert [(to, [event.value for event in batch.events()]) for to, batch in taken] == [
        ("default", [1]),
        ("alerts", [2]),
    ]


@pytest.mark.parametrize(
    "hook", [once_plain, once, many_plain, many, yields, as_tuple], ids=lambda hook: hook.__name__
)
def test_an_event_that_comes_by_itself_is_answered_as_among_others(hook: Callable[..., Any]) -> None:
    values = [0, 1, 3, 2]
    together, alone = Bench(), Bench()
    call = EventCall(hook, alone.outbox, alone.failures)
    for value in values:
        call.run_one(In(value))
    assert alone.taken() == together.events(hook, values) != []


def test_an_event_that_comes_by_itself_fails_as_among_others() -> None:
    bench = Bench("dead-letter")

    def fails(event: In) -> Iterator[Out]:
        yield Out(event.value)
        raise ValueError("no more")

    call = EventCall(fails, bench.outbox, bench.failures)
    call.run_one(In(7))
    (first, values), (dead, letters) = bench.taken()
    assert (first, values, dead) == ("default", [7], "dead")
    assert letters[0].error == "ValueError: no more"
