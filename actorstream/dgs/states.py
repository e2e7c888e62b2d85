"""The state types of a program, and between which of them it can fork and join (dgs-flumina Definition 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from actorstream.dgs.tags import ImplementationTag, Tag

Handles = Callable[[Tag], bool]


class Fork(NamedTuple):
    """A fork of a state of type `whole` into two, and the join that undoes it."""

    whole: str
    left: str
    right: str


def everything(tag: Tag) -> bool:
    """The predicate of a state type that can process every event."""
    return True


class StateTypes(msgspec.Struct, frozen=True):
    """Types by name with their predicates, the type of the initial state, and the fork-join pairs in order of preference.

    Most programs have one type that handles everything and forks into itself twice: the default.
    """

    handles: Mapping[str, Handles] = msgspec.field(default_factory=lambda: {"State": everything})
    initial: str = "State"
    forks: tuple[Fork, ...] = (Fork("State", "State", "State"),)

    def can(self, state: str, tags: Iterable[ImplementationTag]) -> bool:
        """Whether a state of this type can process events of all these tags."""
        handles = self.handles[state]
        return all(handles(each.tag) for each in tags)

    def adds(self, whole: str, part: str) -> Fork | None:
        """The fork whose join adds a state of type `part` to one of type `whole` and answers one of that type; None:
        there is none."""
        return next((each for each in self.forks_of(whole) if each[1:] == (whole, part)), None)

    def forks_of(self, state: str) -> list[Fork]:
        """The forks of a state of this type, in the program's order of preference."""
        return [each for each in self.forks if each.whole == state]
