"""A sink that stalls bounds everybody's memory: budgets and little more, however much input waits."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.sink import Sink
from actorstream.connectors.source import Source
from actorstream.control.interrupted import Interrupted
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.launch.launcher import Launcher
from actorstream.launch.run import run_job
from actorstream.metrics.counters import Counter
from actorstream.runtime.compile import compile_job
from actorstream.runtime.report import Sampler, pss_bytes
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Expand, Number, Numbers, Pass, Text
from tests.integration.processes import launched

ENDLESS = 1_000_000_000_000
EDGE_BYTES = 4 << 20
SLACK = 64 << 20
QUIET_TICKS = 10
"""Looks at the counters (20 a second) without a change after which everything stands still."""


class Silent(Source):
    """The source of an idle run: nothing comes."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    async def events(self) -> AsyncIterator[Number]:
        await asyncio.Event().wait()
        yield Number(0, 0)


class StallsAwaiting(Sink):
    async def on_batch(self, batch: Batch) -> None:
        await asyncio.Event().wait()


class StallsBlocking(Sink):
    """Its whole worker stands still."""

    def on_batch(self, batch: Batch) -> None:
        threading.Event().wait()


class Takes(Sink):
    def on_batch(self, batch: Batch) -> None:
        """Takes everything."""


class TicksAndEmits(Pass):
    """Emits at every tick of a timer too, whether or not anybody takes it."""

    def on_start(self) -> None:
        self.set_timer("t", every=0.0001)

    def on_timer(self, name: str) -> list[Number]:
        return [Number(0, 0)] * 10_000


def memory_when_quiet(topology: Topology, **deploy: Any) -> tuple[int, int, int]:
    """Bytes (PSS) of all processes once nothing moves any more, events the sources had sent, budgets of the edges."""
    job = compile_job(topology.spec(), load_deploy(None, (), **{"edge_bytes": EDGE_BYTES, **deploy}))
    measured: list[int] = []
    events: list[int] = []

    def on_start(launcher: Launcher, sampler: Sampler) -> Callable[[], None]:
        last, quiet = -1, 0

        def tick() -> None:
            nonlocal last, quiet
            table = job.counters
            moved = sum(
                table.value(each.id, counter)
                for each in job.plan.replicas
                for counter in (Counter.EVENTS_IN, Counter.EVENTS_OUT)
            )
            started = all(worker.started for worker in launcher.workers)
            last, quiet = moved, quiet + 1 if started and moved == last else 0
            if quiet == QUIET_TICKS:
                measured.append(sum(pss_bytes(worker.pid) for worker in launcher.workers))
                events.append(sampler.source_events())
                launcher.abort()

        return tick

    with pytest.raises(Interrupted):
        run_job(job, on_start=on_start)
    budgets = sum(channel.budget for channel in job.plan.channels)
    return measured[0], events[0], budgets


def topology_of(source: type[Source], operator: type[Actor], sink: type[Sink], **keys: Any) -> Topology:
    topology = Topology("stalled")
    count = {"count": ENDLESS, "parts": 2} if source is Numbers else {}
    stream = topology.source(source, name="source", replicas=2 if count else 1, **count)
    stream = stream.shuffle().through(operator, name="operator", replicas=2, **keys)
    stream.by("group" if operator is not Text else "text").into(sink, name="sink", replicas=2)
    return topology


DEPLOYMENTS = [
    pytest.param({"transport": "shm", "workers": 2}, id="shm"),
    pytest.param({"transport": "shm", "workers": 3, "placement": "round-robin"}, id="shm-pipeline"),
    pytest.param({"transport": "local", "workers": 1}, id="local"),
]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
@pytest.mark.parametrize(
    ("operator", "keys", "sink"),
    [
        pytest.param(Pass, {}, StallsAwaiting, id="columns"),
        pytest.param(Pass, {}, StallsBlocking, id="columns-blocking"),
        pytest.param(Text, {}, StallsAwaiting, id="text"),
        pytest.param(Expand, {"times": 100}, StallsAwaiting, id="expanding"),
        pytest.param(TicksAndEmits, {}, StallsAwaiting, id="timers"),
    ],
)
def test_a_stalled_sink_keeps_memory_within_budgets_and_64_mb(
    deploy: dict[str, Any], operator: type[Actor], keys: dict[str, Any], sink: type[Sink]
) -> None:
    quiet = Pass if operator is TicksAndEmits else operator
    idle, nothing, _ = memory_when_quiet(topology_of(Silent, quiet, Takes, **keys), **deploy)
    assert nothing == 0
    stalled, offered, budgets = memory_when_quiet(topology_of(Numbers, operator, sink, **keys), **deploy)
    assert offered > 0
    assert stalled - idle <= budgets + SLACK, f"{(stalled - idle) / 2**20:.1f} MB over the idle run"


LARGE = 400


class Large(Event):
    text: str


class LargeRows(Source):
    """Rows of a MiB each."""

    def events(self) -> Iterator[Large]:
        for number in range(LARGE):
            yield Large(f"{number:07}-" * (1 << 17))


class LiveLargeRows(Source):
    async def events(self) -> AsyncIterator[Large]:
        for number in range(LARGE):
            yield Large(f"{number:07}-" * (1 << 17))


class LargeReads(Source):
    """As many of them as are asked for."""

    outputs: ClassVar[dict[str, Any]] = {"default": Large}

    def read(self, max_rows: int) -> Batch | None:
        rows = min(max_rows, LARGE - self.row)
        self.row += rows
        return Batch.of_columns(Large, {"text": ["x" * (1 << 20)] * rows}) if rows else None


class Enlarges(Actor):
    """A row of a MiB for each number."""

    def on_event(self, event: Number) -> Large:
        return Large(f"{event.value:07}-" * (1 << 17))


@pytest.mark.parametrize(
    "first", [LargeRows, LiveLargeRows, LargeReads, Enlarges], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("workers", [1, 2])
def test_large_rows_are_never_many_in_memory(first: type[Actor], workers: int, tmp_path: Path) -> None:
    """In processes of their own: a worker forked from this one would count what other tests have left here."""
    here = "tests.integration"
    lines = ['name = "large"', "[actors.numbers]", f'type = "{here}.parts:Numbers"', f"count = {LARGE}"]
    lines += ["[actors.large]", f'type = "{here}.test_bounded_memory:{first.__name__}"']
    if first is Enlarges:
        lines += ['inputs = ["numbers"]']
    else:
        lines += ["[actors.nothing]", f'type = "{here}.test_bounded_memory:Takes"', 'inputs = ["numbers"]']
    lines += ["[actors.out]", 'type = "csv-sink"', 'inputs = ["large"]', 'path = "/dev/null"']
    (tmp_path / "large.toml").write_text("\n".join(lines))
    how = ["--set", f"deploy.workers={workers}", "--set", "deploy.placement=round-robin"]
    with launched(tmp_path, "large.toml", *how, "--report", "report.json") as run:
        status, _, errors = run.wait()
    assert status == 0, errors
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["events_out"]["large"] == LARGE
    assert 0 < report["peak_pss_mb"] < 250
