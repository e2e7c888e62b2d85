"""join, static-join, asof-join and top give what DuckDB and plain Python give: the rows, their order where they have one,
and which rows are late, under any deployment."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from actorstream import Topology
from tests.differential.cases import SUBJECTS, deployment, difference, differing
from tests.differential.join_cases import (
    BY,
    PAIRS,
    Order,
    Quote,
    Row,
    best,
    drawn_sides,
    joined,
    values,
    window_joined,
    zoned,
)
from tests.unit.operators.timed import Windows, assigned, watermarks

CASES = SUBJECTS["joins"].cases
Parts = dict[str, list[Any]]
Verdict = Callable[[], dict[str, Any] | None]
"""After the run: what differs, or None."""


class Stage:
    """The two streams of a run, and what is joined of them."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = random.Random(f"joins {seed}")
        self.slack = dice.choice([0, 3, 10, 1000])
        self.topology = Topology("joins")
        self.left = drawn_sides(dice, Order, dice.randint(1, 3), 50)
        self.right = drawn_sides(dice, Quote, dice.randint(1, 3), 40)
        self.lefts, self.rights = self._source("orders", self.left), self._source("quotes", self.right)
        self.between = dice.choice([0, 0, 1])
        if self.between:
            self.lefts = self.lefts.through("filter", where="row >= 0", name="passed", replicas=1)
        self.passed = dice.choice([1, 1, 2])
        """Replicas of what only a join of windows reads, since rows of one time have no order behind several."""
        self.shared = self.lefts.through("filter", where="row >= 0", name="shared", replicas=self.passed)

    def _source(self, name: str, parts: Parts) -> Any:
        kind = Order if name == "orders" else Quote
        replicas = self.dice.randint(1, len(parts))
        slack = timedelta(milliseconds=self.slack)
        return self.topology.source(
            parts, name=name, event=kind, replicas=replicas, max_out_of_orderness=slack
        )

    def windows(self) -> Windows:
        dice = self.dice
        size = dice.randint(1, 20)
        slide = dice.choice([size, dice.randint(1, 20)])
        return Windows(size, slide, dice.randint(0, slide - 1), dice.choice([0, 0, 1, 9]))

    def on(self, but: str = "") -> list[str]:
        return self.dice.sample([name for name in PAIRS if name != but], self.dice.choice([1, 1, 2, 3]))

    # -- the kinds of cases

    def join(self, name: str) -> tuple[str, Verdict]:
        # only a static join finds a category by a text (docs/joins.md)
        windows, on, how = (
            self.windows(),
            self.on(but="kind"),
            self.dice.choice(["inner", "left", "right", "outer"]),
        )
        keys = {"window": windows.table(), "on": {key: PAIRS[key] for key in on}, "how": how}
        made = self.shared.through("join", self.rights, name=name, replicas=self.dice.randint(1, 3), **keys)
        out, late, late_right = made.collect(), made.late.collect(), made["late_right"].collect()

        def verdict() -> dict[str, Any] | None:
            wanted, behind, behind_right = window_joined(self.left, self.right, windows, self.slack, on, how)
            return (
                unlike(map(values, out), wanted)
                or unlike(map(values, late), map(values, behind))
                or unlike(map(values, late_right), map(values, behind_right))
            )

        return f"join {keys}", verdict

    def static(self, name: str) -> tuple[str, Verdict]:
        on, how = self.on(), self.dice.choice(["inner", "left"])
        keys = {"on": {key: PAIRS[key] for key in on}, "how": how}
        rows = [row for part in drawn_sides(self.dice, Quote, 1, 40).values() for row in part]
        table = self.topology.source(
            {"0": rows}, name=f"{name}-table", event=Quote, max_out_of_orderness=timedelta(1)
        )
        made = self.lefts.through(
            "static-join", name=name, replicas=self.dice.randint(1, 3), table=table, **keys
        )
        out = made.collect()

        def verdict() -> dict[str, Any] | None:
            left = [(0, row) for part in self.left.values() for row in part]
            return unlike(map(values, out), joined(left, [(0, row) for row in rows], 0, on, how))

        return f"static-join {keys}", verdict

    def as_of(self, name: str) -> tuple[str, Verdict]:
        dice = self.dice
        by = dice.sample(["item", "shop", "day"], dice.choice([0, 1, 1, 2]))
        direction = dice.choice(["backward", "forward", "nearest"])
        tolerance = dice.choice([None, None, 0, 2, 10])
        rows = [row for part in drawn_sides(dice, Quote, 1, 60).values() for row in part]
        right = {"0": rows}  # rows of one key and time from several partitions have no order of their own
        slack = timedelta(milliseconds=self.slack)
        table = self.topology.source(right, name=f"{name}-right", event=Quote, max_out_of_orderness=slack)
        keys = {"by": by, "direction": direction, "tolerance": tolerance}
        replicas = dice.randint(1, 3)
        made = self.lefts.through("asof-join", table, name=name, replicas=replicas, on="ts", **keys)
        out, late, late_right = made.collect(), made.late.collect(), made["late_right"].collect()

        def verdict() -> dict[str, Any] | None:
            wanted, behind, behind_right = as_of(self.left, right, self.slack, by, direction, tolerance)
            times = [event.ts for event in out]
            if replicas == 1 and times != sorted(times):
                return {"order": times}
            return (
                unlike(map(values, out), wanted)
                or unlike(map(values, late), map(values, behind))
                or unlike(map(values, late_right), map(values, behind_right))
            )

        return f"asof-join {keys}", verdict

    def top(self, name: str) -> tuple[str, Verdict]:
        dice = self.dice
        windows = self.windows() if dice.random() < 0.8 else None
        n, by = dice.choice([1, 2, 5, 100]), dice.sample(list(BY), dice.randint(1, 2))
        key = dice.sample(["item", "shop", "kind"], dice.choice([0, 1, 2]))
        keys: dict[str, Any] = {"n": n, "by": by, "key": key} | (
            {"window": windows.table()} if windows else {}
        )
        replicas = dice.randint(1, 3)
        made = self.shared.through("top", name=name, replicas=replicas, **keys)
        out, late = made.collect(), made.late.collect()

        def verdict() -> dict[str, Any] | None:
            wanted, behind = topped(self.left, windows, self.slack, n, by, key)
            found = [zoned(values(event)) for event in out]
            if replicas == 1 and found != [zoned(row) for row in wanted] and not unlike(found, wanted):
                return {"order": found, "wanted": wanted}
            return unlike(found, wanted) or unlike(map(values, late), map(values, behind))

        return f"top {keys}", verdict


