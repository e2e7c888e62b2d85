"""What is shown of a run, from the counters as they stand."""

from __future__ import annotations

import io
import os
import pty
from contextlib import suppress

import pytest

from actorstream.launch.progress import Progress
from actorstream.launch.report import Sampler
from actorstream.metrics.counters import Counter, bucket_of, bucket_upper
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Double, Numbers


@pytest.fixture
def job() -> Job:
    topology = Topology("shown")
    stream = topology.source(Numbers, name="source").by("group").through(Double, name="double", replicas=2)
    stream.to_one().into(Collect, name="sink")
    return compile_job(topology.spec(), load_deploy(None, (), transport="local", workers=1))


def progress_of(job: Job, stream: io.TextIOBase | None = None) -> Progress:
    return Progress(job, Sampler(job, 0.0), stream or io.StringIO())  # type: ignore[arg-type]


def source(job: Job) -> int:
    return next(replica.id for replica in job.plan.replicas if replica.actor == "source")


def test_a_line_says_time_events_and_rate(job: Job) -> None:
    progress = progress_of(job)
    job.counters.row(source(job))[Counter.EVENTS_OUT] = 50_000
    assert progress.line(progress._started + 10) == "  10.0 s  50,000 events  5,000/s"
    job.counters.row(source(job))[Counter.EVENTS_OUT] = 70_000
    assert progress.line(progress._started + 12) == "  12.0 s  70,000 events  10,000/s", (
        "the rate since the last line"
    )


def test_where_the_size_is_known_it_says_how_long_it_will_take(job: Job) -> None:
    progress = progress_of(job)
    row = job.counters.row(source(job))
    row[Counter.BYTES_DONE], row[Counter.BYTES_TOTAL] = 25_000_000, 100_000_000
    assert progress.line(progress._started + 10).endswith("  25% of 100.0 MB, about 30 s left")
    row[Counter.BYTES_DONE] = 100_000_000
    assert progress.line(progress._started + 40).endswith("  100% of 100.0 MB")
    row[Counter.BYTES_DONE] = 0
    assert progress.line(progress._started + 41).endswith("  0% of 100.0 MB"), "no estimate from nothing"


def test_lines_come_every_two_seconds_where_nobody_watches(job: Job) -> None:
    stream = io.StringIO()
    progress = progress_of(job, stream)
    progress.tick()
    assert stream.getvalue() == ""
    progress._next = 0.0
    progress.tick()
    progress.tick()
    assert stream.getvalue().count("\n") == 1
    assert "events" in stream.getvalue()
    progress.stop()


def test_the_table_has_a_row_for_each_actor(job: Job) -> None:
    progress = progress_of(job)
    for replica in job.plan.replicas:
        row = job.counters.row(replica.id)
        row[Counter.EVENTS_IN] = 1000
        row[Counter.EXECUTE_NS] = 500_000_000
    job.counters.histogram(job.plan.replicas[-1].id)[bucket_of(2_000_000)] = 10
    table = progress.table(progress._started + 1)
    cells = list(zip(*(column.cells for column in table.columns)))
    assert [row[0] for row in cells] == ["source", "double", "sink"]
    double = dict(zip((column.header for column in table.columns), cells[1]))
    assert double["replicas"] == "2"
    assert double["in"] == "2,000"
    assert double["in/s"] == "2,000"
    assert double["busy"] == "50%"
    assert cells[2][-2] == f"{bucket_upper(bucket_of(2_000_000)) / 1e6:.2f}", "p99 in ms"


@pytest.mark.parametrize("name", ["shown", "[/shown]", "[red]shown"])
def test_on_a_terminal_the_table_is_drawn_and_taken_away_at_the_end(job: Job, name: str) -> None:
    job.graph.name = name
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream:
        progress = progress_of(job, stream)
        progress._next = 0.0
        progress.tick()
        progress.stop()
        progress.stop()
    shown = ""
    with suppress(OSError):  # all has been read, and nobody writes any more
        while part := os.read(leader, 1 << 16):
            shown += part.decode()
    os.close(leader)
    for part in (name, "source", "double", "sink"):
        assert part in shown
