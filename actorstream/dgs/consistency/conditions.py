"""The conditions that make a program's parallel runs equal its sequential one, for given states and events
(dgs-flumina Definition 2.3). Pure; where states and events come from is the business of those who test.
"""

from __future__ import annotations

import dataclasses
import math
from copy import copy, deepcopy
from typing import Any

import msgspec
import numpy as np

from actorstream.dgs.outputs import Gathering, Output
from actorstream.dgs.program import Program, Tags
from actorstream.dgs.state_bytes import packed, unpacked
from actorstream.dgs.state_classes import StateClasses
from actorstream.dgs.states import Fork
from actorstream.dgs.tagging import Tick
from actorstream.dgs.tags import ImplementationTag, Tag, order_of
from actorstream.errors import ActorstreamError, DataError
from actorstream.events.batch import Batch
from actorstream.events.event import Event

ATOMS = frozenset({bool, int, float, str, bytes, type(None)})
"""Values that nobody can change."""
CONDITIONS = {
    "C1": "an update before a join is the update after it: join(update(s1, e), s2) = update(join(s1, s2), e)",
    "C2": "joining what was just forked changes nothing: join(fork(s, left, right)) = s",
    "C3": "updates of independent events commute: update(update(s, e1), e2) = update(update(s, e2), e1)",
    "add": "additive tags only add to a state: join(s, State()) = s, join(s, update(a, e)) = update(join(s, a), e) for a made "
    "of them alone, and no outputs",
    "batch": "update_batch does what update does with each of its rows",
    "state": "a state travels between workers as msgpack, and is the same afterwards",
}
"""Name -> what must hold. The first three are the paper's."""


class Violation(msgspec.Struct, frozen=True):
    """An example for which a condition does not hold, in the terms of the program.

    Attributes:
        condition: one of CONDITIONS.
        example: what -> how it looks, in the order in which it happened.
    """

    program: str
    condition: str
    example: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(what) for what, _ in self.example)
        lines = [f"  {what:<{width}}  {how}" for what, how in self.example]
        return "\n".join(
            [f"{self.program} is not consistent: {self.condition}, {CONDITIONS[self.condition]}", *lines]
        )


class InconsistentError(ActorstreamError):
    """A program does not keep the conditions of Definition 2.3. `violations`: an example for each that it breaks."""

    def __init__(self, violations: list[Violation]) -> None:
        super().__init__("\n\n".join(map(str, violations)))
        self.violations = violations


