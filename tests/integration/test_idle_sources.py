"""With `idle_timeout` a silent source holds nobody up, and its old rows are late when they come; nothing else changes.

No test waits for a time: the silent source is told to go on by a sink that has seen what it waited for.
"""

from __future__ import annotations

import asyncio
import os
import random
import select
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream import Topology
from actorstream.actors.actor import Actor
from actorstream.connectors.source import NO_MORE, Source
from actorstream.events.batch import Batch
from tests.integration.parts import Collect, Number, Pass, numbers
from tests.integration.pooled import Times

SOON = timedelta(milliseconds=5)
WINDOWS: dict[str, Any] = {
    "key": ["group"],
    "aggregates": {"rows": "count()"},
    "window": {"type": "tumbling", "size": 10},
}
EVERYWHERE = pytest.mark.parametrize(
    "deploy",
    [
        pytest.param({}, id="local"),
        pytest.param({"pipelining": False, "batch_size": 2}, id="local-queued"),
        pytest.param({"transport": "shm", "workers": 2}, id="shm"),
        pytest.param(
            {"transport": "shm", "workers": 2, "pipelining": False, "batch_size": 2}, id="shm-queued"
        ),
        pytest.param({"schedule": "qst", "threads": 2, "batch_size": 2}, id="pool"),
    ],
)


class Told(Source):
    """The rows `first`; then, once it is told to go on, `then`."""

    def __init__(
        self, hears: int, first: list[int], then: list[int], idle_timeout: timedelta | None = None
    ) -> None:
        self.hears, self.first, self.then, self.idle_timeout = hears, first, then, idle_timeout

    async def events(self) -> AsyncIterator[Number]:
        for value in self.first:
            yield Number(value, 0)
        if self.hears >= 0:
            await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
        for value in self.then:
            yield Number(value, 0)


class Polled(Told):
    """The same, asked again and again: nothing yet is an empty batch."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def read(self, max_rows: int) -> Batch | None:
        if not self.then or (not self.first and not select.select([self.hears], [], [], 0)[0]):
            return None if not self.then else numbers(np.arange(0))
        rows, self.first = self.first or self.then, []
        self.then = [] if rows is self.then else self.then
        return numbers(np.array(rows))


class Finite(Source):
    """Rows of three partitions, one after the other. `says_so`: it promises the end of time before `read` returns None."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, says_so: bool) -> None:
        self.says_so = says_so
        self.left = [[1, 25], [12], []]

    def partitions(self) -> list[str]:
        return [str(number) for number in range(len(self.left))]

    def read(self, max_rows: int) -> Batch | None:
        if not self.left:
            return None
        self.origin, rows = 3 - len(self.left), self.left.pop(0)
        return numbers(np.array(rows, np.int64))

    def lower_bound(self, now_ns: int) -> int | None:
        return None if self.left or not self.says_so else NO_MORE


class Halting(Source):
    """Rows in order, in `parts` streams, with a pause now and then: idle and busy in turns with no timeout to wait."""

    idle_timeout = timedelta(0)

    def __init__(self, rows: int, parts: int) -> None:
        self.rows, self.parts = rows, parts

    def partitions(self) -> list[str]:
        return [str(part) for part in range(self.parts)]

    async def events(self) -> AsyncIterator[Number]:
        (name,) = self._opened or ["0"]
        dice = random.Random(name)
        for value in range(self.rows):
            if dice.random() < 0.05:
                for _ in range(dice.randrange(10)):
                    await asyncio.sleep(0)
            yield Number(value, value % 3)


class TellsAtWindow(Collect):
    """Tells a source to go on when the window that ends at `end` has come out."""

    def __init__(self, told: int, end: int) -> None:
        super().__init__()
        self.told, self.end = told, end

    def on_batch(self, batch: Any) -> None:
        super().on_batch(batch)
        if self.end in batch.column("window_end").tolist():
            os.write(self.told, b"x")


