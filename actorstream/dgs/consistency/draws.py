"""What random examples of a program are made of: events of its tags, independent predicates, and states that a run can
reach. Drawn by hypothesis, so that a failing example is made as small as it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from actorstream.dgs.consistency.conditions import Conditions
from actorstream.dgs.program import Program, Tags
from actorstream.dgs.states import Fork
from actorstream.dgs.tagging import Tagging, Tick
from actorstream.dgs.tags import Tag
from actorstream.events.event import Event
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.events.schema import Schema

KEYS = 3
"""So many different keys, or hash classes, are enough."""
CANDIDATES = 64
"""Values of a key among which one of each hash class is looked for."""
SOME = 4
"""So many tags or pairs of tags of a state are looked at in one example."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Draw = Callable[[st.SearchStrategy[Any]], Any]


class ReachableState(NamedTuple):
    """A state in the middle of a run: its type, the tags it may process, and the time up to which it has."""

    state: Any
    type: str
    tags: Tags
    time: int


class Forked(NamedTuple):
    """A fork, and the two wires that it makes."""

    fork: Fork
    sides: tuple[ReachableState, ReachableState]


class Draws:
    """Examples for one program.

    Args:
        events: input -> class of its events, or a strategy of them.
    """

    def __init__(self, program: Program, events: Mapping[str, Any]) -> None:
        self.program, self.conditions = program, Conditions(program)
        self.types = program.state_types()
        self.made: dict[Tag, list[st.SearchStrategy[Any]]] = {}
        self.units: list[int] = []
        for name, tagging in program.taggings().items():
            self._input(tagging, events[name])
        self.ticks = program.ticks()
        self.unit_ns = self.units[0] if self.units else 1_000_000
        self.tags: Tags = frozenset([*self.made, *self.ticks])

    def _input(self, tagging: Tagging, how: Any) -> None:
        if isinstance(how, st.SearchStrategy):
            for tag in tagging.tags(range(KEYS)):
                has: Any = partial(_has, tagging, tag)
                self.made.setdefault(tag, []).append(how.filter(has))
            return
        schema = Schema.of(how)
        self.units.append(schema.time_unit_ns)
        keys = _keys(tagging, schema)
        for key in list(keys)[:KEYS]:
            for name in tagging.names:
                fixed = {}
                if tagging.column:
                    values = [value for value, named in tagging.values.items() if named == name]
                    fixed[tagging.column] = st.sampled_from(values)
                if tagging.key:
                    fixed[tagging.key] = st.sampled_from(keys[key])
                self.made.setdefault(Tag(name, key), []).append(_events(schema, fixed))

    # -- events ---------------------------------------------------------------------------------------------------------

    def event(self, draw: Draw, tag: Tag, time: int) -> tuple[Any, int]:
        """An event of a tag at `time` or somewhat later, and its time. No tick lies between the two."""
        if tag in self.ticks:
            period, _ = self.ticks[tag].units(self.unit_ns)
            at = self.ticks[tag].between(time, time + period, self.unit_ns)[0]
            return Tick(at), at
        at = time + draw(st.integers(0, 3))
        for every in self.ticks.values():
            at = min([at, *(tick - 1 for tick in every.between(time, at, self.unit_ns))])
        event = draw(draw(one_of(tuple(self.made[tag]))))
        return _at(event, at), at

    def tag(self, draw: Draw, tags: Tags) -> Tag:
        return draw(one_of(tuple(sorted_tags(tags))))  # type: ignore[no-any-return]

    # -- predicates -----------------------------------------------------------------------------------------------------

    def predicates(self, draw: Draw, tags: Tags, fork: Fork) -> tuple[Tags, Tags] | None:
        """Two sets of these tags such that no tag of one depends on a tag of the other, and the types allow them; None:
        there are none. Neither is empty: no plan has a worker that handles nothing."""
        left, right = self.types.handles[fork.left], self.types.handles[fork.right]
        pairs = [
            pair
            for one, other in self.independent_pairs(tags)
            for pair in ((one, other), (other, one))
            if left(pair[0]) and right(pair[1])
        ]
        if not pairs:
            return None
        first = draw(one_of(tuple(pairs)))
        sides: tuple[set[Tag], set[Tag]] = ({first[0]}, {first[1]})
        for tag in sorted_tags(tags):
            may = [
                handles(tag) and self._independent(tag, sides[1 - at])
                for at, handles in enumerate((left, right))
            ]
            options: list[tuple[int, ...]] = [()]
            options += [(side,) for side in (0, 1) if may[side]]
            if all(may) and not self.program.depends(tag, tag):
                options.append((0, 1))
            for side in draw(one_of(tuple(options))) if len(options) > 1 else ():
                sides[side].add(tag)
        return frozenset(sides[0]), frozenset(sides[1])

    def some(self, draw: Draw, candidates: list[Any]) -> list[Any]:
        """A few of them, all if they are few."""
        if len(candidates) <= SOME:
            return candidates
        first = draw(st.integers(0, len(candidates) - 1))
        return (candidates[first:] + candidates[:first])[:SOME]

    def independent_pairs(self, tags: Tags) -> list[tuple[Tag, Tag]]:
        """The pairs of tags that do not depend on each other; a tag may be paired with itself."""
        ordered = sorted_tags(tags)
        pairs = [(one, other) for at, one in enumerate(ordered) for other in ordered[at:]]
        return [pair for pair in pairs if not self.program.depends(*pair)]

    def _independent(self, tag: Tag, others: set[Tag]) -> bool:
        return not any(self.program.depends(tag, other) for other in others)

    # -- states ---------------------------------------------------------------------------------------------------------

    def wire(self, draw: Draw) -> ReachableState:
        """A state that a run can reach: updates from the initial one, and perhaps some way down through forks."""
        wire = self.run(draw, ReachableState(self.program.init(), self.types.initial, self.tags, 0))
        for _ in range(draw(st.integers(0, 2))):
            made = self.forked(draw, wire)
            if made is None:
                break
            wire = self.run(draw, draw(st.sampled_from(made.sides)))
        return wire

    def run(self, draw: Draw, wire: ReachableState) -> ReachableState:
        """The wire after some events of its tags."""
        tags = frozenset(tag for tag in wire.tags if self.types.handles[wire.type](tag))
        state, time = wire.state, wire.time
        for _ in range(draw(st.integers(0, 6)) if tags else 0):
            tag = self.tag(draw, tags)
            event, time = self.event(draw, tag, time)
            state, _ = self.conditions.update(state, event, tag)
        return wire._replace(state=state, time=time)

    def forked(self, draw: Draw, wire: ReachableState) -> Forked | None:
        """A fork of a state; None: there is none for its type and tags."""
        forks = self.types.forks_of(wire.type)
        fork = draw(one_of(tuple(forks))) if forks else None
        tags = None if fork is None else self.predicates(draw, wire.tags, fork)
        if fork is None or tags is None:
            return None
        left, right = self.conditions.fork(fork, wire.state, *tags)
        sides = (
            ReachableState(left, fork.left, tags[0], wire.time),
            ReachableState(right, fork.right, tags[1], wire.time),
        )
        return Forked(fork, sides)