class Conditions:
    """Asks one program. States that are given to a method are not changed by it."""

    def __init__(self, program: Program) -> None:
        self.program, self.name = program, type(program).__name__
        self._gathering, self._states = Gathering(program), StateClasses(program)

    def update(self, state: Any, event: Event, tag: Tag) -> tuple[Any, list[Output]]:
        """The state after an event, a new one, and what the update put out."""
        state = copied(state)
        return state, self._gathering.take(self.program.update(state, event, tag))

    def fork(self, fork: Fork, state: Any, left: Tags, right: Tags) -> tuple[Any, Any]:
        """Two new states."""
        answer = self.program.functions(fork)[0](copied(state), left, right)
        one, other = self._states.forked(fork, answer)
        self._gathering.take()
        return copied(one), copied(other)

    def join(self, fork: Fork, left: Any, right: Any) -> Any:
        """A new state."""
        joined = copied(
            self._states.joined(fork, self.program.functions(fork)[1](copied(left), copied(right)))
        )
        self._gathering.take()
        return joined

    # -- the conditions: an example that breaks it, or None --------------------------------------------------------------

    def c1(
        self, fork: Fork, left: Any, right: Any, event: Event, tag: Tag, on_left: bool
    ) -> Violation | None:
        """An event on one of the two states of a fork."""
        own, put = self.update(left if on_left else right, event, tag)
        before = self.join(fork, own, right) if on_left else self.join(fork, left, own)
        joined = self.join(fork, left, right)
        after, put_after = self.update(joined, event, tag)
        if self.same(before, after) and self.same_outputs(put, put_after):
            return None
        example = [
            ("left state", left),
            ("right state", right),
            (f"{tag} on the {'left' if on_left else 'right'}", event),
            ("then joined", before),
            ("  outputs", put),
            ("joined before", after),
            ("  outputs", put_after),
        ]
        return self._violation("C1", example)

    def c2(self, fork: Fork, state: Any, left: Tags, right: Tags) -> Violation | None:
        """A fork, and the join that undoes it."""
        one, other = self.fork(fork, state, left, right)
        joined = self.join(fork, one, other)
        if self.same(joined, state):
            return None
        example = [
            ("state", state),
            ("tags on the left", left),
            ("tags on the right", right),
            ("forked, left", one),
            ("forked, right", other),
            ("joined", joined),
        ]
        return self._violation("C2", example)

    def c3(self, state: Any, one: tuple[Event, Tag], other: tuple[Event, Tag]) -> Violation | None:
        """Two independent events in either order."""
        first, put = self._both(state, one, other)
        second, put_second = self._both(state, other, one)
        if self.same(first, second) and self.same_outputs(put, put_second):
            return None
        example = [
            ("state", state),
            (str(one[1]), one[0]),
            (str(other[1]), other[0]),
            ("in this order", first),
            ("  outputs", put),
            ("the other way", second),
            ("  outputs", put_second),
        ]
        return self._violation("C3", example)

    def add(
        self, fork: Fork, state: Any, part: Any, event: Event | None, tag: Tag | None
    ) -> Violation | None:
        """An event of an additive tag on a part, made by such events of an empty state, that is joined to a state; no
        event: the part is empty."""
        join = ("joined", self.join(fork, state, part))
        if event is None or tag is None:
            if self.same(join[1], state):
                return None
            return self._violation("add", [("state", state), ("empty state", part), join])
        own, put = self.update(part, event, tag)
        before = self.join(fork, state, own)
        after, put_after = self.update(join[1], event, tag)
        if not put and not put_after and self.same(before, after):
            return None
        example = [
            ("state", state),
            ("part", part),
            (str(tag), event),
            ("then joined", before),
            ("  outputs", put),
            ("joined before", after),
            ("  outputs", put_after),
        ]
        return self._violation("add", example)

    def batch(self, state: Any, events: list[Event], tag: Tag) -> Violation | None:
        """Successive events of one tag, as a batch and one by one."""
        if not hasattr(self.program, "update_batch") or isinstance(events[0], Tick):
            return None
        whole = copied(state)
        answer = self.program.update_batch(whole, Batch.of_events(type(events[0]), list(events)), tag)
        if answer is NotImplemented:
            self._gathering.take()
            return None
        put = self._gathering.take(answer)
        single, put_singly = copied(state), []
        for event in events:
            put_singly += self._gathering.take(self.program.update(single, event, tag))
        if self.same(whole, single) and self.same_outputs(put, put_singly):
            return None
        example = [
            ("state", state),
            (f"{tag}, {len(events)} rows", events),
            ("as a batch", whole),
            ("  outputs", put),
            ("one by one", single),
            ("  outputs", put_singly),
        ]
        return self._violation("batch", example)

    def state(self, state: Any, type_name: str) -> Violation | None:
        """A state as bytes and back, as it goes to another process."""
        try:
            back: Any = unpacked(self.program.state_class(type_name), packed(state, self.name))
        except (DataError, NotImplementedError, msgspec.DecodeError) as error:
            return self._violation("state", [("state", state), ("error", error)])
        if self.same(back, state):
            return None
        return self._violation("state", [("state", state), ("came back as", back)])

    # -- inside ---------------------------------------------------------------------------------------------------------

    def same(self, one: Any, other: Any) -> bool:
        """Whether two states are equal: as the program's `same` says, else value by value, floats to nine digits."""
        own = getattr(self.program, "same", None)
        return bool(own(one, other)) if own is not None else same(one, other)

    @staticmethod
    def same_outputs(one: list[Output], other: list[Output]) -> bool:
        """Whether two lists have the same outputs, whatever their order."""
        left = list(other)
        for each in one:
            at = next((place for place, candidate in enumerate(left) if same(each, candidate)), None)
            if at is None:
                return False
            del left[at]
        return not left

    def _both(
        self, state: Any, first: tuple[Event, Tag], then: tuple[Event, Tag]
    ) -> tuple[Any, list[Output]]:
        state, put = self.update(state, *first)
        state, more = self.update(state, *then)
        return state, put + more

    def _violation(self, condition: str, example: list[tuple[str, Any]]) -> Violation:
        return Violation(self.name, condition, tuple((what, shown(value)) for what, value in example))


def copied(value: Any) -> Any:
    """A copy of a state, part by part, as msgpack would make it: what two parts share is copied twice. Five times as
    fast as `deepcopy`, which is left to do what is of no class that states are usually made of."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind in (list, tuple):
        return kind(value) if ATOMS.issuperset(map(type, value)) else kind(map(copied, value))
    if kind is dict:
        return {key: copied(each) for key, each in value.items()}
    if kind is np.ndarray and value.dtype.kind != "O":
        return value.copy()
    if isinstance(value, msgspec.Struct):
        made = copy(value)
        for name in value.__struct_fields__:
            before = getattr(value, name)
            if type(before) not in ATOMS:
                msgspec.structs.force_setattr(made, name, copied(before))
        return made
    return deepcopy(value)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, part by part; floats to nine digits, arrays by their values."""
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            return False
        is_float = one.dtype.kind == "f"
        return bool(
            np.allclose(one, other, rtol=1e-9, equal_nan=True) if is_float else np.array_equal(one, other)
        )
    if type(one) is not type(other):
        return bool(one == other)
    if isinstance(one, msgspec.Struct) and "__eq__" not in vars(type(one)):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    if dataclasses.is_dataclass(one):
        return all(
            same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        if ATOMS.issuperset(map(type, one)) and one == other:
            return True
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def shown(value: Any) -> str:
    """A value of an example as a line of text."""
    if isinstance(value, frozenset):
        tags = sorted(value, key=lambda tag: order_of(ImplementationTag(tag)))
        return "{" + ", ".join(map(str, tags)) + "}"
    if isinstance(value, list) and value and isinstance(value[0], Output):
        return ", ".join(
            str(each.event) if each.to == "default" else f"{each.event} to {each.to}" for each in value
        )
    if isinstance(value, list) and not value:
        return "none"
    return str(value) if isinstance(value, Exception) else repr(value)
