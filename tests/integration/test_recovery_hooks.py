"""Hooks for recovery, without a store: barriers align, snapshots agree with positions, sinks commit in two phases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from select import select
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream.actors.actor import Actor
from actorstream.checkpoint.checkpoint import Checkpoint
from actorstream.checkpoint.store import CheckpointStore
from actorstream.connectors.sink import END, Sink
from actorstream.connectors.source import Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.launch.launcher import Launcher
from actorstream.launch.run import RunResult, run_job
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Ints, Journal, Live, Number, Numbers, Pass

DEPLOYMENTS = [
    pytest.param({"workers": 1}, id="one-worker"),
    pytest.param({"workers": 2}, id="two-workers"),
    pytest.param({"workers": 2, "edge_bytes": 1, "batch_size": 50, "pipelining": False}, id="one-jumbo"),
    pytest.param({"workers": 4, "placement": "round-robin"}, id="pipeline"),
]
EVERYWHERE = pytest.mark.parametrize("deploy", DEPLOYMENTS)
ENDLESS = 1_000_000_000


class Totals(Actor):
    """Hands rows on; its state is how many it has seen and their sum."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, state: list[int] | None = None) -> None:
        self.state = state or [0, 0]

    def on_batch(self, batch: Batch) -> Batch:
        self.state = [self.state[0] + batch.rows, self.state[1] + int(batch["value"].sum())]
        return batch


class TwoPhase(Sink):
    """Its state, and its token, is what it has received; notes the calls of the commit protocol."""

    def __init__(self, journal: str) -> None:
        self.journal = Journal(Path(journal))
        self.state: list[int] = [0, 0]

    def on_batch(self, batch: Batch) -> None:
        self.state = [self.state[0] + batch.rows, self.state[1] + int(batch["value"].sum())]

    def prepare(self, barrier: int) -> Any:
        self.journal.write("prepare", "END" if barrier == END else barrier)
        return {"barrier": barrier, "rows": self.state[0]}

    def commit(self, token: Any) -> None:
        self.journal.write("commit", "END" if token["barrier"] == END else token["barrier"], token["rows"])

    def abort(self, token: Any) -> None:
        self.journal.write("abort", token["barrier"] if token else None)


class PanicError(BaseException):
    """As the errors of Rust's packages are: no Exception."""


class Panics(TwoPhase):
    """Cannot commit its second barrier."""

    def commit(self, token: Any) -> None:
        if token["barrier"] == 2:
            raise PanicError("on purpose")
        super().commit(token)


def job_of(topology: Topology, **deploy: Any) -> Job:
    return compile_job(topology.spec(), load_deploy(None, (), **{"transport": "shm", "workers": 1, **deploy}))


def run_with(job: Job, control: Callable[[Launcher], Callable[[], None]]) -> tuple[RunResult, Launcher]:
    """Runs a job; `control` makes the function that is called at every tick."""
    launchers: list[Launcher] = []

    def on_start(launcher: Launcher, sampler: Any) -> Callable[[], None]:
        launchers.append(launcher)
        return control(launcher)

    result = run_job(job, on_start=on_start)
    return result, launchers[0]


def barriers_then_drain(count: int) -> Callable[[Launcher], Callable[[], None]]:
    """One barrier after the other, each when the last one is in everywhere; then the sources end."""

    def control(launcher: Launcher) -> Callable[[], None]:
        asked = [0]

        def tick() -> None:
            complete = len(launcher.snapshots.get(asked[0], ())) == len(launcher.job.plan.replicas)
            if asked[0] == 0 or complete:
                if asked[0] == count:
                    launcher.interrupt()
                asked[0] += 1
                if asked[0] <= count:
                    launcher.start_barrier(asked[0])

        return tick

    return control