def topped(
    parts: Parts, windows: Windows | None, slack: int, n: int, by: list[str], key: list[str]
) -> tuple[list[Row], list[Any]]:
    if windows is None:
        rows = [row for part in parts.values() for row in part]
        return [values(row) for row in best(rows, n, by, key)], []
    found, late = assigned(parts, windows, slack)
    rows = [
        (start, start + windows.size, *values(row))
        for start in sorted(found)
        for row in best(found[start], n, by, key)
    ]
    return rows, late


def as_of(
    left: Parts, right: Parts, slack: int, by: list[str], direction: str, tolerance: int | None
) -> tuple[list[Row], list[Any], list[Any]]:
    """A row below the watermark of its partition is late; of right rows of one time backward takes the last, forward the
    first; of two as near the one before (docs/joins.md)."""
    lefts, late = _in_time(left, slack)
    rights, late_right = _in_time(right, slack)
    rest = [name for name in Quote.__struct_fields__ if name not in (*by, "ts")]
    found = []
    for row in lefts:
        own = [getattr(row, name) for name in by]
        same = [other for other in rights if None not in own and [getattr(other, name) for name in by] == own]
        before = max(
            (other for other in same if other.ts <= row.ts), key=lambda other: other.ts, default=None
        )
        before = next((other for other in reversed(same) if before and other.ts == before.ts), None)
        after = min((other for other in same if other.ts >= row.ts), key=lambda other: other.ts, default=None)
        choice = {"backward": [before], "forward": [after], "nearest": [before, after]}[direction]
        near = [
            other for other in choice if other and (tolerance is None or abs(other.ts - row.ts) <= tolerance)
        ]
        partner = min(near, key=lambda other: abs(other.ts - row.ts), default=None)
        found.append((*values(row), *(getattr(partner, name) if partner else None for name in rest)))
    return found, late, late_right


def _in_time(parts: Parts, slack: int) -> tuple[list[Any], list[Any]]:
    marked = [pair for rows in parts.values() for pair in watermarks(rows, slack)]
    kept = sorted((row for row, mark in marked if mark < 0), key=lambda row: row.ts)
    return kept, [row for row, mark in marked if mark >= 0]


def unlike(found: Any, wanted: Any) -> dict[str, Any] | None:
    return differing((repr(zoned(row)) for row in found), (repr(zoned(row)) for row in wanted))


def check(seed: int) -> None:
    stage = Stage(seed)
    kinds = [stage.join, stage.static, stage.as_of, stage.top]
    verdicts = [stage.dice.choice(kinds)(f"j{number}") for number in range(CASES)]
    stage.shared.collect()
    stage.rights.collect()
    deploy = deployment(stage.dice)
    stage.topology.run(**deploy)
    for said, verdict in verdicts:
        found = verdict()
        if found:
            raise difference("joins", seed, said, **found, slack=stage.slack, deployment=deploy)


@pytest.mark.parametrize("seed", range(SUBJECTS["joins"].normal))
def test_joins_give_what_duckdb_and_python_give(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + SUBJECTS["joins"].slow))
def test_many_joins_give_what_duckdb_and_python_give(seed: int) -> None:
    check(seed)