@lru_cache
def one_of(options: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """One strategy for equal options, which hypothesis checks and labels once."""
    return st.sampled_from(options)


def sorted_tags(tags: Tags) -> list[Tag]:
    """Tags in an order that does not depend on hashes."""
    return sorted(tags, key=lambda tag: (tag.name, str(type(tag.key)), tag.key if tag.key is not None else 0))


def _has(tagging: Tagging, tag: Tag, event: Event) -> bool:
    return tagging.tag_of(event) == tag


def _keys(tagging: Tagging, schema: Schema) -> dict[Any, list[Any]]:
    """The key of a tag -> values of the key field that make it."""
    if not tagging.key:
        return {None: []}
    texts = schema.field(tagging.key).kind not in INTEGERS
    values: Sequence[Any] = [f"k{number}" if texts else number for number in range(CANDIDATES)]
    if tagging.keys is not None:
        values = tagging.keys[:CANDIDATES]
    elif schema.field(tagging.key).categories:
        values = schema.field(tagging.key).categories
    elif not tagging.classes:
        values = values[:KEYS]
    found: dict[Any, list[Any]] = {}
    for value in values:
        found.setdefault(tagging.tag(tagging.names[0], value).key, []).append(value)
    return {key: values[:2] for key, values in found.items()}


def _events(schema: Schema, fixed: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    made = {
        field.name: fixed[field.name] if field.name in fixed else _values(field) for field in schema.fields
    }
    return st.builds(schema.event_class(), **made)


def _values(field: Field) -> st.SearchStrategy[Any]:
    """Small values of a field; floats that add without rounding."""
    found: st.SearchStrategy[Any]
    if field.categories:
        found = st.sampled_from(field.categories)
    elif field.kind in INTEGERS:
        found = st.integers(0 if field.kind.value.startswith("u") else -20, 20)
    elif field.kind in FLOATS:
        found = st.integers(-40, 40).map(lambda number: number / 4)
    elif field.kind is Kind.BOOL:
        found = st.booleans()
    elif field.kind is Kind.DATETIME:
        found = st.integers(0, 100).map(lambda number: EPOCH + timedelta(seconds=number))
    elif field.kind is Kind.STRING:
        found = st.text("ab", max_size=3)
    elif field.kind is Kind.BYTES:
        found = st.binary(max_size=3)
    else:
        found = st.from_type(field.annotation)
    return st.none() | found if field.nullable else found


def _at(event: Event, time: int) -> Event:
    """The event with another time."""
    name = Schema.of(type(event)).event_time
    if name is None:
        return event
    is_datetime = isinstance(getattr(event, name), datetime)
    value: Any = EPOCH + timedelta(microseconds=time) if is_datetime else time
    return msgspec.structs.replace(event, **{name: value})
