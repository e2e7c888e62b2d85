"""Random faults: kills, stops, signals once and twice, full disks, at random moments and at each step of a run, under the
four orders: a documented exit status, nothing left, nothing partial, and after `--resume` what an undisturbed run leaves."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from actorstream.checkpoint.store import CheckpointStore
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job
from tests.covering import sampled
from tests.integration.faults import BALLAST, KINDS, Fault, draw, strike
from tests.integration.processes import ROOT, Announcements, launched
from tests.integration.test_checkpoints import CASES, folder

__all__ = ["folder"]

WITNESSED = 2_000
WITNESS = f"""
[actors.seen]
type = "tests.integration.parts:Numbers"
count = {WITNESSED}
[actors.times]
type = "tests.integration.pooled:Times"
inputs = ["seen"]
[actors.marks]
type = "tests.integration.fault_steps:Marks"
inputs = ["times"]
nbytes = NBYTES
[actors.witness]
type = "tests.integration.fault_steps:MarkedCsv"
inputs = ["marks"]
path = "out/witness-in-order"
"""
DEPENDENCY = f"""
[actors.barriers]
type = "csv-source"
path = "{ROOT}/apps/value_barrier/data/barriers.csv"
event = "apps.value_barrier.events:Barrier"
[actors.numbers]
type = "csv-source"
path = "{ROOT}/apps/value_barrier/data/values.csv.gz"
event = "apps.value_barrier.events:Value"
stream = "stream"
[actors.sum]
type = "apps.value_barrier.program:ValueBarrier"
inputs = [{{ from = "barriers", order = "dependency" }}, {{ from = "numbers", name = "values", order = "dependency" }}]
[actors.sums]
type = "csv-sink"
inputs = ["sum"]
path = "out/sums"
"""
ORDERS = {
    "none": CASES["keyed state, several sinks"],
    "serial": CASES["serial order"],
    "timestamp": CASES["timestamp order"],
    "dependency": DEPENDENCY,
}
RATE = 6_000
SOURCES = ("numbers", "seen")
UNDISTURBED: dict[str, dict[str, list[str]]] = {}
"""Order -> what a run leaves to which nothing happens; all trials have the same input."""
SCHEDULES = ("none", "none", "ct", "lp", "et", "qst")


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[tuple[Announcements, int]]:
    """Where a process says that it has come to a step, and the pipe that lets it go on."""
    here = Announcements(tmp_path / "here")
    os.mkfifo(tmp_path / "go")
    go = os.open(tmp_path / "go", os.O_RDWR | os.O_NONBLOCK)
    yield here, go
    here.close()
    os.close(go)


@pytest.fixture
def busy() -> Iterator[None]:
    """All cores have something else to do, too."""
    free = round((os.cpu_count() or 1) - os.getloadavg()[0])
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(free)]
    yield
    for each in burners:
        each.kill()
        each.wait()


@contextmanager
def small_disks(folders: list[Path]) -> Iterator[None]:
    """File systems of their own in these folders."""
    mounted: list[Path] = []
    try:
        for each in folders:
            each.mkdir()
            done = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=8m", "none", each], capture_output=True
            )
            if done.returncode:
                pytest.skip(f"file systems cannot be mounted here: {done.stderr.decode().strip()}")
            mounted.append(each)
        yield
    finally:
        for each in mounted:
            subprocess.run(["umount", "-l", each], check=True)


class Trial:
    """A topology under one order, of which runs are launched under random deployments."""

    def __init__(self, folder: Path, order: str, dice: random.Random, *, checkpoints: bool) -> None:
        self.folder, self.order, self.dice, self.checkpoints = folder, order, dice, checkpoints
        nbytes = dice.choice((0, 100_000))
        text = 'name = "faults"\n' + ORDERS[order] + WITNESS.replace("NBYTES", str(nbytes))
        (folder / "topology.toml").write_text(text)
        (folder / "undisturbed.toml").write_text(text.replace('"out/', '"undisturbed/'))
        merge = dice.choice(("channel", "gate")) if order == "timestamp" else "channel"
        table = f'[checkpoint]\npath = "state"\nevery = "{dice.choice((5, 20, 100))}ms"\n'
        (folder / "deploy.toml").write_text(f'merge = "{merge}"\n{table if checkpoints else ""}')
        self.described: list[str] = []

    def deployment(self, *, paced: bool) -> list[str]:
        dice = self.dice
        sets = [
            f"deploy.workers={dice.randint(1, 4)}",
            f"deploy.batch_size={dice.choice((16, 64, 1000))}",
            f"deploy.edge_bytes={dice.choice((4_000, 4 << 20))}",
            f"deploy.pipelining={dice.choice(('true', 'false'))}",
        ]
        schedule = dice.choice(SCHEDULES)
        if schedule != "none":
            sets += [f"deploy.schedule={schedule}", f"deploy.threads={dice.randint(0, 2)}"]
        if self.order == "dependency":
            sets.append(f"actors.sum.plan={dice.choice(('communication', 'balanced', 'sequential'))}")
            sets.append(f"actors.sum.plan_workers={dice.randint(1, 4)}")
        if paced:
            sets += [f"actors.{name}.rate={dice.choice((RATE // 2, RATE, RATE))}" for name in SOURCES]
        self.described.append(" ".join(sets))
        return sets

    def command(self) -> list[str]:
        sets = [word for each in self.deployment(paced=True) for word in ("--set", each)]
        return [
            "topology.toml",
            "--deploy",
            "deploy.toml",
            *(["--resume"] if self.checkpoints else []),
            *sets,
        ]

    def run_again(self) -> None:
        """To the end, as fast as possible and undisturbed; goes on if there is something to go on from."""
        job = read_job(
            self.folder / "topology.toml", self.folder / "deploy.toml", self.deployment(paced=False)
        )
        if self.checkpoints:
            restore_job(job)
        run_job(job)

    def undisturbed(self) -> dict[str, list[str]]:
        if self.order not in UNDISTURBED:
            run_job(read_job(self.folder / "undisturbed.toml", None, ["deploy.workers=1"]))
            UNDISTURBED[self.order] = self.outputs("undisturbed")
        return UNDISTURBED[self.order]

    def outputs(self, out: str) -> dict[str, list[str]]:
        """Files under their final names -> lines; sorted where the order is not defined."""
        found = {}
        for path in sorted((self.folder / out).glob("[!.]*")):
            lines = path.read_text().splitlines()
            ordered = "in-order" in path.name or (self.order != "none" and "late" not in path.name)
            found[path.name] = lines if ordered else sorted(lines)
        return found

    def suffer(self, fault: Fault, here: Announcements, go: int) -> tuple[int, str]:
        """One run with a fault; the status and what it said."""
        self.described.append(fault.describe())
        environment = fault.environment(self.folder / "here", self.folder / "go")
        here.clear()
        drain(go)
        if not fault.holds:
            os.write(go, b"." * 64)
        with launched(self.folder, *self.command(), environment=environment) as run:
            strike(fault, run, here, go, self.folder, self.dice)
            status, _, errors = run.wait()
            assert not run.wait_until_nobody_is_left()
        for name in ("out", "state"):
            (self.folder / name / BALLAST).unlink(missing_ok=True)
        self.described.append(f"-> {status}: {errors}")
        assert status in fault.may_end_with(run.pid, checkpoints=self.checkpoints)
        assert fault.met_python or "Traceback" not in errors
        return status, errors

    def check_finals(self, expected: dict[str, list[str]], *, drained: bool) -> None:
        """What is there under a final name is whole; what a run gives whose sources ended early is a beginning."""
        for name, lines in self.outputs("out").items():
            if not drained or lines == expected[name]:
                assert lines == expected[name], f"{name} is not that of an undisturbed run"
            elif "in-order" in name or name == "mapped":
                assert lines == expected[name][: len(lines)], f"{name} is no beginning"
            else:
                assert all(line.count(",") == expected[name][0].count(",") for line in lines), name


def drain(pipe: int) -> None:
    try:
        while os.read(pipe, 1 << 12):
            pass
    except BlockingIOError:
        pass


def is_ended(state: Path) -> bool:
    last = CheckpointStore(str(state)).latest()
    return last is not None and last.ended


def check_seed(folder: Path, steps: tuple[Announcements, int], seed: int) -> list[Fault]:
    """One run or several, each with a fault, until one has ended well; the faults."""
    dice = random.Random(seed)
    kind, order = list(KINDS)[seed % len(KINDS)], list(ORDERS)[seed % 4]
    trial = Trial(folder, order, dice, checkpoints=dice.random() < 0.8)
    expected = trial.undisturbed()
    faults: list[Fault] = []
    try:
        with small_disks([folder / "out", folder / "state"] if "FULL" in KINDS[kind] else []):
            suffer_all(trial, expected, kind, steps, faults)
    except BaseException as error:
        error.add_note(f"seed {seed}, order {order}, checkpoints {trial.checkpoints}")
        error.add_note("\n".join(trial.described))
        raise
    return faults


def suffer_all(
    trial: Trial,
    expected: dict[str, list[str]],
    kind: str,
    steps: tuple[Announcements, int],
    faults: list[Fault],
) -> None:
    drained = False
    for number in range(trial.dice.choice((1, 1, 2)) if trial.checkpoints else 1):
        fault = draw(kind, trial.dice, resumes=number > 0)
        faults.append(fault)
        status, errors = trial.suffer(fault, *steps)
        drained = "committed what was read" in errors
        ends_early = "INT" in KINDS[kind] or ("TERM" in KINDS[kind] and not trial.checkpoints)
        trial.check_finals(expected, drained=drained or ends_early)  # who was killed may not have said so
        if status == 0:
            assert trial.outputs("out") == expected
        if drained or status == 0:
            break
    if drained and not trial.checkpoints:
        return
    before = trial.outputs("out")
    drained = "INT" in KINDS[kind] and trial.checkpoints and is_ended(trial.folder / "state")
    trial.run_again()
    if drained:
        trial.check_finals(expected, drained=True)
        assert trial.outputs("out").keys() == expected.keys()
        assert before.items() <= trial.outputs("out").items(), "what was committed stays"
    else:
        assert trial.outputs("out") == expected
    assert not list((trial.folder / "out").glob(".*")), "nothing is left of the runs before"


@sampled("seed", range(0, 300, 60), quick=3)
def test_a_fault_leaves_nothing_and_no_difference(
    folder: Path, steps: tuple[Announcements, int], seed: int
) -> None:
    check_seed(folder, steps, seed)


@pytest.mark.slow
@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_four_hundred_faults_on_busy_cores_leave_nothing_and_no_difference(
    folder: Path, steps: tuple[Announcements, int], seed: int
) -> None:
    check_seed(folder, steps, seed)
