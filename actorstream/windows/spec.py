"""What a `window = {...}` table of a topology says, in units of the input's event time. Pure; keeps no rows.

`parse_window` finds everything that is wrong with a table at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import msgspec

from actorstream.errors import Problem
from actorstream.events.schema import TIME_UNITS
from actorstream.topology.quantities import parse_nanoseconds
from actorstream.topology.suggestions import did_you_mean, listed

WINDOW_ALLOWED = 'a table such as { type = "tumbling", size = "10s" }'
WindowTable = Annotated[dict[str, Any], msgspec.Meta(description=WINDOW_ALLOWED)]
"""The key `window` of an operator, as a topology says it."""
TUMBLING, SLIDING, SESSION, COUNT = "tumbling", "sliding", "session", "count"

REQUIRED: dict[str, tuple[str, ...]] = {
    TUMBLING: ("size",),
    SLIDING: ("size", "slide"),
    SESSION: ("gap",),
    COUNT: ("size",),
}
"""Window type -> the keys it must have."""

OPTIONAL: dict[str, tuple[str, ...]] = {
    TUMBLING: ("offset", "allowed_lateness"),
    SLIDING: ("offset", "allowed_lateness"),
    SESSION: ("allowed_lateness",),
    COUNT: (),
}
"""Window type -> further keys it may have."""

LONGEST = 1 << 60
"""Units a duration may at most have, so that no window end passes 64 bits."""


class WindowSpec(msgspec.Struct, frozen=True):
    """One window definition. Durations are in units of event time; `size` of a count window is rows.

    Attributes:
        type: "tumbling", "sliding", "session" or "count".
        size, slide: of tumbling (both the same) and sliding windows; `size` of count windows.
        gap: of sessions: an event exactly one gap after another still belongs to its session.
        offset: windows start at multiples of `slide` plus this.
        lateness: how long after its end a window still takes rows.
    """

    type: str
    size: int = 0
    slide: int = 0
    gap: int = 0
    offset: int = 0
    lateness: int = 0

    @property
    def timed(self) -> bool:
        """Whether event time decides which rows belong together."""
        return self.type != COUNT


def units_of(value: Any, unit: str) -> int | str:
    """`value` (a timedelta, text such as "10s", or a whole number of units) in units of event time, or what is wrong
    with it, as text that follows the value."""
    if isinstance(value, bool):
        return "is not a duration"
    if isinstance(value, int):
        return value if -LONGEST <= value <= LONGEST else "is too long"
    if isinstance(value, str):
        negative = value.strip().startswith("-")
        try:
            nanoseconds = parse_nanoseconds(value.strip().removeprefix("-"))
        except ValueError:
            return "is not a duration"
        nanoseconds = -nanoseconds if negative else nanoseconds
    elif isinstance(value, timedelta):
        nanoseconds = value // timedelta(microseconds=1) * 1000
    else:
        return "is not a duration"
    units, rest = divmod(nanoseconds, TIME_UNITS[unit])
    if rest:
        return f"is not a whole number of {unit}, the unit of the input's event time"
    return units if -LONGEST <= units <= LONGEST else "is too long"


def parse_window(
    table: Any, unit: str, allowed_lateness: Any = None, *, where: str = "window"
) -> tuple[WindowSpec | None, list[Problem]]:
    """The window that `table` describes, or None with everything that is wrong with it.

    Args:
        table: `type` and the keys of that type; durations as text, timedelta, or whole units of event time.
        unit: "s", "ms", "us" or "ns", of the input's event time.
        allowed_lateness: as the actor's own key; it may stand in the table instead.
        where: path of the table in the actor's keys.
    """
    problems: list[Problem] = []
    if not isinstance(table, Mapping):
        return None, [Problem(where, f"is {table!r}", WINDOW_ALLOWED)]
    kind = table.get("type")
    if not isinstance(kind, str) or kind not in REQUIRED:
        said = "has no type" if kind is None else f"is {kind!r}"
        hint = did_you_mean(str(kind), REQUIRED) if kind is not None else ""
        return None, [Problem(f"{where}.type", said, listed(map(repr, REQUIRED)), hint)]
    known = ("type", *REQUIRED[kind], *OPTIONAL[kind])
    for name in table:
        if name not in known:
            allowed = f"of a {kind} window: {listed(known)}"
            other = [each for each in REQUIRED if name in REQUIRED[each]]
            hint = f"{listed(map(repr, other))} windows have one" if other else did_you_mean(str(name), known)
            problems.append(Problem(f"{where}.{name}", "is not a key", allowed, hint))
    values: dict[str, int] = {}
    for name in REQUIRED[kind]:
        if name not in table:
            allowed = "a number of rows" if kind == COUNT else 'a duration such as "10s"'
            problems.append(Problem(f"{where}.{name}", f"is missing from a {kind} window", allowed))
    for name in (*REQUIRED[kind], "offset"):
        if name in table and name in known:
            _take(values, name, table[name], kind, unit, where, problems)
    if allowed_lateness is not None and kind == COUNT:
        problems.append(
            Problem("allowed_lateness", "is set, but a count window has no time after which a row is late")
        )
    elif allowed_lateness is not None and "allowed_lateness" in table:
        problems.append(
            Problem(f"{where}.allowed_lateness", "is set twice", "in the table or beside it, not both")
        )
    elif kind != COUNT:
        own = "allowed_lateness" in table
        given = table["allowed_lateness"] if own else allowed_lateness
        if given is not None:
            _take(values, "allowed_lateness", given, kind, unit, where if own else "", problems)
    if problems:
        return None, problems
    size, slide = values.get("size", 0), values.get("slide", values.get("size", 0))
    return (
        WindowSpec(
            kind,
            size,
            slide if kind != COUNT else 0,
            values.get("gap", 0),
            values.get("offset", 0) % slide if kind in (TUMBLING, SLIDING) else 0,
            values.get("allowed_lateness", 0),
        ),
        [],
    )


def _take(
    values: dict[str, int], name: str, value: Any, kind: str, unit: str, where: str, problems: list[Problem]
) -> None:
    path = f"{where}.{name}" if where else name
    least = 1 if name in ("size", "slide", "gap") else 0
    if kind == COUNT:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 1 << 32:
            problems.append(Problem(path, f"is {value!r}", "a number of rows from 1 to 4294967295"))
        else:
            values[name] = value
        return
    units = units_of(value, unit)
    if isinstance(units, str):
        problems.append(Problem(path, f"is {value!r}, which {units}", 'a duration such as "10s" or "1h30m"'))
    elif units < least and name != "offset":
        allowed = "a duration longer than 0" if least else "a duration of 0 or more"
        problems.append(Problem(path, f"is {value!r}", allowed))
    else:
        values[name] = units
