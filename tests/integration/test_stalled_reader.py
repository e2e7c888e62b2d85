"""A reader in timestamp order that stalls while four sources run at full speed: memory stays bounded, nothing is lost, the
order is kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.connectors.sink import Sink
from actorstream.connectors.source import Source
from actorstream.control.interrupted import Interrupted
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.launch.launcher import Launcher
from actorstream.launch.report import Sampler, pss_bytes
from actorstream.launch.run import run_job
from actorstream.metrics.counters import Counter
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy

SOURCES, TIED = 4, 4
"""Sources, and rows of each that have the same time."""
EDGE_BYTES = 2 << 20
SLACK = 32 << 20
QUIET_TICKS = 10
"""Looks at the counters (20 a second) without a change after which everything stands still."""


class Row(Event):
    """Row `n` of source `who`."""

    __event_time__: ClassVar[str] = "t"

    t: int
    who: int
    n: int


class Fast(Source):
    """`count` rows of which every four have one time, the same in each source."""

    outputs: ClassVar[dict[str, Any]] = {"default": Row}

    def __init__(self, who: int, count: int) -> None:
        self.who, self.count, self.at = who, count, 0

    def read(self, max_rows: int) -> Batch | None:
        n = np.arange(self.at, min(self.at + max_rows, self.count))
        if not len(n):
            return None
        self.origin, self.row, self.at = 0, self.at, self.at + len(n)
        return Batch.of_columns(Row, {"t": n // TIED, "who": np.full(len(n), self.who), "n": n})


class Silent(Source):
    """The source of an idle run: nothing comes."""

    outputs: ClassVar[dict[str, Any]] = {"default": Row}

    def __init__(self, who: int, count: int) -> None:
        """As Fast."""

    async def events(self) -> AsyncIterator[Row]:
        await asyncio.Event().wait()
        yield Row(0, 0, 0)


class Reader(Sink):
    """Waits at its first batch until somebody writes to a pipe; then each row must be the very next of the sequence."""

    def __init__(self, hears: int) -> None:
        self.hears, self.state = hears, 0

    async def on_batch(self, batch: Batch) -> None:
        if not self.state:
            await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
        place = (batch["t"] * SOURCES + batch["who"]) * TIED + batch["n"] % TIED
        expected = np.arange(self.state, self.state + batch.rows)
        if not np.array_equal(place, expected):
            raise ValueError(
                f"row {self.state}: places {place[place != expected][:5]} of the sequence are not in turn"
            )
        self.state += batch.rows


def job_of(source: type[Source], count: int, hears: int, deploy: dict[str, Any]) -> Job:
    topology = Topology("stalled")
    first, *others = [
        topology.source(source, name=f"source{who}", who=who, count=count).ordered("timestamp")
        for who in range(SOURCES)
    ]
    first.into(Reader, *others, name="sink", hears=hears)
    return compile_job(topology.spec(), load_deploy(None, (), edge_bytes=EDGE_BYTES, **deploy))


def memory(launcher: Launcher) -> int:
    return sum(pss_bytes(worker.pid) for worker in launcher.workers)


def when_quiet(job: Job, do: Callable[[Launcher], bool], always: Callable[[Launcher], None]) -> Any:
    """`do` is called at each tick at which nothing has moved for a while, until it answers true; `always` before that."""

    def on_start(launcher: Launcher, sampler: Sampler) -> Callable[[], None]:
        last, quiet, done = -1, 0, False

        def tick() -> None:
            nonlocal last, quiet, done
            if done or not all(worker.started for worker in launcher.workers):
                return
            always(launcher)
            moved = sum(
                job.counters.value(each.id, counter)
                for each in job.plan.replicas
                for counter in (Counter.EVENTS_IN, Counter.EVENTS_OUT)
            )
            last, quiet = moved, quiet + 1 if moved == last else 0
            done = quiet >= QUIET_TICKS and do(launcher)

        return tick

    return on_start


def idle_memory(deploy: dict[str, Any]) -> int:
    """Bytes of all processes of a run to which nothing comes."""
    job = job_of(Silent, 0, -1, deploy)
    found: list[int] = []

    def stop(launcher: Launcher) -> bool:
        found.append(memory(launcher))
        launcher.abort()
        return True

    with pytest.raises(Interrupted):
        run_job(job, on_start=when_quiet(job, stop, lambda launcher: None))
    return found[0]


@pytest.mark.parametrize(
    "deploy",
    [
        {"transport": "shm", "workers": 2},
        {"transport": "local", "workers": 1},
        {"transport": "local", "workers": 1, "merge": "gate"},
    ],
)
@pytest.mark.parametrize("stall", [0, pytest.param(10, marks=pytest.mark.slow)])
def test_a_stalled_reader_bounds_the_memory_of_four_sources_at_full_speed_and_loses_nothing(
    stall: int, deploy: dict[str, Any]
) -> None:
    """It stalls until nothing moves any more, and for `stall` seconds at least. What the sources have in store is far
    beyond what may wait."""
    count = 2_000_000 if stall else 1_000_000
    idle = idle_memory(deploy)
    hears, told = os.pipe()
    most = 0
    began = monotonic()

    def look(launcher: Launcher) -> None:
        nonlocal most
        most = max(most, memory(launcher))

    def go_on(launcher: Launcher) -> bool:
        waits = monotonic() - began < stall
        if not waits:
            os.write(told, b"x")
        return not waits

    try:
        job = job_of(Fast, count, hears, deploy)
        report = run_job(job, on_start=when_quiet(job, go_on, look)).report
    finally:
        os.close(hears)
        os.close(told)
    assert report["events_in"]["sink"] == SOURCES * count
    for who in range(SOURCES):
        assert all(each["queue_max_bytes"] <= EDGE_BYTES for each in report["actors"][f"source{who}"])
    stored = SOURCES * count * 24
    budgets = sum(channel.budget for channel in job.plan.channels)
    grown = most - idle
    print(f"{deploy}: {grown / 2**20:.1f} MB over the idle run's {idle / 2**20:.1f} while it stalled")
    print(f"budgets {budgets / 2**20:.1f} MB, in store {stored / 2**20:.1f} MB")
    assert grown <= budgets + SLACK < stored
