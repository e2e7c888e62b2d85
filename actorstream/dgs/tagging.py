"""Taggings: which tag a row of an input has, told by columns; and ticks. Declarations, with the one rule of hash classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from actorstream.dgs.tags import Tag
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.event import Event
from actorstream.native.kernels import hash_bytes, hash_int, key_group
from actorstream.topology.quantities import parse_duration

Key = int | str


class Tagging(msgspec.Struct, frozen=True):
    """How rows of one input map to tags; made by `by`, `keyed`, or from a tag's name.

    Attributes:
        names: the names that its tags can have, in order.
        column: the field that tells the name; "": all rows have the only one.
        values: value of that field -> name.
        key: the field that is the tags' key; "": they have none.
        keys: all keys there are, if they are listed.
        classes: how many classes keys are hashed to, 0: each key is a tag of its own. Without `keys` and `classes` the
            keys are found by reading the input before the plan is made.
        modulo: the class of a key, an integer, is its remainder, not by its hash.
    """

    names: tuple[str, ...]
    column: str = ""
    values: Mapping[Any, str] = {}
    key: str = ""
    keys: tuple[Key, ...] | None = None
    classes: int = 0
    modulo: bool = False

    @property
    def listed(self) -> bool:
        """Whether its tags are known without reading the input."""
        return not self.key or self.keys is not None or self.classes > 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields it reads."""
        return tuple(name for name in (self.column, self.key) if name)

    def tags(self, found: Iterable[Key] = ()) -> tuple[Tag, ...]:
        """Every tag a row can have. `found`: the keys, where they are not listed."""
        if not self.key:
            return tuple(Tag(name) for name in self.names)
        keys = range(self.classes) if self.classes else found if self.keys is None else self.keys
        return tuple(Tag(name, key) for key in keys for name in self.names)

    def tag(self, name: str, key: Any = None) -> Tag:
        """The tag of that name with this key, or of its hash class; the key is left out if its tags have none."""
        if not self.key:
            return Tag(name)
        return Tag(name, key_class(key, self.classes, self.modulo) if self.classes else key)

    def __str__(self) -> str:
        """What a row's tag follows from; not which keys there are."""
        told = ", ".join(self.names)
        if self.column:
            told = f"{self.column}: " + ", ".join(
                f"{value!r} is {name}" for value, name in self.values.items()
            )
        if not self.key:
            return told
        how = f" {'modulo' if self.modulo else 'in'} {self.classes}" if self.classes else ""
        return f"{told} by {self.key}{how}"

    def tag_of(self, event: Event) -> Tag:
        """The tag of an event of this input. KeyError if its column has a value without a name."""
        name = self.values[getattr(event, self.column)] if self.column else self.names[0]
        return self.tag(name, getattr(event, self.key) if self.key else None)


class Every(msgspec.Struct, frozen=True):
    """Ticks: events at `offset` since the epoch and each multiple of `period` before and after it.

    They lie after the first row of all streams and not after the last of all. A tick precedes all other events of its
    time.
    """

    period: timedelta
    offset: timedelta = timedelta(0)

    def __str__(self) -> str:
        return f"every {self.period}" + (f", offset {self.offset}" if self.offset else "")

    def units(self, unit_ns: int) -> tuple[int, int]:
        """Period and offset in units of the event time, of `unit_ns` nanoseconds; the period is at least 1."""
        period, offset = (
            each // timedelta(microseconds=1) * 1000 // unit_ns for each in (self.period, self.offset)
        )
        return max(1, period), offset

    def between(self, first: int, last: int, unit_ns: int) -> range:
        """The times of ticks t with first < t <= last."""
        period, offset = self.units(unit_ns)
        start = (first - offset) // period * period + period + offset
        return range(start, last + 1, period)


class Tick(Event):
    """What `update` gets at a tick. `time` is in the unit of the inputs' event time."""

    time: int


def by(
    column: str,
    values: Mapping[Any, str] | Sequence[str],
    *,
    key: str = "",
    keys: Iterable[Key] | None = None,
    classes: int = 0,
) -> Tagging:
    """The field `column` tells the tag's name: by its value, or its values are the names. With `key`, a further field is
    the tag's key: one of `keys`, or hashed to one of so many `classes`, or any that a scan of the input finds."""
    named = dict(values) if isinstance(values, Mapping) else {name: name for name in values}
    return _checked(Tagging(tuple(dict.fromkeys(named.values())), column, named, key, _tuple(keys), classes))


def keyed(
    name: str, key: str, *, keys: Iterable[Key] | None = None, classes: int = 0, modulo: bool = False
) -> Tagging:
    """All rows have the tag `name` with the field `key` as its key; `keys` and `classes` as for `by`. With `modulo` the
    class of a key, which is an integer then, is its remainder: successive numbers are dealt to the classes in turn."""
    return _checked(Tagging((name,), key=key, keys=_tuple(keys), classes=classes, modulo=modulo))


def every(period: str | timedelta, *, offset: str | timedelta = "0s") -> Every:
    """Ticks of this period, "1h" or a timedelta: more than 0; at its multiples since the epoch, moved by `offset`."""
    try:
        made = Every(*(parse_duration(each) if isinstance(each, str) else each for each in (period, offset)))
    except ValueError as error:
        raise ConfigurationError(Problem("every", str(error))) from None
    if made.period <= timedelta(0):
        raise ConfigurationError(Problem("every", f"the period is {period!r}", 'more than 0, such as "1h"'))
    return made


def tagging_of(how: str | Tagging) -> Tagging:
    """What `tags` of a program says of an input; a text is the tag of all its rows."""
    return Tagging((how,)) if isinstance(how, str) else how


def key_class(key: Any, classes: int, modulo: bool = False) -> int:
    """The class of a key, by its hash unless `modulo`: the same in every process, and for a column as for its values
    one by one."""
    if modulo:
        return int(key % classes)
    hashed = (
        hash_int(key) if isinstance(key, int) else hash_bytes(key.encode() if isinstance(key, str) else key)
    )
    return key_group(hashed, classes)


def _tuple(keys: Iterable[Key] | None) -> tuple[Key, ...] | None:
    return None if keys is None else tuple(dict.fromkeys(keys))


def _checked(tagging: Tagging) -> Tagging:
    problems = []
    if not tagging.names or not all(tagging.names):
        problems.append(
            Problem("tags", "a tagging has no names", 'by("op", {"i": "increment", "r": "read"})')
        )
    if tagging.classes < 0 or tagging.classes > 32768:
        problems.append(Problem("tags", f"classes is {tagging.classes}", "0 to 32768"))
    if not tagging.key and (tagging.keys is not None or tagging.classes):
        problems.append(Problem("tags", "has keys or classes without `key`", "the field that holds the key"))
    if tagging.modulo and not tagging.classes:
        problems.append(Problem("tags", "is modulo without `classes`", "how many classes there are"))
    if tagging.keys is not None and (tagging.classes or not tagging.keys):
        problems.append(
            Problem("tags", f"keys are {tagging.keys!r}, classes {tagging.classes}", "one of the two")
        )
    if problems:
        raise ConfigurationError(problems)
    return tagging
