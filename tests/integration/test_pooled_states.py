"""Built-in operators with a state give the same rows and errors whether threads run their kernels or the loop does."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest

from actorstream.errors import OperatorError
from actorstream.native.panes import Panes
from actorstream.operators.functions import NativeFunction
from actorstream.scheduling import SCHEDULES
from actorstream.topology.builder import Topology
from tests.unit.operators.natives import cffi_refuse, cffi_total
from tests.unit.operators.timed import Left
from tests.unit.operators.trades import fields

NAMES = list(SCHEDULES)
WINDOWS: list[dict[str, Any]] = [
    {"window": {"type": "tumbling", "size": 10}},
    {"window": {"type": "sliding", "size": 20, "slide": 5}, "allowed_lateness": "3ms"},
    {"window": {"type": "tumbling", "size": 10}, "allowed_lateness": "30ms", "emit": "updates"},
    {},
    {"window": {"type": "session", "gap": 4}},
    {"window": {"type": "count", "size": 7}},
    {"every": 11},
]


@pytest.fixture(autouse=True)
def threads_take_what_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actorstream.runtime.schedule.kernel_edge.PAYS_NS", 0)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each batch that was prepared as a kernel of panes."""
    found: list[int] = []
    make = Panes.job

    def noting(self: Panes, operands: Any, rows: int, *args: Any) -> Any:
        found.append(rows)
        return make(self, operands, rows, *args)

    monkeypatch.setattr(Panes, "job", noting)
    return found


def rows(seed: int, count: int = 800) -> list[Left]:
    """Rows whose times rise, some of them back by up to 15."""
    dice = random.Random(seed)
    times = [number // 4 - (dice.randint(1, 15) if dice.random() < 0.02 else 0) for number in range(count)]
    return [
        Left(max(0, time), dice.choice([None, 1, 2, 3]), f"t{time % 5}", number)
        for number, time in enumerate(times)
    ]


def counted(keys: dict[str, Any], **deploy: Any) -> tuple[list[Any], list[Any], int]:
    """Results, late rows and how many of these were counted. Of updates the last of each window and key counts: how many
    there are depends on when the watermark is told."""
    topology = Topology("pooled")
    parts = {"0": rows(7)}
    source = topology.source(parts, name="rows", event=Left, max_out_of_orderness=timedelta(milliseconds=2))
    aggregates = {"n": "count()", "total": "sum(row)", "texts": "count_distinct(text)", "last": "max(row)"}
    kept = source.through("filter", name="kept", where="row % 5 != 0")
    results = kept.through("aggregate", name="sums", aggregates=aggregates, key="key", **keys)
    found, late = results.collect(), []
    if keys.get("window", {}).get("type") in ("tumbling", "sliding"):
        late = results.late.collect()
    result = topology.run(batch_size=32, **deploy)
    came = fields(found)
    if keys.get("emit") == "updates":
        came = sorted({row[:3]: row for row in came}.values(), key=str)
    return came, fields(late), result.report["late"]


@pytest.mark.parametrize("schedule", NAMES)
@pytest.mark.parametrize("keys", WINDOWS, ids=lambda keys: "-".join(map(str, keys)) or "whole")
def test_aggregates_are_those_of_the_loop(keys: dict[str, Any], schedule: str, jobs: list[int]) -> None:
    expected = counted(keys)
    assert not jobs
    assert counted(keys, schedule=schedule, threads=2) == expected
    paned = keys.get("window", {}).get("type") in (None, "tumbling", "sliding") and "every" not in keys
    assert bool(jobs) == paned


def test_the_rows_of_the_test_are_late_in_part() -> None:
    _, late, count = counted(WINDOWS[0])
    assert len(late) == count > 0


def test_a_native_function_folds_on_threads() -> None:
    assert natively(cffi_total, threads=2) == natively(cffi_total, threads=0)


@pytest.mark.parametrize("threads", [0, 2])
def test_a_native_function_that_refuses_ends_the_run_with_the_same_error(threads: int) -> None:
    with pytest.raises(
        OperatorError, match=r"operator 'all'.*function of row answered 7 for [0-9]+ rows; allowed: 0"
    ):
        natively(cffi_refuse, threads=threads)


def natively(function: Any, threads: int) -> list[tuple[Any, ...]]:
    native = NativeFunction(function, ["row"], {"total": "int64"})
    topology = Topology("natively")
    found = topology.source(rows(3), name="rows").through("reduce", name="all", native=native).collect()
    topology.run(schedule="ct", threads=threads, batch_size=32)
    return fields(found)
