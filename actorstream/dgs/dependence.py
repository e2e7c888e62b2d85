"""The dependence relation over the implementation tags of a run, as a graph (dgs-flumina Definition 2.1, appendix B)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations_with_replacement

from actorstream.dgs.tags import ImplementationTag, Tag, order_of
from actorstream.errors import ConfigurationError, Problem

Depends = Callable[[Tag, Tag], bool]


class Dependence:
    """Which implementation tags depend on which. Immutable.

    Args:
        tags: all that can come; each once.
        depends: the program's relation; it must be symmetric.
        program: its name, for errors.

    Raises:
        ConfigurationError: `depends` answers differently for (a, b) and (b, a): names each such pair once; or
            it answers None.
    """

    def __init__(self, tags: Iterable[ImplementationTag], depends: Depends, program: str = "program") -> None:
        self.tags: tuple[ImplementationTag, ...] = tuple(sorted(set(tags), key=order_of))
        self._between = _related({each.tag for each in self.tags}, depends, program)
        self._near = {
            tag: frozenset(other for other in self.tags if other != tag and self.depends(tag, other))
            for tag in self.tags
        }

    def depends(self, one: ImplementationTag, other: ImplementationTag) -> bool:
        """Whether events of the two must be worked on in their order."""
        return frozenset((one.tag, other.tag)) in self._between

    def on(self, tag: ImplementationTag) -> frozenset[ImplementationTag]:
        """The other implementation tags that depend on this one."""
        return self._near[tag]

    def between(
        self, some: Iterable[ImplementationTag], others: Iterable[ImplementationTag]
    ) -> tuple[ImplementationTag, ImplementationTag] | None:
        """A pair, one of each, that depends on each other or is the same; None: the two are independent."""
        far = frozenset(others)
        for tag in sorted(some, key=order_of):
            if tag in far:
                return tag, tag
            if not far.isdisjoint(self._near[tag]):
                return tag, min(far & self._near[tag], key=order_of)
        return None

    def components(self, tags: Iterable[ImplementationTag]) -> list[frozenset[ImplementationTag]]:
        """The groups of these tags between which nothing depends on anything, by their least tag."""
        left = set(tags)
        found = []
        for first in sorted(left, key=order_of):
            if first not in left:
                continue
            left.discard(first)
            group, edge = {first}, [first]
            while edge:
                reached = self._near[edge.pop()] & left
                left -= reached
                group |= reached
                edge += reached
            found.append(frozenset(group))
        return found


def _related(tags: set[Tag], depends: Depends, program: str) -> frozenset[frozenset[Tag]]:
    ordered = sorted(tags, key=lambda tag: order_of(ImplementationTag(tag)))
    found, problems = set(), []
    for one, other in combinations_with_replacement(ordered, 2):
        answers = depends(one, other), depends(other, one)
        there, back = map(bool, answers)
        if None in answers:
            problems.append(
                Problem(
                    f"{program}.depends",
                    f"depends({one}, {other}) is None",
                    "True or False",
                    "return one of them in each case",
                )
            )
            break  # the same is true of more pairs
        if there != back:
            problems.append(
                Problem(
                    f"{program}.depends",
                    f"depends({one}, {other}) is {there}, depends({other}, {one}) is {back}",
                    "a symmetric relation: the same answer both ways round",
                    "two events can be worked on in parallel, or they cannot; it does not matter which is named first",
                )
            )
        elif there:
            found.add(frozenset((one, other)))
    if problems:
        raise ConfigurationError(problems)
    return frozenset(found)
