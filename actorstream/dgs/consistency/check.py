"""`check_program` itself: each condition on many random examples, and the least that breaks it."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from actorstream.dgs.consistency.conditions import InconsistentError, Violation
from actorstream.dgs.consistency.draws import Draw, Draws, ReachableState, sorted_tags
from actorstream.dgs.dependence import Dependence
from actorstream.dgs.loading import problems_of
from actorstream.dgs.program import Program, _hints
from actorstream.dgs.tags import ImplementationTag
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.event import Event


class _Found(Exception):
    """Ends an example that breaks a condition; hypothesis then looks for smaller ones."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class _FoundFirst(BaseException):
    """Ends all examples at once: hypothesis looks for none that is smaller, as it does for an Exception."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


def check_program(program: Program, events: Mapping[str, Any] | None = None, *, examples: int = 200) -> None:
    """Tests that a program is consistent: C1, C2 and C3 of Definition 2.3 over all its forks and random independent
    predicates, on states that runs reach; that `additive` tags only add; that `update_batch` does what `update` does; that
    states survive msgpack.

    Args:
        program: an instance, as its actor's keys make it.
        events: input -> the class of its events, or a hypothesis strategy of them. Without it, classes are taken from
            the annotation of `update`: the one class of events there, for all inputs.
        examples: how many of each condition. The same each time.

    Raises:
        InconsistentError: with a smallest example for each condition that does not hold.
        ConfigurationError: the program is written wrongly, such as a `depends` that is not symmetric, or an input's
            events are not known.
    """
    violations = find_violations(program, events, examples=examples)
    if violations:
        raise InconsistentError(violations)


def find_violations(
    program: Program, events: Mapping[str, Any] | None = None, *, examples: int = 200
) -> list[Violation]:
    """As `check_program`: an example for each condition that is broken; none: it looks consistent.

    An exception of the program's own code is raised as it is, from the smallest example."""
    wrong = [replace(each, where=type(program).__name__) for each in problems_of(program, {})]
    if wrong:
        raise ConfigurationError(wrong)
    draws = Draws(program, _events_of(program, events))
    Dependence([ImplementationTag(tag) for tag in draws.tags], program.depends, type(program).__name__)
    if _violation(draws, tuple(_EXAMPLES), examples, _FoundFirst) is None:
        return []
    found = [_violation(draws, (condition,), examples, _Found) for condition in _EXAMPLES]
    return [violation for violation in found if violation is not None]


def _violation(
    draws: Draws, conditions: tuple[str, ...], examples: int, end: type[_Found | _FoundFirst]
) -> Violation | None:
    """An example that breaks one of the conditions: the first, or the smallest."""

    @settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(_examples(draws, conditions))
    def run(violation: Violation | None) -> None:
        if violation is not None:
            raise end(violation)

    try:
        run()
    except (_Found, _FoundFirst) as found:
        return found.violation
    return None


@st.composite
def _examples(draw: Draw, draws: Draws, conditions: tuple[str, ...]) -> Violation | None:
    """A violation of one of the conditions in a random state, if it is one."""
    wire = draws.wire(draw)
    for condition in conditions:
        violation = _EXAMPLES[condition](draws, draw, wire)
        if violation is not None:
            return violation
    return None


def _c1(draws: Draws, draw: Draw, wire: ReachableState) -> Violation | None:
    made = draws.forked(draw, wire)
    if made is None:
        return None
    left, right = (draws.run(draw, side) for side in made.sides)
    for side in (left, right):
        for tag in draws.some(draw, sorted_tags(side.tags)):
            event, _ = draws.event(draw, tag, side.time)
            violation = draws.conditions.c1(made.fork, left.state, right.state, event, tag, side is left)
            if violation is not None:
                return violation
    return None


def _c2(draws: Draws, draw: Draw, wire: ReachableState) -> Violation | None:
    made = draws.forked(draw, wire)
    if made is None:
        return None
    return draws.conditions.c2(made.fork, wire.state, *(side.tags for side in made.sides))


def _c3(draws: Draws, draw: Draw, wire: ReachableState) -> Violation | None:
    for one, other in draws.some(draw, draws.independent_pairs(wire.tags)):
        first, _ = draws.event(draw, one, wire.time)
        second, _ = draws.event(draw, other, wire.time)
        violation = draws.conditions.c3(wire.state, (first, one), (second, other))
        if violation is not None:
            return violation
    return None


def _add(draws: Draws, draw: Draw, wire: ReachableState) -> Violation | None:
    for fork in draws.types.forks_of(wire.type):
        tags = frozenset(
            tag for tag in wire.tags if draws.program.adds(tag) and draws.types.handles[fork.right](tag)
        )
        if fork.left != fork.whole or not tags:
            continue
        empty = ReachableState(draws.program.state_class(fork.right)(), fork.right, tags, wire.time)
        violation = draws.conditions.add(fork, wire.state, empty.state, None, None)
        part = draws.run(draw, empty)
        for tag in draws.some(draw, sorted_tags(tags)):
            event, _ = draws.event(draw, tag, part.time)
            violation = violation or draws.conditions.add(fork, wire.state, part.state, event, tag)
        if violation is not None:
            return violation
    return None


def _batch(draws: Draws, draw: Draw, wire: ReachableState) -> Violation | None:
    if not wire.tags or not hasattr(draws.program, "update_batch"):
        return None
    tag = draws.tag(draw, wire.tags)
    events, time = [], wire.time
    for _ in range(draw(st.integers(1, 5))):
        event, time = draws.event(draw, tag, time)
        events.append(event)
    same_class = [event for event in events if type(event) is type(events[0])]
    return draws.conditions.batch(wire.state, same_class, tag)


def _state(draws: Draws, draw: Draw, wire: ReachableState) -> Violation | None:
    return draws.conditions.state(wire.state, wire.type)


_EXAMPLES: dict[str, Callable[[Draws, Draw, ReachableState], Violation | None]] = {
    "C1": _c1,
    "C2": _c2,
    "C3": _c3,
    "add": _add,
    "batch": _batch,
    "state": _state,
}


def _events_of(program: Program, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The class or strategy of each input's events."""
    found = dict(given or {})
    annotated = _event_classes(_hints(type(program), "update").get("event"))
    problems = []
    for name in program.taggings():
        if name not in found and len(annotated) == 1:
            found[name] = annotated[0]
        elif name not in found:
            problems.append(
                Problem(
                    f"{type(program).__name__}.{name}",
                    "the class of its events is not known",
                    "an Event class for each input",
                    f'check_program(program, {{"{name}": EventClass, ...}})',
                )
            )
    if problems:
        raise ConfigurationError(problems)
    return found


def _event_classes(annotation: Any) -> list[Any]:
    from actorstream.dgs.tagging import Tick

    parts = typing.get_args(annotation) or (annotation,)
    return [
        each
        for each in parts
        if inspect.isclass(each) and issubclass(each, Event) and each not in (Event, Tick)
    ]
