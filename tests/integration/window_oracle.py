"""What windows must give, computed by DuckDB from the rows of all partitions: an engine that shares nothing with ours.
Which rows are late follows the definition: the watermark of a row's own partition before it against its window's end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from actorstream import Event


class Trade(Event):
    __event_time__ = "ts"
    ts: int
    item: int | None
    shop: str | None
    day: datetime
    amount: int | None
    price: float | None
    note: str | None
    row: int


KEYS = ("item", "shop", "day")

_TYPES = {
    "part": pa.string(),
    "position": pa.int64(),
    "ts": pa.int64(),
    "item": pa.int64(),
    "shop": pa.string(),
    "day": pa.timestamp("us"),
    "amount": pa.int64(),
    "price": pa.float64(),
    "note": pa.string(),
    "row": pa.int64(),
}


def _nan(function: str) -> str:
    """The least or greatest of floats is NaN if one of them is; to SQL NaN is just the greatest number."""
    return f"case when bool_or(isnan(price)) then 'nan'::double else {function}(price) end"


AGGREGATES: dict[str, str] = {
    "count()": "count(*)",
    "count(amount)": "count(amount)",
    "sum(amount)": "cast(sum(amount) as bigint)",
    "sum(amount * 2 + 1)": "cast(sum(amount * 2 + 1) as bigint)",
    "sum(price)": "sum(price)",
    "min(price)": _nan("min"),
    "max(price)": _nan("max"),
    "min(amount)": "min(amount)",
    "max(day)": "max(day)",
    "mean(amount)": "cast(sum(amount) as double) / count(amount)",
    "mean(price)": "sum(price) / count(price)",
    "first(amount)": "arg_min(amount, {order}) filter (amount is not null)",
    "last(price)": "arg_max(price, {order}) filter (price is not null)",
    "first(note)": "arg_min(note, {order}) filter (note is not null)",
    "last(note)": "arg_max(note, {order}) filter (note is not null)",
    "last(day)": "arg_max(day, {order})",
    "count_distinct(note)": "count(distinct note)",
    "count_distinct(price)": "count(distinct price + 0.0)",
    "quantile(amount, 0.3)": "quantile_cont(amount::double, 0.3)",
    "quantile(price, 0.5)": "quantile_cont(price, 0.5)",
}
"""An aggregate -> the same in SQL. `order`: what tells first and last apart."""

TIES = ("first", "last")
"""Aggregates that depend on the order of rows with one time, which several partitions do not have."""


@dataclass(frozen=True)
class Sliding:
    """Tumbling windows where size and slide are the same."""

    size: int
    slide: int
    offset: int = 0
    lateness: int = 0

    def table(self) -> dict[str, Any]:
        kind: dict[str, Any] = {"type": "tumbling", "size": self.size}
        if self.size != self.slide:
            kind = {"type": "sliding", "size": self.size, "slide": self.slide}
        return {**kind, "offset": self.offset, "allowed_lateness": self.lateness}


def normal(value: Any) -> Any:
    """A value that can be compared: NaN equals itself, -0.0 is 0.0, times are in UTC."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def differing(found: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]]) -> tuple[list[str], list[str]]:
    """Rows that only one of two multisets has; floats are the same to 9 decimals, as quantiles interpolate in several
    ways."""
    one, other = (Counter(map(_shown, rows)) for rows in (found, wanted))
    return sorted((one - other).elements()), sorted((other - one).elements())


