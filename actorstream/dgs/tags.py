"""Tags: the part of an event that says what it depends on (dgs-flumina section 3.1). Values only, no decisions."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Tag(msgspec.Struct, frozen=True, order=True, gc=False):
    """What a program sees of an event when it says what depends on what: a name, and a key if it has one.

    A Struct, since `update` asks for `tag.name` once an event: 20 ns less than of a NamedTuple.
    """

    name: str
    key: int | str | None = None

    def __str__(self) -> str:
        return self.name if self.key is None else f"{self.name}({self.key})"


class ImplementationTag(NamedTuple):
    """A tag as it comes on one input stream; streams of one tag may be worked on apart if it does not depend on itself."""

    tag: Tag
    stream: str = ""

    def __str__(self) -> str:
        return f"{self.tag}@{self.stream}" if self.stream else str(self.tag)


def order_of(tag: ImplementationTag) -> tuple[str, bool, str, int, str]:
    """Sorts implementation tags the same way on every machine: by name, then key (numbers first), then stream."""
    key = tag.tag.key
    number = key if isinstance(key, int) else 0
    return (tag.tag.name, isinstance(key, str), key if isinstance(key, str) else "", number, tag.stream)
