"""check_program: programs that are consistent pass, and each condition has a program that breaks it and is caught."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from actorstream import Batch, Event, EventTime
from actorstream.dgs import Program, Tag, Tags, Tick, every
from actorstream.dgs.consistency.conditions import InconsistentError
from actorstream.errors import ConfigurationError, SchemaError
from actorstream.testing import check_program, find_violations
from tests.seeded_program import Item, SeededProgram
from tests.unit.dgs.test_program import KeyedCounters, Operation, Read

EXAMPLES = 30


class Value(Event):
    ts: EventTime
    value: float


class Barrier(Event):
    ts: EventTime


class Sum(Event):
    ts: int
    sum: float


class ValueBarrier(Program):
    class State(msgspec.Struct):
        sum: float = 0.0

    tags: ClassVar = {"barriers": "barrier", "values": "value"}

    def depends(self, one: Tag, other: Tag) -> bool:
        return "barrier" in (one.name, other.name)

    def update(self, state: State, event: Value | Barrier, tag: Tag) -> Iterator[Sum]:
        if isinstance(event, Value):
            state.sum += event.value
        else:
            yield Sum(event.ts, state.sum)
            state.sum = 0.0

    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        if tag.name == "barrier":
            return NotImplemented
        state.sum += float(batch["value"].sum())
        return None

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        left.sum += right.sum
        return left


EVENTS = {"barriers": Barrier, "values": Value}


def broken(program: Program, events: Any = None, examples: int = EXAMPLES) -> list[str]:
    return [violation.condition for violation in find_violations(program, events, examples=examples)]


def test_the_programs_of_the_paper_are_consistent() -> None:
    check_program(KeyedCounters(), examples=EXAMPLES)
    check_program(ValueBarrier(), EVENTS, examples=EXAMPLES)


@pytest.mark.parametrize("seed", range(4))
def test_seeded_programs_are_consistent(seed: int) -> None:
    program = SeededProgram(seed)
    check_program(program, dict.fromkeys(program.inputs_of, Item), examples=30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_all_seeded_programs_are_consistent(seed: int) -> None:
    program = SeededProgram(seed)
    check_program(program, dict.fromkeys(program.inputs_of, Item), examples=100)


def test_a_join_that_leaves_an_update_out_breaks_c1() -> None:
    class OneSided(ValueBarrier):
        def join(self, left: Any, right: Any) -> Any:
            return left

    with pytest.raises(InconsistentError) as caught:
        check_program(OneSided(), EVENTS, examples=EXAMPLES)
    [violation] = caught.value.violations
    assert violation.condition == "C1"
    assert [what for what, _ in violation.example] == [
        "left state",
        "right state",
        "value on the right",
        "then joined",
        "  outputs",
        "joined before",
        "  outputs",
    ]
    assert "OneSided is not consistent: C1, an update before a join" in str(caught.value)


def test_a_fork_that_gives_the_state_to_the_wrong_side_breaks_c1() -> None:
    class AlwaysLeft(KeyedCounters):
        def init(self) -> Any:
            return self.State(dict.fromkeys(range(64), 1))  # so that any read on the right misses some

        def fork(self, state: Any, left: Tags, right: Tags) -> Any:
            return state, self.State({})

    assert broken(AlwaysLeft(), examples=2 * EXAMPLES) == ["C1"]


def test_a_fork_that_gives_the_state_to_both_sides_breaks_c2() -> None:
    class Doubled(ValueBarrier):
        def fork(self, state: Any, left: Tags, right: Tags) -> Any:
            return state, self.State(state.sum)

    [violation] = find_violations(Doubled(), EVENTS, examples=EXAMPLES)
    assert violation.condition == "C2"
    example = dict(violation.example)
    assert example["tags on the left"] == example["tags on the right"] == "{value}"
    assert example["forked, left"] == example["forked, right"] == example["state"]


def test_a_dependence_that_was_forgotten_breaks_c3() -> None:
    class Forgetful(KeyedCounters):
        def depends(self, one: Tag, other: Tag) -> bool:
            return one == other and one.name == "read"

    violations = {each.condition: each for each in find_violations(Forgetful(), examples=EXAMPLES)}
    example = violations["C3"].example
    assert example[0] == ("state", "State(counts={})")
    assert {example[1][0].partition("(")[0], example[2][0].partition("(")[0]} == {"increment", "read"}
    assert dict(example)["in this order"] != dict(example)["the other way"]


def test_a_program_that_only_adds_may_say_so() -> None:
    class Additive(ValueBarrier):
        additive: ClassVar = ["value"]

    class Counters(KeyedCounters):
        additive: ClassVar = ["increment"]

    check_program(Additive(), EVENTS, examples=EXAMPLES)
    check_program(Counters(), examples=EXAMPLES)


def test_an_additive_tag_that_puts_something_out_is_found() -> None:
    class Loud(ValueBarrier):
        additive: ClassVar = ["value"]

        def update(self, state: Any, event: Value | Barrier, tag: Tag) -> Iterator[Sum]:
            yield from super().update(state, event, tag)
            if isinstance(event, Value):
                yield Sum(event.ts, event.value)

        def update_batch(self, state: Any, batch: Batch, tag: Tag) -> Any:
            return NotImplemented

    class Quiet(ValueBarrier):
        additive: ClassVar = ["value", "barrier"]

    assert broken(Loud(), EVENTS) == ["add"]
    assert broken(Quiet(), EVENTS) == ["add"]


def test_an_additive_tag_whose_empty_state_says_something_is_found() -> None:
    class Least(Program):
        class State(msgspec.Struct):
            least: float = 0.0

        tags: ClassVar = {"barriers": "barrier", "values": "value"}
        additive: ClassVar = ["value"]

        def depends(self, one: Tag, other: Tag) -> bool:
            return "barrier" in (one.name, other.name)

        def update(self, state: State, event: Value | Barrier, tag: Tag) -> Iterator[Sum]:
            if isinstance(event, Value):
                state.least = min(state.least, event.value)
            else:
                yield Sum(event.ts, state.least)
                state.least = 100.0  # what init() should be

        def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
            return state, self.State(state.least)

        def join(self, left: State, right: State) -> State:
            return self.State(min(left.least, right.least))

    [violation] = find_violations(Least(), EVENTS, examples=EXAMPLES)
    assert violation.condition == "add"
    assert [what for what, _ in violation.example] == ["state", "empty state", "joined"]
    assert "additive tags only add to a state" in str(violation)


def test_a_batch_that_does_something_else_is_found() -> None:
    class Most(ValueBarrier):
        def update_batch(self, state: Any, batch: Batch, tag: Tag) -> Any:
            if tag.name == "barrier":
                return NotImplemented
            state.sum += float(batch["value"].max())
            return None

    [violation] = find_violations(Most(), EVENTS, examples=EXAMPLES)
    assert violation.condition == "batch"
    assert "value, 2 rows" in dict(violation.example)


def test_a_state_that_msgpack_cannot_carry_is_found() -> None:
    class Strange(ValueBarrier):
        class State(msgspec.Struct):
            sum: float = 0.0
            seen: Any = None

        def init(self) -> Any:
            return self.State(0.0, 1j)

        def fork(self, state: Any, left: Tags, right: Tags) -> Any:
            return state, self.State(0.0, 1j)

    assert broken(Strange(), EVENTS, examples=10) == ["state"]


def test_an_array_that_cannot_travel_is_found_and_one_of_numbers_may_be_in_a_state() -> None:
    class Kept(ValueBarrier):
        class State(msgspec.Struct):
            sum: float = 0.0
            names: NDArray[Any] = msgspec.field(default_factory=lambda: np.array([1, 2]))

    class Named(Kept):
        def init(self) -> Any:
            return self.State(0.0, np.array(["a"]))

        def fork(self, state: Any, left: Tags, right: Tags) -> Any:
            return state, self.State(0.0, np.array(["a"]))

    assert broken(Kept(), EVENTS, examples=10) == []
    (found,) = find_violations(Named(), EVENTS, examples=10)
    assert found.condition == "state" and "<U1 array" in str(found)


def test_ticks_are_events_too_and_none_is_passed_over() -> None:
    class Ticked(ValueBarrier):
        tags: ClassVar = {"values": "value", "barrier": every("1s")}
        seen: ClassVar[set[int]] = set()

        def update(self, state: Any, event: Any, tag: Tag) -> Any:
            if isinstance(event, Tick):
                self.seen.add(event.time)
                return super().update(state, Barrier(event.time), tag)
            return super().update(state, event, tag)

    check_program(Ticked(), {"values": Value}, examples=EXAMPLES)
    assert 1000 in Ticked.seen and not [time for time in Ticked.seen if time % 1000]


def test_a_strategy_of_the_users_own_makes_the_events() -> None:
    class Positive(ValueBarrier):
        def update(self, state: Any, event: Any, tag: Tag) -> Any:
            if isinstance(event, Value) and event.value < 100:
                raise ValueError(event)
            return super().update(state, event, tag)

    large = st.builds(Value, st.just(0), st.integers(100, 200).map(float))
    check_program(Positive(), {"barriers": Barrier, "values": large}, examples=30)
    with pytest.raises(ValueError, match="Value"):
        check_program(Positive(), EVENTS, examples=30)


def test_equality_may_be_the_programs_own() -> None:
    class Rounded(ValueBarrier):
        def fork(self, state: Any, left: Tags, right: Tags) -> Any:
            return self.State(state.sum + 0.001), self.State()

        def same(self, one: Any, other: Any) -> bool:
            return abs(one.sum - other.sum) < 0.1

    assert "C2" not in broken(Rounded(), EVENTS)


def test_a_dependence_that_is_not_symmetric_is_a_configuration_error() -> None:
    class OneWay(KeyedCounters):
        def depends(self, one: Tag, other: Tag) -> bool:
            return one.name == "read"

    with pytest.raises(ConfigurationError, match="symmetric"):
        check_program(OneWay())


def test_a_program_that_is_written_wrongly_is_a_configuration_error_that_lists_all() -> None:
    class Wrong(ValueBarrier):
        def join(self, left: Any) -> Any:  # type: ignore[override]
            return left

        async def end(self, state: Any) -> None: ...

    with pytest.raises(ConfigurationError) as caught:
        check_program(Wrong(), EVENTS)
    assert [(each.where, each.message.split(":")[0]) for each in caught.value.problems] == [
        ("Wrong", "its end is an `async def`"),
        ("Wrong", "it defines join(left)"),
    ]


def test_inputs_whose_events_are_not_known_are_listed() -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_program(ValueBarrier())
    assert [problem.where for problem in caught.value.problems] == [
        "ValueBarrier.barriers",
        "ValueBarrier.values",
    ]


def test_a_hook_that_returns_a_state_is_told_so() -> None:
    class Returning(KeyedCounters):
        def update(self, state: Any, event: Operation, tag: Tag) -> Any:
            return state

    with pytest.raises(SchemaError, match="changed in place"):
        check_program(Returning(), {"events": Operation}, examples=10)


def test_examples_are_the_same_each_time() -> None:
    class Doubling(KeyedCounters):
        def join(self, left: Any, right: Any) -> Any:
            return self.State({key: 2 * count for key, count in (left.counts | right.counts).items()})

    first, second = (list(map(str, find_violations(Doubling(), examples=50))) for _ in range(2))
    assert first == second != []
    assert Read is not None