def states(launcher: Launcher, barrier: int) -> dict[str, list[Any]]:
    """Actor -> the snapshots of its replicas at `barrier`, as values."""
    found: dict[str, list[Any]] = {}
    for planned in launcher.job.plan.replicas:
        snapshot = launcher.snapshots[barrier][planned.id]
        assert (snapshot.barrier, snapshot.replica) == (barrier, planned.id)
        found.setdefault(planned.actor, []).append(msgspec.msgpack.decode(snapshot.state))
    return found


def read_so_far(sources: list[Any], parts: int) -> tuple[int, int]:
    """How many rows lie before the positions of all partitions, and the sum of their values."""
    positions = {name: row for source in sources for name, row in source["positions"].items()}
    assert len(positions) == parts
    rows = [part + parts * row for part in range(parts) for row in range(positions[f"part-{part:03}"])]
    return len(rows), sum(rows)


def totals(snapshots: list[Any]) -> tuple[int, int]:
    return sum(each["state"][0] for each in snapshots), sum(each["state"][1] for each in snapshots)


def topology_of(journal: Journal, count: int = ENDLESS, sink: type[TwoPhase] = TwoPhase) -> Topology:
    """A diamond with keys: positions and every state must agree at every barrier."""
    topology = Topology("recovery")
    source = topology.source(Numbers, name="source", count=count, parts=3, replicas=2, rate=200_000)
    keyed = source.by("group").through(Totals, name="keyed", replicas=3)
    forward = source.through(Totals, name="forward", replicas=2).through(Totals, name="chained", replicas=2)
    both = keyed.shuffle().through(Totals, forward.shuffle(), name="both", replicas=2)
    both.to_one().into(sink, name="sink", journal=str(journal.path))
    return topology


@EVERYWHERE
def test_every_snapshot_of_a_barrier_agrees_with_the_positions_of_the_sources(
    deploy: dict[str, Any], journal: Journal
) -> None:
    result, launcher = run_with(job_of(topology_of(journal), **deploy), barriers_then_drain(3))
    assert result.interrupted is not None
    assert result.interrupted.drained
    before = 0
    for barrier in (1, 2, 3):
        taken = states(launcher, barrier)
        rows, total = read_so_far(taken["source"], 3)
        assert rows >= before
        before = rows
        for actor in ("keyed", "forward", "chained"):
            assert totals(taken[actor]) == (rows, total), actor
        for actor in ("both", "sink"):
            assert totals(taken[actor]) == (2 * rows, 2 * total), actor
        token = msgspec.msgpack.decode(next(s.token for s in launcher.snapshots[barrier].values() if s.token))
        assert token == {"barrier": barrier, "rows": 2 * rows}


@EVERYWHERE
def test_a_sink_prepares_and_commits_each_barrier_once_and_the_end_last(
    deploy: dict[str, Any], journal: Journal
) -> None:
    result, _ = run_with(job_of(topology_of(journal), **deploy), barriers_then_drain(3))
    words = [line.split()[:2] for line in journal.lines()]
    assert words == [[call, barrier] for barrier in ("1", "2", "3", "END") for call in ("prepare", "commit")]
    committed = [int(line.split()[2]) for line in journal.lines() if line.startswith("commit")]
    assert committed == sorted(committed)
    assert committed[-1] == 2 * result.report["events_out"]["source"]


@EVERYWHERE
def test_a_barrier_that_is_asked_for_before_the_workers_run_is_taken_at_the_beginning(
    deploy: dict[str, Any], journal: Journal
) -> None:
    def control(launcher: Launcher) -> Callable[[], None]:
        launcher.start_barrier(1)

        def tick() -> None:
            if (
                len(launcher.snapshots.get(1, ())) == len(launcher.job.plan.replicas)
                and not launcher.interrupts
            ):
                launcher.interrupt()

        return tick

    _, launcher = run_with(job_of(topology_of(journal), **deploy), control)
    taken = states(launcher, 1)
    rows, total = read_so_far(taken["source"], 3)
    assert totals(taken["sink"]) == (2 * rows, 2 * total)