def _shown(row: Sequence[Any]) -> str:
    return repr(
        tuple(
            f"{round(value, 9) + 0.0:.12g}" if isinstance(value, float) else value
            for value in map(normal, row)
        )
    )


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all, since to open it takes longer than what is asked of it; without threads, as later tests fork."""
    database = duckdb.connect(config={"threads": 1})
    database.execute("set timezone = 'UTC'")
    return database


class Oracle:
    """The rows of partitions in a database, each with its partition's watermark before it: `mark`, or null."""

    def __init__(self, parts: Mapping[str, Sequence[Trade]], slack: int) -> None:
        self._database = _database()
        columns: dict[str, list[Any]] = {name: [] for name in _TYPES}
        for part, events in parts.items():
            for position, event in enumerate(events):
                columns["part"].append(part)
                columns["position"].append(position)
                for name in event.__struct_fields__:
                    value = getattr(event, name)
                    columns[name].append(value.replace(tzinfo=None) if name == "day" else value)
        rows = pa.table({name: pa.array(columns[name], kind) for name, kind in _TYPES.items()})
        self._database.register("given", rows)
        self._database.execute(
            f"""create or replace table rows as select *, max(ts) over (partition by part order by position
            rows between unbounded preceding and 1 preceding) - {slack} as mark from given"""
        )

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.unregister("given")

    def windows(
        self, windows: Sliding, key: Sequence[str], aggregates: Sequence[str]
    ) -> tuple[list[tuple[Any, ...]], list[int]]:
        """(window_start, window_end, key, aggregates) of tumbling or sliding windows; and which rows are late."""
        size, slide, offset = windows.size, windows.slide, windows.offset
        first = f"cast(floor((ts - {size} - {offset}) / {slide}) as bigint) + 1"
        last = f"cast(floor((ts - {offset}) / {slide}) as bigint)"
        self._database.execute(
            f"""create or replace table assigned as
            with numbered as (select *, unnest(range({first}, {last} + 1)) as number from rows),
            bounded as (select *, number * {slide} + {offset} as window_start,
                        number * {slide} + {offset} + {size} as window_end from numbered)
            select *, mark is not null and mark >= window_end + {windows.lateness} as late from bounded"""
        )
        late = self._database.execute("select row from assigned group by row having bool_and(late)")
        gone = [row for (row,) in late.fetchall()]
        return self._grouped("assigned where not late", ["window_start", "window_end"], key, aggregates), gone

    def sessions(self, gap: int, key: Sequence[str], aggregates: Sequence[str]) -> list[tuple[Any, ...]]:
        """The same of sessions, where no row is behind its watermark: runs without a gap."""
        own = ", ".join(key) or "1"
        self._database.execute(
            f"""create or replace table numbered as
            with apart as (select *, coalesce(ts - lag(ts) over (partition by {own} order by ts) > {gap}, true) as begins
                           from rows),
            counted as (select *, sum(begins::int) over (partition by {own} order by ts) as number from apart)
            select *, min(ts) over (partition by {own}, number) as window_start,
                max(ts) over (partition by {own}, number) + {gap} as window_end from counted"""
        )
        return self._grouped("numbered", ["window_start", "window_end"], key, aggregates)

    def counted(self, size: int, key: Sequence[str], aggregates: Sequence[str]) -> list[tuple[Any, ...]]:
        """The same of windows of so many rows, of one partition in its order; they end after their latest row."""
        own = ", ".join(key) or "1"
        self._database.execute(
            f"""create or replace table numbered as
            with counted as (select *, (row_number() over (partition by {own} order by position) - 1) // {size} as number
                             from rows)
            select *, min(ts) over (partition by {own}, number) as window_start,
                max(ts) over (partition by {own}, number) + 1 as window_end from counted"""
        )
        found = self._grouped("numbered", ["number", "window_start", "window_end"], key, aggregates)
        return [row[1:] for row in found]

    def whole(self, key: Sequence[str], aggregates: Sequence[str]) -> list[tuple[Any, ...]]:
        """(key, aggregates) of all rows."""
        return self._grouped("rows", [], key, aggregates)

    def _grouped(
        self, table: str, windows: Sequence[str], key: Sequence[str], aggregates: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        order = "struct_pack(ts := ts, part := part, position := position)"
        made = [
            AGGREGATES[text].replace("filter (", "filter (where ").format(order=order) for text in aggregates
        ]
        by = [*windows, *key]
        grouped = f"group by {', '.join(by)}" if by else "having count(*) > 0"
        found = self._database.execute(f"select {', '.join([*by, *made])} from {table} {grouped}").fetchall()
        return [tuple(map(normal, row)) for row in found]


def taken_by_sessions(
    parts: Mapping[str, Sequence[Trade]], slack: int, gap: int, lateness: int, key: Sequence[str]
) -> tuple[list[tuple[Any, Any, tuple[Any, ...], list[Trade]]], list[int]]:
    """Sessions as (start, end, key, rows) and the late rows, by definition: rows that are not behind their watermark
    are all taken; a row that is behind joins the sessions that are not over at its watermark, begins one if its own
    would not be over, else it is late. Of rows behind, those of lower watermarks and then later times come first."""
    sessions: list[tuple[tuple[Any, ...], list[Trade]]] = []
    behind = []
    for events in parts.values():
        greatest: int | None = None
        for event in events:
            mark = None if greatest is None else greatest - slack
            if mark is not None and event.ts < mark:
                behind.append((mark, -event.ts, event))
            else:
                _join(sessions, event, None, gap, lateness, key)
            greatest = event.ts if greatest is None else max(greatest, event.ts)
    late = []
    for mark, _, event in sorted(behind, key=lambda each: each[:2]):
        if not _join(sessions, event, mark, gap, lateness, key):
            late.append(event.row)
    found = []
    for own, rows in sessions:
        times = [row.ts for row in rows]
        found.append((min(times), max(times) + gap, own, rows))
    return found, late


def _join(
    sessions: list[tuple[tuple[Any, ...], list[Trade]]],
    event: Trade,
    mark: int | None,
    gap: int,
    lateness: int,
    key: Sequence[str],
) -> bool:
    own = tuple(getattr(event, name) for name in key)
    joined = []
    for session in sessions:
        times = [row.ts for row in session[1]]
        near = min(times) - gap <= event.ts <= max(times) + gap
        over = mark is not None and max(times) + gap + lateness < mark
        if session[0] == own and near and not over:
            joined.append(session)
    if not joined and mark is not None and event.ts + gap + lateness < mark:
        return False
    for session in joined:
        sessions.remove(session)
    sessions.append((own, [*(row for _, rows in joined for row in rows), event]))
    return True
