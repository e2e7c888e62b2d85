"""A run that fails ends at once, says who failed and why, commits nothing and leaves nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.sink import END, Sink
from actorstream.errors import OperatorError, RunError
from actorstream.events.batch import Batch
from actorstream.launch.run import run_spec
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Journal, Number, Numbers, Pass

WITHIN_S = 20.0
"""Long after the grace of half a second, on a machine that does much else; it takes 0.1 to 0.7 s."""

DEPLOYMENTS = [
    pytest.param({}, id="local"),
    pytest.param({"transport": "shm", "workers": 2, "batch_size": 64}, id="shm"),
    pytest.param(
        {"transport": "shm", "workers": 4, "placement": "round-robin", "edge_bytes": 1, "batch_size": 64},
        id="shm-pipeline",
    ),
    pytest.param({"fork": True}, id="one-forked-worker"),
]
EVERYWHERE = pytest.mark.parametrize("deploy", DEPLOYMENTS)


def run(topology: Topology, **deploy: Any) -> Any:
    fork = deploy.pop("fork", False)
    settings = {"transport": "local", "workers": 1, **deploy}
    return run_spec(topology.spec(), load_deploy(None, (), **settings), fork=fork)


class Raises(Actor):
    """Raises at value 777, in the hook it is told to."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, where: str = "event", when: str = "") -> None:
        self.where, self.when = where, when
        if where == "constructor":
            raise ValueError("broken on purpose")

    def fails(self, where: str) -> None:
        if self.where == where:
            if self.when:
                Journal(Path(self.when)).write(time.monotonic())
            raise ValueError("broken on purpose")

    def on_start(self) -> None:
        self.fails("start")
        if self.where == "timer":
            self.set_timer("t", after=0.001)

    def on_event(self, event: Number) -> Number:
        if event.value == 777:
            self.fails("event")
        return event

    def on_timer(self, name: str) -> None:
        self.fails("timer")

    def on_end(self) -> None:
        self.fails("end")

    def on_stop(self) -> None:
        self.fails("stop")


class RaisesInHeartbeat(Raises):
    def on_heartbeat(self, frontier: int) -> None:
        self.fails("heartbeat")


class RaisesInBatch(Actor):
    def on_batch(self, batch: Batch) -> Batch:
        if (batch["value"] == 777).any():
            raise ValueError("broken on purpose")
        return batch


class RaisesAsync(Actor):
    async def on_event(self, event: Number) -> Number:
        await asyncio.sleep(0)
        if event.value == 777:
            raise ValueError("broken on purpose")
        return event


class Endless(Numbers):
    """Never ends by itself."""

    def read(self, max_rows: int) -> Batch | None:
        return super().read(min(max_rows, 100))


class RaisesInSource(Numbers):
    def __init__(self, where: str = "read", count: int = 100_000_000) -> None:
        super().__init__(count)
        self.where = where

    def open(self, partitions: list[str]) -> None:
        if self.where == "open":
            raise ValueError("broken on purpose")
        super().open(partitions)

    def partitions(self) -> list[str]:
        if self.where == "partitions":
            raise ValueError("broken on purpose")
        return super().partitions()

    def read(self, max_rows: int) -> Batch | None:
        batch = super().read(max_rows)
        if self.where == "read" and batch is not None and batch["value"][-1] > 10_000:
            raise ValueError("broken on purpose")
        return batch


class Staged(Sink):
    """Notes prepare, commit and abort; raises in the one it is told to."""

    def __init__(self, journal: str, fails: str = "", replica_fails: int = 0) -> None:
        self.journal, self.fails, self.replica_fails = Journal(Path(journal)), fails, replica_fails
        self.rows = 0

    def on_start(self) -> None:
        self.journal.write("start", self.replica)

    def on_batch(self, batch: Batch) -> None:
        self.rows += batch.rows

    def _note(self, what: str, token: Any) -> None:
        if self.fails == what and self.replica == self.replica_fails:
            raise ValueError("broken on purpose")
        self.journal.write(what, self.replica, "END" if token == END else token)

    def prepare(self, barrier: int) -> Any:
        self._note("prepare", barrier)
        return [self.replica, self.rows]

    def commit(self, token: Any) -> None:
        self._note("commit", token)

    def abort(self, token: Any) -> None:
        self._note("abort", token)


def assert_all_that_started_aborted(journal: Journal) -> None:
    """A worker that heard of the failure before it made its sink has nothing to abort."""
    lines = journal.lines()
    started = {line.removeprefix("start ") for line in lines if line.startswith("start")}
    aborted = [line.split()[1] for line in lines if line.startswith("abort") and line.endswith(" None")]
    assert started <= set(aborted) and len(set(aborted)) == len(aborted)


def failing(journal: Journal, operator: type[Actor], *, count: int = 100_000_000, **keys: Any) -> Topology:
    """Two sources, the operator (replicas a and b), staged sinks; endless unless `count` says otherwise."""
    topology = Topology("failing")
    stream = topology.source(Endless, name="source", count=count)
    stream = stream.shuffle().through(operator, name="broken", replicas=2, **keys)
    stream.shuffle().into(Staged, name="sink", replicas=2, journal=str(journal.path))
    return topology