class TellsAtRow(Actor):
    """Tells a source to go on when it sees `value`; hands on what it gets."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, told: int, value: int) -> None:
        self.told, self.value = told, value

    def on_batch(self, batch: Any) -> Any:
        if self.value in batch.column("value").tolist():
            os.write(self.told, b"x")
        return batch


class Copy(Actor):
    """Each row anew."""

    def on_event(self, event: Number) -> Number:
        return Number(event.value, event.group)


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    hears, told = os.pipe()
    try:
        yield hears, told
    finally:
        os.close(hears)
        os.close(told)


def counted(rows: list[Any]) -> dict[int, int]:
    """End of the window -> rows in it."""
    found: Counter[int] = Counter()
    for row in rows:
        found[row[1]] += row[-1]
    return found


@EVERYWHERE
@pytest.mark.parametrize("stays", [False, True], ids=["busy-ends", "busy-stays"])
@pytest.mark.parametrize("between", [None, Pass, Copy, Times])
def test_windows_of_a_busy_source_come_out_while_another_is_silent(
    deploy: dict[str, Any], stays: bool, between: type[Actor] | None
) -> None:
    with pipe() as (hears, told), pipe() as (busy_hears, busy_told):
        topology = Topology()
        busy = topology.source(
            Told, name="busy", hears=busy_hears if stays else -1, first=[1, 12, 25], then=[]
        )
        silent = topology.source(Told, name="silent", hears=hears, first=[], then=[3, 27], idle_timeout=SOON)
        inputs = [busy, silent if between is None else silent.through(between, name="between")]
        windows = topology.actor("windows", "aggregate", inputs, **WINDOWS)
        windows.into(TellsAtWindow, name="out", told=told, end=20)
        late = windows.late.through(TellsAtRow, name="late", told=busy_told, value=3)
        late.into(Collect, name="too-late")
        run = topology.run(**deploy)
    assert counted(run["out"]) == {10: 1, 20: 1, 30: 2}
    assert run["too-late"] == [(3, 0)]
    assert run.report["late"] == 1


@EVERYWHERE
def test_a_source_that_answers_nothing_yet_is_silent_too(deploy: dict[str, Any]) -> None:
    with pipe() as (hears, told):
        topology = Topology()
        busy = topology.source(Told, name="busy", hears=-1, first=[1, 12, 25], then=[])
        silent = topology.source(
            Polled, name="silent", hears=hears, first=[], then=[3, 27], idle_timeout=SOON
        )
        windows = topology.actor("windows", "aggregate", [busy, silent], **WINDOWS)
        windows.into(TellsAtWindow, name="out", told=told, end=20)
        windows.late.into(Collect, name="too-late")
        run = topology.run(**deploy)
    assert counted(run["out"]) == {10: 1, 20: 1, 30: 2}
    assert run["too-late"] == [(3, 3)]


@EVERYWHERE
@pytest.mark.parametrize("says_so", [False, True])
def test_windows_of_an_ended_source_of_several_partitions_come_out_while_another_is_silent(
    deploy: dict[str, Any], says_so: bool
) -> None:
    """It keeps the greatest watermark of its partitions."""
    with pipe() as (hears, told):
        topology = Topology()
        ended = topology.source(Finite, name="ended", says_so=says_so)
        silent = topology.source(Told, name="silent", hears=hears, first=[], then=[3, 27], idle_timeout=SOON)
        windows = topology.actor("windows", "aggregate", [ended, silent], **WINDOWS)
        windows.into(TellsAtWindow, name="out", told=told, end=20)
        windows.late.into(Collect, name="too-late")
        run = topology.run(**deploy)
    assert counted(run["out"]) == {10: 1, 20: 1, 30: 2}
    assert run["too-late"] == [(3, 0)]


@EVERYWHERE
def test_an_operator_that_hears_of_both_goes_on_without_the_silent_one(deploy: dict[str, Any]) -> None:
    """Sliding windows: the old row is counted in the one that is still open, and is no row of those that are over."""
    sliding = {**WINDOWS, "window": {"type": "sliding", "size": 20, "slide": 10}}
    with pipe() as (hears, told):
        topology = Topology()
        busy = topology.source(Told, name="busy", hears=-1, first=[1, 12, 25], then=[])
        silent = topology.source(
            Told, name="silent", hears=hears, first=[], then=[3, 13, 27], idle_timeout=SOON
        )
        both = topology.actor("both", Pass, [busy, silent])
        windows = both.through("aggregate", name="windows", replicas=2, **sliding)
        windows.into(TellsAtWindow, name="out", told=told, end=20)
        windows.late.into(Collect, name="too-late")
        run = topology.run(**deploy)
    assert counted(run["out"]) == {10: 1, 20: 2, 30: 4, 40: 2}
    assert run["too-late"] == [(3, 0)]


@EVERYWHERE
def test_without_the_timeout_windows_wait_for_the_silent_source(deploy: dict[str, Any]) -> None:
    """It goes on when all rows of the other have been seen; its old row is in time."""
    with pipe() as (hears, told):
        topology = Topology()
        busy = topology.source(Told, name="busy", hears=-1, first=[1, 12, 25], then=[])
        silent = topology.source(Told, name="silent", hears=hears, first=[], then=[3, 27])
        seen = busy.through(TellsAtRow, name="seen", told=told, value=25)
        windows = topology.actor("windows", "aggregate", [seen, silent], **WINDOWS)
        windows.into(Collect, name="out")
        run = topology.run(**deploy)
    assert counted(run["out"]) == {10: 2, 20: 1, 30: 2}
    assert run.report["late"] == 0


@EVERYWHERE
def test_windows_of_windows_go_on_without_the_silent_one(deploy: dict[str, Any]) -> None:
    """An aggregate passes idleness on; what it makes of an old row comes too late for the next one."""
    again = {"key": [], "aggregates": {"windows": "count()"}, "window": WINDOWS["window"]}
    with pipe() as (hears, told):
        topology = Topology()
        busy = topology.source(Told, name="busy", hears=-1, first=[1, 12, 25], then=[])
        silent = topology.source(Told, name="silent", hears=hears, first=[], then=[3, 27], idle_timeout=SOON)
        first = busy.through("aggregate", name="first", **WINDOWS)
        second = silent.through("aggregate", name="second", **WINDOWS)
        both = topology.actor("both", "aggregate", [first, second], **again)
        both.into(TellsAtWindow, name="out", told=told, end=10)
        both.late.into(Collect, name="too-late")
        run = topology.run(**deploy)
    assert {row[-2]: row[-1] for row in run["out"]} == {10: 1, 20: 1, 30: 2}
    assert [row[-1] for row in run["too-late"]] == [1]


@EVERYWHERE
@pytest.mark.parametrize("between", [None, Times])
def test_no_window_opens_again_and_no_row_is_lost_however_often_sources_fall_silent(
    deploy: dict[str, Any], between: type[Actor] | None
) -> None:
    """Which rows are late is a matter of time; that each is in its window or late is not."""
    rows, parts = 600, 3
    topology = Topology()
    stream = topology.source(Halting, name="rows", rows=rows, parts=parts, replicas=parts)
    if between is not None:
        stream = stream.through(between, name="between", replicas=2)
    windows = stream.through("aggregate", name="windows", replicas=2, **WINDOWS)
    windows.into(Collect, name="out")
    windows.late.into(Collect, name="too-late")
    run = topology.run(**deploy)
    found = {(start, group): rows for start, _, group, rows in run["out"]}
    assert len(found) == len(run["out"]), "a window came out twice"
    late = Counter((value // 10 * 10, group) for value, group in run["too-late"])
    given = Counter((value // 10 * 10, value % 3) for value in range(rows) for _ in range(parts))
    assert Counter(found) + late == given
