"""Tumbling, sliding, session and count windows, and whole streams, give what DuckDB gives of tame values, and what plain
Python gives of wild ones: the rows, their order, and which rows are late."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from actorstream import Topology
from tests.differential.cases import SUBJECTS, deployment, difference, differing
from tests.differential.window_cases import PLAIN, Near, Plain, drawn_streams, fails, sorted_out
from tests.integration.window_oracle import AGGREGATES, KEYS, TIES, Oracle, Sliding, Trade, normal

RUNNING = ("count", "sum", "min", "max", "mean")
CASES = SUBJECTS["windows"].cases


@dataclass
class Query:
    kind: str
    key: list[str]
    aggregates: list[str]
    replicas: int
    windows: Sliding | None = None
    size: int = 0
    lateness: int = 0
    keys: dict[str, Any] = field(default_factory=dict)

    def table(self) -> dict[str, Any]:
        if self.kind == "windows" and self.windows is not None:
            return {"window": self.windows.table()}
        if self.kind == "sessions":
            return {"window": {"type": "session", "gap": self.size, "allowed_lateness": self.lateness}}
        return {"window": {"type": "count", "size": self.size}} if self.kind == "counted" else {}


def drawn_query(dice: random.Random, tame: bool, tied: bool, counted: bool, rows: int) -> Query:
    """tied: the rows of one time have an order. counted: all rows have."""
    kinds = ["windows"] * 5 + ["sessions"] * 3 + ["whole", "reduced"] + ["counted"] * 2 * counted
    kind = dice.choice([each for each in kinds if rows or each != "reduced"])
    texts = [text for text in (AGGREGATES if tame else PLAIN) if tied or not text.startswith(TIES)]
    query = Query(
        kind,
        dice.sample(KEYS, dice.choice([0, 1, 1, 2, 3])),
        dice.sample(texts, dice.randint(1, 5)),
        dice.randint(1, 3),
    )
    if kind == "windows":
        size = dice.randint(1, 25)
        slide = dice.choice([size, dice.randint(1, 25)])
        query.windows = Sliding(size, slide, dice.randint(0, slide - 1), dice.choice([0, 0, 1, 7, 40]))
        if tame and dice.random() < 0.2:
            query.keys["emit"] = "updates"
    elif kind == "sessions":
        query.size, query.lateness = dice.randint(1, 12), dice.choice([0, 3, 15])
        if not tame:  # a row that fails is in no session, and yet counts for its partition's watermark
            query.aggregates = [text for text in query.aggregates if "* 2" not in text] or ["count()"]
    elif kind == "reduced":
        _reduced(dice, query, tame, counted)
    else:
        query.size = dice.randint(1, 9)
    return query


def _reduced(dice: random.Random, query: Query, tame: bool, counted: bool) -> None:
    """first and last of `reduce` go by the order in which rows come, and its integer sums have no second chance."""
    query.key, query.replicas, query.keys["running"] = [], 1, counted and dice.random() < 0.5
    kept = [
        text for text in query.aggregates if not text.startswith(TIES) and (tame or "sum(amount" not in text)
    ]
    if query.keys["running"]:
        kept = [text for text in kept if text.partition("(")[0] in RUNNING]
    query.aggregates = kept or ["count()"]


def check(seed: int) -> None:
    dice = random.Random(f"windows {seed}")
    tame = dice.random() < 0.5
    parts = drawn_streams(dice, tame)
    in_order = dice.random() < 0.3
    slack = dice.choice([0, 2, 10, 1000])
    sources = dice.randint(1, len(parts))
    between = dice.choice([0, 0, 1, 2])
    rows = sum(map(len, parts.values()))
    one = len(parts) == 1 and between < 2
    queries = [drawn_query(dice, tame, one or in_order, one or in_order, rows) for _ in range(CASES)]
    deploy = deployment(dice)
    topology = Topology("windows")
    stream = topology.source(
        parts, name="rows", event=Trade, replicas=sources, max_out_of_orderness=timedelta(milliseconds=slack)
    )
    behind = stream.late.collect()
    if between:
        stream = stream.through("filter", where="row >= 0", replicas=between, name="passed")
    read = stream.ordered("timestamp") if in_order else stream
    collected = []
    for number, query in enumerate(queries):
        texts = {f"a{place}": text for place, text in enumerate(query.aggregates)}
        keys = {"name": f"q{number}", "replicas": query.replicas, "on_error": "skip"} | query.keys
        if query.kind == "reduced":
            made = read.through("reduce", aggregate=texts, **keys)
        else:
            made = read.through("aggregate", key=query.key, aggregates=texts, **query.table(), **keys)
        collected.append((made.collect(), made.late.collect()))
    topology.run(**deploy)
    said = {"stream": f"tame={tame} slack={slack} sources={sources} between={between} in_order={in_order}"}
    said["deployment"] = str(deploy)
    if in_order:  # what lies below its watermark goes to `.late` of the source (docs/ordering.md)
        parts, late_rows = sorted_out(parts, slack)
        slack = 1000
        if sorted(each.row for each in behind) != late_rows:
            raise difference("windows", seed, "late of the source", late=behind, wanted=late_rows, **said)
    with Oracle(parts, slack) as database:
        for query, (out, late) in zip(queries, collected):
            found = [tuple(getattr(each, name) for name in each.__struct_fields__) for each in out]
            if "emit" in query.keys:
                bounds = 2 + len(query.key)
                found = [*{repr(row[:bounds]): row for row in found}.values()]
            elif query.kind == "windows" and query.replicas == 1:
                _in_order(seed, query, found, said)
            wanted, wanted_late = _wanted(query, parts, slack, tame, in_order, database)
            ours = sorted(each.row for each in late if not fails(each, query.aggregates))
            failing = {row.row for rows in parts.values() for row in rows if fails(row, query.aggregates)}
            theirs = sorted(set(wanted_late) - failing)
            if ours != theirs:
                raise difference("windows", seed, query, late=ours, wanted=theirs, **said)
            show = partial(_shown, query)
            unlike = differing(map(show, found), map(show, wanted)) or _quantiles_differ(query, found, wanted)
            if unlike:
                raise difference("windows", seed, query, **unlike, **said)


def _wanted(
    query: Query, parts: dict[str, list[Trade]], slack: int, tame: bool, in_order: bool, database: Oracle
) -> tuple[list[tuple[Any, ...]], list[int]]:
    plain = Plain(parts, slack)
    key, aggregates = query.key, query.aggregates
    if query.kind == "windows" and query.windows is not None:
        return (database if tame else plain).windows(query.windows, key, aggregates)
    if query.kind == "sessions":
        if tame and slack == 1000:
            return database.sessions(query.size, key, aggregates), []
        return plain.sessions(query.size, query.lateness, key, aggregates)
    if query.kind == "counted":
        if tame and not in_order:
            return database.counted(query.size, key, aggregates), []
        return plain.counted(query.size, key, aggregates, in_order=in_order), []
    if query.keys.get("running"):
        return plain.running(aggregates, in_order=in_order), []
    return (database if tame else plain).whole(key, aggregates), []


def _in_order(seed: int, query: Query, found: list[tuple[Any, ...]], said: dict[str, str]) -> None:
    """Rows come by window end, start and key, nulls last (docs/windows.md)."""
    keys = 2 + len(query.key)
    places = [
        (row[1], row[0], *((value is None, value if value is not None else 0) for value in row[2:keys]))
        for row in found
    ]
    if places != sorted(places):
        raise difference("windows", seed, query, order=places, **said)


def _shown(query: Query, row: tuple[Any, ...]) -> str:
    return repr(tuple(normal(value) for value in _apart(query, row)[0]))


def _apart(query: Query, row: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """What must be the same to the bit, and the quantiles, where several ways to interpolate round differently."""
    first = len(row) - len(query.aggregates)
    quantiles = [first + at for at, text in enumerate(query.aggregates) if text.startswith("quantile")]
    exact = [value for at, value in enumerate(row) if at not in quantiles]
    return exact, [row[at] for at in quantiles]


def _quantiles_differ(query: Query, found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> Any:
    """Of rows that are the same otherwise."""

    def place(row: tuple[Any, ...]) -> tuple[str, list[tuple[bool, bool, float]]]:
        """Nulls first, NaN last: rows that are the same otherwise must pair."""
        own = [
            (False, False, 0.0)
            if value is None
            else (True, normal(value) == "nan", 0.0 if normal(value) == "nan" else float(value))
            for value in _apart(query, row)[1]
        ]
        return _shown(query, row), own

    for mine, other in zip(sorted(found, key=place), sorted(wanted, key=place)):
        for a, b in zip(_apart(query, mine)[1], _apart(query, other)[1]):
            if normal(a) == normal(b):
                continue
            largest = b.largest if isinstance(b, Near) else 10.0
            if a is None or b is None or not abs(a - b) <= max(largest * 1e-15, 1e-323):
                return {"engine": mine, "wanted": other}
    return None


@pytest.mark.parametrize("seed", range(SUBJECTS["windows"].normal))
def test_windows_give_what_duckdb_and_python_give(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + SUBJECTS["windows"].slow))
def test_many_windows_give_what_duckdb_and_python_give(seed: int) -> None:
    check(seed)