@EVERYWHERE
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("operator", [Raises, RaisesInBatch, RaisesAsync])
def test_an_operator_that_raises_is_named_with_replica_event_and_traceback(
    deploy: dict[str, Any], operator: type[Actor], journal: Journal
) -> None:
    with pytest.raises(OperatorError) as caught:
        run(failing(journal, operator), **deploy)
    error = caught.value
    assert error.actor == "broken"
    assert error.replica in (0, 1)
    assert error.error == "ValueError: broken on purpose"
    assert "Number(value=" in error.event
    if operator is not RaisesInBatch:
        assert error.event == "Number(value=777, group=70)"
    assert 'raise ValueError("broken on purpose")' in error.traceback
    assert not [line for line in journal.lines() if line.startswith("commit")]
    assert_all_that_started_aborted(journal)


@EVERYWHERE
@pytest.mark.parametrize("where", ["constructor", "start", "timer", "heartbeat", "end", "stop"])
def test_every_hook_that_raises_names_its_actor(deploy: dict[str, Any], where: str, journal: Journal) -> None:
    count = 10_000 if where in ("end", "stop", "heartbeat") else 100_000_000
    operator = RaisesInHeartbeat if where == "heartbeat" else Raises
    with pytest.raises(OperatorError) as caught:
        run(failing(journal, operator, count=count, where=where), **deploy)
    assert caught.value.actor == "broken"
    assert "ValueError: broken on purpose" in caught.value.error
    if where != "stop":  # on_stop comes after the commit
        assert not [line for line in journal.lines() if line.startswith("commit")]


@EVERYWHERE
@pytest.mark.parametrize("where", ["partitions", "open", "read"])
def test_a_source_that_raises_is_named(deploy: dict[str, Any], where: str, journal: Journal) -> None:
    topology = Topology("failing")
    stream = topology.source(RaisesInSource, name="spring", where=where)
    stream.shuffle().into(Staged, name="sink", replicas=2, journal=str(journal.path))
    with pytest.raises(OperatorError) as caught:
        run(topology, **deploy)
    assert caught.value.actor == "spring"
    assert "broken on purpose" in caught.value.error
    assert not [line for line in journal.lines() if line.startswith("commit")]


@pytest.mark.parametrize("deploy", DEPLOYMENTS[1:])
def test_a_run_ends_soon_after_the_error(deploy: dict[str, Any], journal: Journal, tmp_path: Path) -> None:
    raised = Journal(tmp_path / "raised")
    with pytest.raises(OperatorError):
        run(failing(journal, Raises, where="event", when=str(raised.path)), **deploy)
    ended = time.monotonic()
    assert ended - float(raised.lines()[0]) < WITHIN_S


class NeverStops(Pass):
    """on_stop and abort that hang must not keep the run."""

    def on_stop(self) -> None:
        threading.Event().wait()


def test_hooks_of_the_end_that_hang_do_not_hold_up_a_failed_run(journal: Journal, tmp_path: Path) -> None:
    raised = Journal(tmp_path / "raised")
    topology = Topology("failing")
    stream = topology.source(Endless, name="source", count=100_000_000).shuffle()
    stream = stream.through(Raises, name="broken", where="event", when=str(raised.path))
    stream.shuffle().through(NeverStops, replicas=2).shuffle().into(
        Staged, name="sink", journal=str(journal.path)
    )
    with pytest.raises(OperatorError, match="'broken'"):
        run(topology, transport="shm", workers=2)
    assert time.monotonic() - float(raised.lines()[0]) < WITHIN_S


# -- sinks


@EVERYWHERE
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("replica", [0, 1])
def test_a_sink_that_cannot_prepare_keeps_all_from_committing(
    deploy: dict[str, Any], replica: int, journal: Journal
) -> None:
    topology = Topology("failing")
    stream = topology.source(Numbers, count=1000).shuffle()
    stream.into(
        Staged, name="sink", replicas=2, journal=str(journal.path), fails="prepare", replica_fails=replica
    )
    with pytest.raises(OperatorError) as caught:
        run(topology, **deploy)
    assert (caught.value.actor, caught.value.replica) == ("sink", replica)
    assert not [line for line in journal.lines() if line.startswith("commit")]
    assert f"start {replica}" in journal.lines()
    assert_all_that_started_aborted(journal)


@EVERYWHERE
def test_a_sink_that_cannot_commit_is_named_and_the_others_still_commit_in_other_workers(
    deploy: dict[str, Any], journal: Journal
) -> None:
    topology = Topology("failing")
    stream = topology.source(Numbers, count=1000).shuffle()
    stream.into(Staged, name="sink", replicas=2, journal=str(journal.path), fails="commit", replica_fails=1)
    with pytest.raises(OperatorError) as caught:
        run(topology, **deploy)
    assert (caught.value.actor, caught.value.replica) == ("sink", 1)
    assert [line for line in journal.lines() if line.startswith("commit 0")]