class WaitsForTheOther(Source):
    """A live source that waits, also while barriers pass, until the run is drained."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    async def read(self, max_rows: int) -> Batch | None:
        import asyncio

        await asyncio.Event().wait()
        return None


@EVERYWHERE
def test_barriers_pass_sources_that_have_ended_and_sources_that_wait(
    deploy: dict[str, Any], journal: Journal
) -> None:
    topology = Topology("recovery")
    short = topology.source(Ints, name="short", count=10).through(Totals, name="after_short")
    live = topology.source(Live, name="live", count=100, stays=True)
    waits = topology.source(WaitsForTheOther, name="waits")
    endless = topology.source(Numbers, name="source", count=ENDLESS, rate=100_000)
    both = short.to_one().through(Totals, live.to_one(), waits.to_one(), endless.to_one(), name="both")
    both.into(TwoPhase, name="sink", journal=str(journal.path))
    _, launcher = run_with(job_of(topology, **deploy), barriers_then_drain(4))
    taken = states(launcher, 4)
    assert [(each["state"], each["ended"]) for each in taken["after_short"]] == [([10, 45], True)]
    live_rows = taken["live"][0]["positions"]["0"]
    rows, _ = read_so_far(taken["source"], 1)
    assert totals(taken["both"])[0] == totals(taken["sink"])[0] == 10 + live_rows + rows


class FailsAfterBarrier(TwoPhase):
    """Receives rows until it has prepared barrier 1, then raises."""

    prepared = False

    def on_batch(self, batch: Batch) -> None:
        if self.prepared:
            raise ValueError("after the barrier")
        super().on_batch(batch)

    def prepare(self, barrier: int) -> Any:
        self.prepared = True
        return super().prepare(barrier)


class NeverPasses(Sink):
    """No barrier after its first batch completes, because it never comes to the end of it; says when it has it."""

    def __init__(self, journal: str) -> None:
        self.journal = Journal(Path(journal))

    async def on_batch(self, batch: Batch) -> None:
        import asyncio

        self.journal.write("stuck")
        await asyncio.Event().wait()


@pytest.mark.usefixtures("patient")
def test_whatever_a_commit_raises_ends_the_run(journal: Journal) -> None:
    with pytest.raises(OperatorError, match="PanicError: on purpose") as caught:
        run_with(job_of(topology_of(journal, sink=Panics)), barriers_then_drain(3))
    assert caught.value.actor == "sink"
    committed = [line.split()[1] for line in journal.lines() if line.startswith("commit")]
    assert committed == ["1"]


def test_what_was_prepared_and_not_committed_is_aborted(journal: Journal) -> None:
    topology = Topology("recovery")
    topology.source(Numbers, name="source", count=ENDLESS, rate=100_000).through(Pass).into(
        FailsAfterBarrier, name="sink", journal=str(journal.path)
    )
    topology.source(Numbers, name="other", count=ENDLESS, rate=100_000).into(
        NeverPasses, name="never", journal=str(journal.path)
    )

    def control(launcher: Launcher) -> Callable[[], None]:
        asked = []

        def tick() -> None:
            if not asked and journal.lines() == ["stuck"]:
                asked.append(1)
                launcher.start_barrier(1)

        return tick

    with pytest.raises(OperatorError, match="after the barrier"):
        run_with(job_of(topology, workers=3, placement="round-robin"), control)
    assert journal.lines() == ["stuck", "prepare 1", "abort 1", "abort None"]


def test_what_a_checkpoint_names_is_not_aborted_by_a_worker_that_fails_while_it_is_written(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology = Topology("recovery")
    topology.source(Numbers, name="source", count=ENDLESS, rate=100_000).into(
        FailsAfterBarrier, name="sink", journal=str(journal.path)
    )
    write = CheckpointStore.write

    def control(launcher: Launcher) -> Callable[[], None]:
        def write_late(store: CheckpointStore, checkpoint: Checkpoint) -> None:
            select([launcher.workers[0].control.fileno()], [], [])  # until the worker says that it has failed
            write(store, checkpoint)

        monkeypatch.setattr(CheckpointStore, "write", write_late)
        return lambda: None

    store = str(tmp_path / "state")
    with pytest.raises(OperatorError, match="after the barrier"):
        run_with(job_of(topology, checkpoint={"path": store, "every": "50ms"}), control)
    recorded = CheckpointStore(store).latest()
    assert recorded is not None
    assert recorded.number == 1
    assert journal.lines() == ["prepare 1", "abort None"]


class BadSnapshot(Pass):
    def snapshot(self) -> Any:
        return object()


class RaisingSnapshot(Pass):
    def snapshot(self) -> Any:
        raise ValueError("no state today")


@pytest.mark.parametrize(
    ("operator", "message"), [(BadSnapshot, "object"), (RaisingSnapshot, "no state today")]
)
def test_a_snapshot_that_fails_names_its_actor(operator: type[Actor], message: str, journal: Journal) -> None:
    topology = Topology("recovery")
    topology.source(Numbers, name="source", count=ENDLESS, rate=100_000).through(operator, name="bad").into(
        TwoPhase, name="sink", journal=str(journal.path)
    )
    with pytest.raises(OperatorError, match=message) as caught:
        run_with(job_of(topology, workers=2), barriers_then_drain(1))
    assert caught.value.actor == "bad"
    assert not [line for line in journal.lines() if line.startswith("commit")]


# -- going on from a snapshot


class Resumed(Numbers):
    """Goes on at `positions`, as recovery will do it: after `open`, before the first read."""

    def __init__(self, positions: dict[str, int], count: int, parts: int) -> None:
        super().__init__(count, parts)
        self.positions = positions

    def on_start(self) -> None:
        self.seek(self.positions)


@EVERYWHERE
def test_positions_and_restored_state_go_on_with_exactly_the_missing_rows(
    deploy: dict[str, Any], journal: Journal
) -> None:
    first = Topology("recovery")
    source = first.source(Numbers, name="source", count=ENDLESS, parts=3, replicas=2, rate=100_000)
    source.to_one().through(Totals, name="totals").into(TwoPhase, name="sink", journal=str(journal.path))
    _, launcher = run_with(job_of(first, **deploy), barriers_then_drain(2))
    taken = states(launcher, 2)
    rows, _ = read_so_far(taken["source"], 3)
    positions = {name: row for source in taken["source"] for name, row in source["positions"].items()}
    restored = Totals()
    restored.restore(taken["totals"][0]["state"])
    assert restored.snapshot() == taken["totals"][0]["state"]

    count = rows + 5000
    second = Topology("recovery")
    stream = second.source(Resumed, name="source", count=count, parts=3, replicas=2, positions=positions)
    stream = stream.to_one().through(Totals, name="totals", state=restored.state)
    stream.into(Collect, name="out")
    job = job_of(second, **deploy)
    ended, launcher = run_with(job, lambda launcher: lambda: None)
    before = {part + 3 * row for part in range(3) for row in range(positions[f"part-{part:03}"])}
    assert Counter(value for value, _ in ended["out"]) == Counter(set(range(count)) - before)


@pytest.mark.parametrize("source", [Ints, Live])
def test_a_source_of_events_seeks_by_passing_over_what_was_read(source: type[Any]) -> None:
    import asyncio

    async def rows_after(skip: int) -> list[int]:
        actor = source(100)
        actor.open(actor.partitions())
        actor.seek({"0": skip})
        found: list[int] = []
        while True:
            batch = actor.read(7)
            batch = await batch if asyncio.iscoroutine(batch) else batch
            if batch is None:
                assert actor.position() == {"0": skip + len(found)}
                return found
            found.extend(event.value for event in batch.events())

    for skip in (0, 1, 50, 100):
        assert asyncio.run(rows_after(skip)) == list(range(skip, 100))
