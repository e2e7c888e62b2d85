"""Checkpoints of programs: a run whose worker is killed goes on with --resume, and its files are those of an undisturbed
run, on the same plan and on another."""

from __future__ import annotations

import csv
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actorstream.checkpoint.checkpoint import Checkpoint
from actorstream.checkpoint.store import CheckpointStore
from actorstream.errors import ConfigurationError, WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import RunResult, run_job
from actorstream.plan.compile import read_job
from actorstream.runtime.dependency.checkpoint import RestoredProgram
from tests.integration.processes import kill_one, launched
from tests.integration.programs import (
    KeyedCounters,
    Streams,
    SumOfEach,
    ValueBarrier,
    operation_streams,
    value_streams,
)
from tests.integration.worker_kills import killer

RATE = 400
KILLS = 2


class AtEachJoin(ValueBarrier):
    """Wants a checkpoint at each join of its root."""

    def checkpoint(self, state: Any, joins: int, elapsed: int) -> bool:
        return True


HEAD = """
name = "programs"
{sources}
[actors.program]
type = "{program}"
inputs = [{inputs}]
plan = "{plan}"
plan_workers = 3
[actors.result]
type = "csv-sink"
inputs = ["program"]
path = "{out}/result"
"""
SOURCE = """
[actors.{name}]
type = "{type}"
path = "{name}"
event = "{event}"
event_time = "ts"
time_unit = "us"
replicas = {replicas}
{paced}
"""


class Case:
    """A program with its input, as files."""

    def __init__(
        self,
        program: type,
        streams: Streams,
        *,
        in_order: bool,
        plan: str = "communication",
        source: str = "csv-source",
    ) -> None:
        self.program, self.streams, self.in_order, self.plan = program, streams, in_order, plan
        self.source = source

    def write(self, folder: Path) -> None:
        for name, parts in self.streams.items():
            (folder / name).mkdir()
            for number, events in enumerate(parts):
                with (folder / name / f"{number}.csv").open("w", newline="") as file:
                    writer = csv.writer(file)
                    writer.writerow(events[0].__struct_fields__)
                    writer.writerows(msgspec.structs.astuple(each) for each in events)

    def topology(self, out: str, rate: float, plan: str | None = None) -> str:
        """The TOML; `rate`: rows/s of the greatest input, to which the others keep the proportion of their rows."""
        rows = {name: sum(map(len, parts)) for name, parts in self.streams.items()}
        sources = [
            SOURCE.format(
                name=name,
                type=self.source,
                event=_path(type(parts[0][0])),
                replicas=len(parts),
                paced=f"rate = {rate * rows[name] / max(rows.values())}" if rate else "",
            )
            for name, parts in self.streams.items()
        ]
        inputs = ", ".join(f'{{ from = "{name}", order = "dependency" }}' for name in self.streams)
        program = _path(self.program)
        return HEAD.format(
            sources="".join(sources), program=program, inputs=inputs, plan=plan or self.plan, out=out
        )


def _path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__name__}"


VALUES = value_streams(random.Random(3), 2, 2_000, 60)
CASES = {
    "a barrier joins two streams": Case(ValueBarrier, VALUES, in_order=True),
    "one worker": Case(ValueBarrier, VALUES, in_order=True, plan="sequential"),
    "a forest of keys": Case(KeyedCounters, operation_streams(random.Random(4), 1_500), in_order=False),
    "ticks": Case(SumOfEach, {"values": VALUES["values"]}, in_order=True),
    "at each join": Case(AtEachJoin, VALUES, in_order=True),
}


def run(
    folder: Path,
    case: Case,
    out: str,
    *,
    rate: float = 0.0,
    plan: str | None = None,
    workers: int = 2,
    every: str = "10ms",
    resume: bool = True,
    control: Callable[[Launcher], Callable[[], None]] | None = None,
) -> RunResult:
    """One launch of a case whose outputs go to folder `out`."""
    (folder / "topology.toml").write_text(case.topology(out, rate, plan))
    (folder / "deploy.toml").write_text(
        f'batch_size = 20\nworkers = {workers}\n[checkpoint]\npath = "state-{out}"\nevery = "{every}"\n'
    )
    job = read_job(folder / "topology.toml", folder / "deploy.toml")
    if resume:
        restore_job(job)
    return run_job(job, on_start=None if control is None else lambda launcher, _: control(launcher))


def content(folder: Path, case: Case) -> list[str]:
    lines = (folder / "result").read_text().splitlines()
    return lines if case.in_order else sorted(lines)


def kill_often(folder: Path, case: Case, how: list[tuple[str | None, int]]) -> None:
    """Runs a case into folder `disturbed` once for each (plan, workers), and kills a worker each time, after some more
    checkpoints. If all input was read before that could happen, begins anew with slower sources."""
    rate, kills = float(RATE), 0
    while kills < len(how):
        plan, workers = how[kills]
        control = killer(kills, 1 + 2 * kills)
        try:
            run(folder, case, "disturbed", rate=rate, plan=plan, workers=workers, control=control)
        except WorkerDiedError as error:
            assert "--resume to go on from" in str(error)
            assert not (folder / "disturbed" / "result").exists()
            kills += 1
        else:
            shutil.rmtree(folder / "disturbed")
            shutil.rmtree(folder / "state-disturbed")
            rate, kills = rate / 2, 0


