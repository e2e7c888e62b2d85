"""A sink that stalls bounds everybody's memory: budgets and little more, however much input waits."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from itertools import product
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
from actorstream.launch.report import Sampler, pss_bytes
from actorstream.launch.run import run_job
from actorstream.metrics.counters import Counter
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.covering import sampled
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


@cache
def memory_when_idle(operator: type[Actor], keys: str, deploy: str) -> int:
    """Bytes of all processes of a run through which nothing goes; `keys` and `deploy` in JSON."""
    topology = topology_of(Silent, operator, Takes, **json.loads(keys))
    idle, nothing, _ = memory_when_quiet(topology, **json.loads(deploy))
    assert nothing == 0
    return idle


DEPLOYMENTS = [
    pytest.param({"transport": "shm", "workers": 2}, id="shm"),
    pytest.param(
        {"transport": "shm", "workers": 3, "placement": "round-robin"},
        id="shm-pipeline",
        marks=pytest.mark.slow,
    ),
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
    idle = memory_when_idle(quiet, json.dumps(keys), json.dumps(deploy))
    stalled, offered, budgets = memory_when_quiet(topology_of(Numbers, operator, sink, **keys), **deploy)
    assert offered > 0
    assert stalled - idle <= budgets + SLACK, f"{(stalled - idle) / 2**20:.1f} MB over the idle run"


LARGE = 400
SMALL = 40_000
"""Rows that come before the large ones of `Grows`."""


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


class Grows(Actor):
    """Very many small rows, and behind them rows of a MiB: how many rows fit into memory is not to be told from the last."""

    def on_event(self, event: Number) -> Large:
        return Large(f"{event.value:07}-" * (1 << 17 if event.value >= SMALL else 1))


class Makes(Actor):
    """Very many rows of one event."""

    def on_event(self, event: Number) -> Iterator[Large]:
        for number in range(LARGE):
            yield Large(f"{number:07}-" * (1 << 17))


class MakesAtOnce(Actor):
    """Very many rows of one batch."""

    outputs: ClassVar[dict[str, Any]] = {"default": Large}

    def on_batch(self, batch: Batch) -> Iterator[Batch]:
        for number in range(batch.rows * LARGE):
            yield Batch.of_columns(Large, {"text": [f"{number:07}-" * (1 << 17)]})


class MakesAtTheEnd(Actor):
    """Very many rows of no event."""

    outputs: ClassVar[dict[str, Any]] = {"default": Large}

    def on_event(self, event: Number) -> None:
        """Takes everything."""

    def on_end(self) -> Iterator[Large]:
        for number in range(LARGE):
            yield Large(f"{number:07}-" * (1 << 17))


class Enlarges(Actor):
    """A row of a MiB for each number."""

    def on_event(self, event: Number) -> Large:
        return Large(f"{event.value:07}-" * (1 << 17))


def peak_mb(folder: Path, topology: str, workers: int) -> float:
    """The peak of all processes of a run whose actor `large` gives `LARGE` rows of a MiB, and perhaps some small ones. In
    processes of their own: a worker forked from this one would count what other tests have left here."""
    (folder / "large.toml").write_text(topology)
    how = ["--set", f"deploy.workers={workers}", "--set", "deploy.placement=round-robin"]
    with launched(folder, "large.toml", *how, "--report", "report.json") as run:
        status, _, errors = run.wait()
    assert status == 0, errors
    report = json.loads((folder / "report.json").read_text())
    assert report["events_out"]["large"] in (LARGE, LARGE + SMALL)
    peak: float = report["peak_pss_mb"]
    assert peak > 0
    return peak


HERE = "tests.integration.test_bounded_memory"
SINK = """
[actors.out]
type = "csv-sink"
inputs = ["large"]
path = "/dev/null"
"""


@pytest.mark.parametrize(
    "workers, first",
    [
        *product([2], [LargeRows, LiveLargeRows, Grows, MakesAtOnce]),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [
                *product([2], [LargeReads, Enlarges, Makes, MakesAtTheEnd]),
                *product([1], [LargeRows, Grows]),
            ]
        ),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_large_rows_are_never_many_in_memory(first: type[Actor], workers: int, tmp_path: Path) -> None:
    count = {Grows: LARGE + SMALL, Makes: 1, MakesAtOnce: 1}.get(first, LARGE)
    lines = [
        'name = "large"',
        "[actors.numbers]",
        'type = "tests.integration.parts:Numbers"',
        f"count = {count}",
    ]
    lines += ["[actors.large]", f'type = "{HERE}:{first.__name__}"']
    if issubclass(first, Source):
        lines += ["[actors.nothing]", f'type = "{HERE}:Takes"', 'inputs = ["numbers"]']
    else:
        lines += ['inputs = ["numbers"]']
    assert peak_mb(tmp_path, "\n".join(lines) + SINK, workers) < 250


class Keyed(Event):
    __event_time__ = "time"
    time: int
    key: int


class KeyedText(Event):
    __event_time__ = "time"
    time: int
    key: int
    text: str


class Keys(Source):
    """Small rows of one key."""

    outputs: ClassVar[dict[str, Any]] = {"default": Keyed}

    def events(self) -> Iterator[Keyed]:
        for number in range(LARGE):
            yield Keyed(number, 0)


class OneText(Source):
    """One large row of that key."""

    outputs: ClassVar[dict[str, Any]] = {"default": KeyedText}

    def events(self) -> Iterator[KeyedText]:
        yield KeyedText(0, 0, "x" * (1 << 20))


class Texts(Source):
    """One large row that is in as many windows."""

    outputs: ClassVar[dict[str, Any]] = {"default": KeyedText}

    def events(self) -> Iterator[KeyedText]:
        yield KeyedText(LARGE - 1, 0, "x" * (1 << 20))


OPERATORS = {
    "join": """
type = "join"
inputs = ["keys", "text"]
on = "key"
window = { type = "tumbling", size = 1000 }
""",
    "asof-join": """
type = "asof-join"
inputs = ["keys", "text"]
by = "key"
""",
    "static-join": """
type = "static-join"
inputs = ["keys"]
table = "text"
on = "key"
""",
    "top": f"""
type = "top"
inputs = ["text"]
n = 1
by = "time"
window = {{ type = "sliding", size = {LARGE}, slide = 1 }}
""",
    "aggregate": f"""
type = "aggregate"
inputs = ["text"]
key = "key"
window = {{ type = "sliding", size = {LARGE}, slide = 1 }}
aggregates = {{ text = "last(text)" }}
""",
    "aggregate by large keys": f"""
type = "aggregate"
inputs = ["text"]
key = "text"
window = {{ type = "sliding", size = {LARGE}, slide = 1 }}
aggregates = {{ rows = "count()" }}
""",
}


@sampled("operator", list(OPERATORS), quick=3)
def test_one_large_row_that_comes_out_often_is_never_often_in_memory(operator: str, tmp_path: Path) -> None:
    lines = ['name = "large"', "[actors.large]", OPERATORS[operator]]
    lines += ["[actors.text]", f'type = "{HERE}:{"OneText" if "join" in operator else "Texts"}"']
    if "join" in operator:
        lines += ["[actors.keys]", f'type = "{HERE}:Keys"']
    # some 100 MB of programs, and up to 220 MB under way between three workers if the sink is slow; all rows are 400 MB
    assert peak_mb(tmp_path, "\n".join(lines) + SINK, workers=3) < 400