@EVERYWHERE
def test_all_prepare_before_anyone_commits(deploy: dict[str, Any], journal: Journal) -> None:
    topology = Topology("staged")
    stream = topology.source(Numbers, count=1000, parts=3, replicas=3).shuffle()
    stream.into(Staged, name="sink", replicas=3, journal=str(journal.path))
    run(topology, **deploy)
    words = [line.split() for line in journal.lines() if not line.startswith("start")]
    assert sorted(" ".join(line[:3]) for line in words[:3]) == [f"prepare {i} END" for i in range(3)]
    assert sorted(line[0] + line[1] for line in words[3:]) == ["commit0", "commit1", "commit2"]
    assert sum(int(line[3].rstrip("]")) for line in words[3:]) == 1000


# -- what does not fit


class WrongType(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_event(self, event):  # type: ignore[no-untyped-def]
        return "text" if event.value == 777 else event


class WrongField(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_event(self, event):  # type: ignore[no-untyped-def]
        return Number(event.value, "text") if event.value == 777 else event  # type: ignore[arg-type]


class NoOutput(Sink):
    def on_event(self, event):  # type: ignore[no-untyped-def]
        return event


class WrongTypeAnnotated(Actor):
    def on_event(self, event: Number) -> Number:
        return "text" if event.value == 777 else event  # type: ignore[return-value]


class WrongFieldYielded(Actor):
    def on_event(self, event: Number) -> Iterator[Number]:
        yield Number(event.value, "text") if event.value == 777 else event  # type: ignore[arg-type]


class AddsEach(Sink):
    """Trips over what is no number."""

    def on_event(self, event: Number) -> None:
        assert event.value + event.group >= 0


class AddsAll(Sink):
    def on_batch(self, batch: Batch) -> None:
        assert (batch["value"] + batch["group"]).min() >= 0


@pytest.mark.parametrize("deploy", DEPLOYMENTS[:3])
@pytest.mark.parametrize("consumer", [AddsEach, AddsAll])
@pytest.mark.parametrize("operator", [WrongType, WrongField, WrongTypeAnnotated, WrongFieldYielded])
def test_an_event_of_another_type_is_an_error_of_who_made_it(
    operator: type[Actor], consumer: type[Sink], deploy: dict[str, Any]
) -> None:
    for on_error in ("fail",) if deploy else ("fail", "skip"):
        topology = Topology("failing")
        stream = topology.source(Numbers, name="source", count=1000).through(operator, name="broken")
        stream.into(consumer, name="sink", on_error=on_error)
        with pytest.raises(OperatorError) as caught:
            run(topology, **deploy)
        assert caught.value.actor == "broken"
        assert "text" in str(caught.value)


@pytest.mark.parametrize("on_error", ["fail", "skip", "dead-letter"])
def test_on_error_decides_about_no_event_that_was_made_and_does_not_fit(on_error: str) -> None:
    topology = Topology("failing")
    topology.source(Numbers, count=1000).through(WrongField, name="broken", on_error=on_error).collect()
    message = (
        r"'broken' \(replica 0\) failed: what it made cannot be sent on: field 'group'.*'text' is a str.*"
        "`on_error` decides only"
    )
    with pytest.raises(OperatorError, match=message):
        run(topology)


@EVERYWHERE
def test_a_sink_that_returns_events_is_told_that_it_has_no_output(deploy: dict[str, Any]) -> None:
    topology = Topology("failing")
    topology.source(Numbers, name="source", count=1000).into(NoOutput, name="sink")
    with pytest.raises(OperatorError, match=r"'sink'.*output 'default'"):
        run(topology, **deploy)


def no_route(batch: Batch, consumers: int) -> Any:
    return [consumers] * batch.rows


@pytest.mark.parametrize("deploy", DEPLOYMENTS[:3])
def test_a_route_that_leads_nowhere_is_an_error_of_its_function(
    deploy: dict[str, Any], journal: Journal
) -> None:
    topology = Topology("failing")
    stream = topology.source(Numbers, name="source", count=1000)
    stream.routed("tests.integration.test_failures:no_route").into(
        Staged, name="sink", replicas=2, journal=str(journal.path)
    )
    with pytest.raises(RunError, match="no_route"):
        run(topology, **deploy)


# -- on_error


@EVERYWHERE
def test_skip_and_dead_letters_let_the_run_go_on(deploy: dict[str, Any]) -> None:
    topology = Topology("failing")
    source = topology.source(Numbers, name="source", count=2000)
    skipping = source.shuffle().through(Raises, name="skips", replicas=2, on_error="skip")
    skipping.to_one().into(Collect, name="out")
    letters = source.shuffle().through(Raises, name="writes", replicas=2, on_error="dead-letter")
    letters.to_one().into(Collect, name="rest")
    letters.dead.to_one().into(Collect, name="dead")
    result = run(topology, **deploy)
    rows = [(value, value % 101) for value in range(2000) if value != 777]
    assert sorted(result["out"]) == sorted(result["rest"]) == rows
    assert result["dead"] == [("Number(value=777, group=70)", "ValueError: broken on purpose", "writes")]
    assert result.report["dead"] == 2