@pytest.mark.parametrize(("name", "workers"), [("one worker", 1), *((name, 3) for name in CASES)])
def test_a_program_that_is_killed_and_resumed_leaves_what_an_undisturbed_run_does(
    tmp_path: Path, name: str, workers: int
) -> None:
    case = CASES[name]
    case.write(tmp_path)
    run(tmp_path, case, "undisturbed", workers=workers)
    kill_often(tmp_path, case, [(None, workers)] * KILLS)
    result = run(tmp_path, case, "disturbed", workers=workers)
    read = sum(result.report["events_out"][name] for name in case.streams)
    assert read < sum(len(events) for parts in case.streams.values() for events in parts)
    assert content(tmp_path / "disturbed", case) == content(tmp_path / "undisturbed", case)


@pytest.mark.parametrize("name", ["a barrier joins two streams", "a forest of keys", "ticks"])
def test_a_checkpoint_of_one_plan_goes_on_on_any_other(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    case.write(tmp_path)
    run(tmp_path, case, "undisturbed", plan="sequential", workers=1)
    kill_often(tmp_path, case, [("balanced", 2), ("sequential", 1), ("communication", 3)])
    run(tmp_path, case, "disturbed", plan="balanced", workers=2)
    assert content(tmp_path / "disturbed", case) == content(tmp_path / "undisturbed", case)


def test_a_changed_program_is_refused_and_what_has_changed_is_named(tmp_path: Path) -> None:
    case = CASES["a barrier joins two streams"]
    case.write(tmp_path)
    kill_often(tmp_path, case, [(None, 1)])
    topology = tmp_path / "topology.toml"
    store = str(tmp_path / "state-disturbed")
    last = CheckpointStore(store).latest()
    assert last is not None
    says = dict(last.programs["program"].says)
    for what, before, said in (
        (
            "states",
            ["State(sum: int, mean: float)"],
            r"without State\(sum: int, mean: float\), with new State",
        ),
        ("tags", [*says["tags"], "value@values/2"], r"other tags .* without value@values/2"),
        ("dependence", [], r"other dependence .* with new barrier"),
        ("rows of tags", ["values: barrier"], r"without values: barrier, with new barriers: barrier"),
    ):
        program = msgspec.structs.replace(last.programs["program"], says=says | {what: before})
        CheckpointStore(store).write(msgspec.structs.replace(last, programs={"program": program}))
        job = read_job(topology, tmp_path / "deploy.toml")
        with pytest.raises(ConfigurationError, match=said):
            restore_job(job)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_gets_a_checkpoint_where_it_wants_one(tmp_path: Path, workers: int) -> None:
    """Where the state of a checkpoint is that of a join at the root: after the barrier, nothing is summed."""
    case = Case(AtEachJoin, VALUES, in_order=True)
    case.write(tmp_path)
    store = CheckpointStore(str(tmp_path / "state-out"))
    kept: list[Checkpoint] = []

    def control(launcher: Launcher) -> Callable[[], None]:
        def tick() -> None:
            last = store.latest()
            if last is not None and not last.ended:
                kept.append(last)

        return tick

    rate = 10.0 * RATE
    while not kept:
        run(tmp_path, case, "out", rate=rate, workers=workers, every="1h", resume=False, control=control)
        rate /= 2
    for each in kept:
        job = read_job(tmp_path / "topology.toml", tmp_path / "deploy.toml")
        assert RestoredProgram(each, "program", job.programs["program"]).state() == ValueBarrier.State(0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_fifty_kills_at_random_moments_leave_what_an_undisturbed_run_does(tmp_path: Path, name: str) -> None:
    """Through the command line, each time until the run has ended; each launch on another plan and with other workers."""
    case = CASES[name]
    case.write(tmp_path)
    run(tmp_path, case, "undisturbed")
    (tmp_path / "topology.toml").write_text(case.topology("disturbed", RATE))
    (tmp_path / "deploy.toml").write_text('batch_size = 20\n[checkpoint]\npath = "state"\nevery = "20ms"\n')
    command = ["topology.toml", "--deploy", "deploy.toml", "--resume", "--quiet"]
    dice = random.Random(name)
    kills = 0
    while kills < 50:
        plan = dice.choice(("sequential", "balanced", "communication"))
        fast = [] if kills % 5 else [f"--set=actors.{each}.rate=100000" for each in case.streams]
        with launched(
            tmp_path, *command, f"--set=actors.program.plan={plan}", f"--workers={dice.randint(1, 4)}", *fast
        ) as launch:
            kills += kill_one(launch, dice, 2.5)
        done = (tmp_path / "state").is_dir() and CheckpointStore(str(tmp_path / "state")).latest()
        if (done and done.ended) or kills == 50:
            with launched(
                tmp_path, *command, *(f"--set=actors.{each}.rate=100000" for each in case.streams)
            ) as launch:
                status, _, errors = launch.wait()
            assert status == 0, errors
            assert content(tmp_path / "disturbed", case) == content(tmp_path / "undisturbed", case)
            shutil.rmtree(tmp_path / "disturbed")
            shutil.rmtree(tmp_path / "state")
