"""Expressions in map, filter and split give what plain Python gives row by row, and what DuckDB gives where SQL says
the same: values, nulls and rows without a value, under any deployment."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from actorstream import Topology
from tests.differential.cases import SUBJECTS, deployment, difference
from tests.differential.drawn import Drawn
from tests.differential.expression_trees import Trees
from tests.unit.operators.expression_model import NoValueError, Sample

CASES = SUBJECTS["expressions"].cases
FAILED = "no value"
NULLABLE = ("j", "narrow", "y", "maybe", "mood", "note", "seen")


class Numbered(Sample):
    row: int


_TYPES = {
    **dict.fromkeys(["i", "j", "small", "narrow", "level", "row"], pa.int64()),
    **dict.fromkeys(["x", "y", "single"], pa.float64()),
    **dict.fromkeys(["ok", "maybe"], pa.bool_()),
    **dict.fromkeys(["kind", "mood", "name", "note"], pa.string()),
    **dict.fromkeys(["at", "seen"], pa.timestamp("us")),
}


def drawn_row(dice: random.Random, row: int, tame: bool) -> Numbered:
    def integer() -> int:
        if tame or dice.random() < 0.5:
            return dice.randint(-9, 9)
        return dice.choice([-(2**63), 2**63 - 1, 2**31, dice.randint(-(2**63), 2**63 - 1)])

    def floating() -> float:
        if tame or dice.random() < 0.4:
            return dice.randint(-40, 40) / 8
        rare = [math.inf, -math.inf, math.nan, -0.0, 1e300, 1e19, 2.5, 2.675, 5e-324, 0.1 + 0.2]
        return dice.choice([*rare, dice.uniform(-1e6, 1e6), dice.gauss(0, 1)])

    def word() -> str:
        if dice.random() < 0.3:
            return dice.choice(["", "true", "false", "12", "-3", " 7 ", "1.5", "é", "ß", "日本", "1e3", "+5"])
        return "".join(dice.choices("abz01 -.é", k=dice.randint(0, 4)))

    def time() -> datetime:
        if tame or dice.random() < 0.7:
            seconds, micros = (
                dice.randint(-(10**9), 5 * 10**9),
                dice.choice([0, 0, 1000, dice.randint(0, 999_999)]),
            )
            return datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros)
        return dice.choice(
            [datetime.min, datetime.max, datetime(1582, 10, 4), datetime(2000, 2, 29)]
        ).replace(tzinfo=UTC)

    large = not tame and dice.random() < 0.4
    values: dict[str, Any] = {
        "i": integer(), "j": integer(), "small": dice.randint(-128, 127) if large else dice.randint(-5, 5),
        "narrow": dice.randint(-(2**31), 2**31 - 1) if large else dice.randint(-5, 5),
        "big": dice.randint(0, 2**64 - 1) if large else dice.randint(0, 9), "x": floating(), "y": floating(),
        "single": dice.randint(-40, 40) / 8, "ok": dice.random() < 0.5, "maybe": dice.random() < 0.5,
        "kind": dice.choice(["view", "click", "buy"]), "mood": dice.choice(["good", "bad"]),
        "level": dice.choice([1, 2, 3]), "name": word(), "note": word(), "at": time(), "seen": time(), "row": row,
    }  # fmt: skip
    for name in NULLABLE:
        if dice.random() < 0.25:
            values[name] = None
    return Numbered(**values)


def by_python(drawn: Drawn, rows: list[Numbered]) -> list[Any]:
    found = []
    for event in rows:
        try:
            found.append(drawn.value({name: getattr(event, name) for name in event.__struct_fields__}))
        except NoValueError:
            found.append(FAILED)
    return found


def by_duckdb(drawn: list[Drawn], rows: list[Numbered]) -> list[list[Any] | None]:
    """The values of each expression; None where DuckDB computes a part that nobody asks for, and fails."""

    def plain(value: Any) -> Any:
        return value.replace(tzinfo=None) if isinstance(value, datetime) else value

    columns = {
        name: pa.array([plain(getattr(row, name)) for row in rows], kind) for name, kind in _TYPES.items()
    }
    found: list[list[Any] | None] = []
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("given", pa.table(columns))
        for each in drawn:
            try:
                answered = database.execute(f"select {each.sql} from given order by row").fetchall()
            except (duckdb.OutOfRangeException, duckdb.ConversionException):
                found.append(None)
            else:
                found.append([_zoned(value) for (value,) in answered])
    return found


def _zoned(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)


def way_of(dice: random.Random, drawn: Drawn, bools: bool) -> str:
    return dice.choice(["map", "filter", "split"]) if bools and not drawn.constant else "map"


def check(seed: int) -> None:
    dice = random.Random(f"expressions {seed}")
    tame = dice.random() < 0.5
    trees = Trees(dice, tame)
    drawn = [trees.condition() if number % 3 == 0 else trees.draw() for number in range(CASES)]
    ways = [way_of(dice, each, number % 3 == 0) for number, each in enumerate(drawn)]
    rows = [drawn_row(dice, row, tame) for row in range(dice.choice([1, 9, 40, 90]))]
    deploy = deployment(dice)
    found, dead = by_engine(dice, drawn, ways, rows, deploy)
    for number, each in enumerate(drawn):
        wanted = by_python(each, rows)
        _compare(seed, each, ways[number], rows, wanted, found[number], dead[number], deploy)
    asked = [each for each in drawn if each.sql and FAILED not in by_python(each, rows)] if tame else []
    for each, values in zip(asked, by_duckdb(asked, rows)):
        for row, (mine, sql) in enumerate(zip(by_python(each, rows), values or [])):
            if not same(mine, sql):
                raise difference(
                    "expressions", seed, each.text, sql=each.sql, row=rows[row], python=mine, duckdb=sql
                )


def by_engine(
    dice: random.Random, drawn: list[Drawn], ways: list[str], rows: list[Numbered], deploy: dict[str, Any]
) -> tuple[list[dict[int, Any]], list[int]]:
    """Of each expression row -> its value (of a filter and a split True), and how many rows had none."""
    topology = Topology("expressions")
    source = topology.source({"0": rows}, name="rows", event=Numbered)
    lists, dead = [], []
    for number, (each, way) in enumerate(zip(drawn, ways)):
        keys: dict[str, Any] = {
            "name": f"e{number}",
            "on_error": "dead-letter",
            "replicas": dice.choice([1, 1, 2]),
        }
        if way == "map":
            made = source.through("map", set={"v": each.text}, select=["row", "v"], **keys)
        elif way == "filter":
            made = source.through("filter", where=each.text, **keys)
        else:
            made = source.through("split", cases={"yes": each.text}, **keys)
        lists.append(made["yes"].collect() if way == "split" else made.collect())
        dead.append(made.dead.collect())
    topology.run(**deploy)
    found = []
    for way, events in zip(ways, lists):
        values = {event.row: event.v if way == "map" else True for event in events}
        assert len(values) == len(events), "a row came twice"
        found.append(values)
    return found, [len(each) for each in dead]


def _compare(
    seed: int, drawn: Drawn, way: str, rows: list[Numbered], wanted: list[Any], found: dict[int, Any], dead: int,
    deploy: dict[str, Any],
) -> None:  # fmt: skip
    for row, value in enumerate(wanted):
        mine = found.get(row, FAILED)
        if way != "map":  # rows that fail, and those of which it is not true, do not come out
            value = True if value is True else FAILED
        if not same(mine, value):
            raise difference(
                "expressions",
                seed,
                f"{way} {drawn.text}",
                row=rows[row],
                python=value,
                engine=mine,
                deployment=deploy,
            )
    failed = sum(value is FAILED for value in wanted)
    if failed != dead:
        raise difference(
            "expressions", seed, f"{way} {drawn.text}", python=f"{failed} rows without a value", engine=dead,
            deployment=deploy,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(SUBJECTS["expressions"].normal))
def test_expressions_give_what_python_and_duckdb_give(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + SUBJECTS["expressions"].slow))
def test_many_expressions_give_what_python_and_duckdb_give(seed: int) -> None:
    check(seed)
