"""Topologies inside other programs: any loop, any thread, several times, several at once."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

import pytest
import uvloop

from actorstream.connectors.source import Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.topology.builder import Topology
from tests.integration.conftest import children
from tests.integration.parts import Collect, Double, Number, Numbers, announce
from tests.integration.processes import ROOT, Announcements, readable

LOCAL: dict[str, Any] = {}
SHM: dict[str, Any] = {"transport": "shm", "workers": 2}
BOTH = pytest.mark.parametrize("deploy", [pytest.param(LOCAL, id="local"), pytest.param(SHM, id="shm")])
ROWS = sorted((value * 2, value % 101) for value in range(1000))


def doubling(count: int = 1000) -> Topology:
    topology = Topology("embedded")
    stream = (
        topology.source(Numbers, count=count, parts=2, replicas=2).by("group").through(Double, replicas=2)
    )
    stream.to_one().into(Collect, name="out")
    return topology


def rows(result: Any) -> list[Any]:
    return sorted(result["out"])


@BOTH
def test_run_works_where_no_loop_runs(deploy: dict[str, Any]) -> None:
    assert rows(doubling().run(**deploy)) == ROWS


@BOTH
async def test_run_works_inside_a_running_loop_as_in_a_notebook(deploy: dict[str, Any]) -> None:
    assert rows(doubling().run(**deploy)) == ROWS
    assert asyncio.get_running_loop().is_running()


class Unending(Numbers):
    """Numbers without an end. Sets `begun` once they are read."""

    begun: ClassVar[threading.Event]

    def read(self, max_rows: int) -> Batch | None:
        self.begun.set()
        return super().read(min(max_rows, 100))


def test_an_interrupted_notebook_cell_ends_its_run(tmp_path: Path) -> None:
    topology = Topology("interrupted")
    stream = topology.source(Unending, count=1 << 60)
    stream.into("csv-sink", path=str(tmp_path / "out.csv"))
    Unending.begun = threading.Event()

    async def cell() -> None:
        topology.run()

    def interrupt() -> None:
        Unending.begun.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]

    thread = threading.Thread(target=interrupt)
    thread.start()
    loop = asyncio.new_event_loop()  # the loop of a notebook leaves SIGINT to Python
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        thread.join()
        loop.close()
    assert "actorstream-run" not in {each.name for each in threading.enumerate()}
    assert list(tmp_path.iterdir()) == []


@BOTH
@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_run_async_works_in_either_loop_and_lets_others_run(deploy: dict[str, Any], new_loop: Any) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> list[Any]:
        beside = asyncio.create_task(others())
        result = await doubling(20_000).run_async(**deploy)
        beside.cancel()
        return rows(result)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(main()) == sorted((value * 2, value % 101) for value in range(20_000))
    assert turns > 1


@BOTH
def test_run_works_from_a_thread(deploy: dict[str, Any]) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert rows(pool.submit(doubling().run, **deploy).result()) == ROWS


@BOTH
def test_one_topology_runs_again_and_again(deploy: dict[str, Any]) -> None:
    topology = doubling()
    assert [rows(topology.run(**deploy)) == ROWS for _ in range(3)] == [True] * 3


def spent() -> float:
    """Processor time of this process and of the children that have ended, in seconds."""
    whose = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in whose)


@BOTH
def test_the_processor_time_of_a_run_is_not_that_of_the_program_before_it(deploy: dict[str, Any]) -> None:
    before = spent()
    report = doubling().run(**deploy).report
    assert 0 < report["cpu_s"] <= spent() - before + 1e-5  # it is rounded


@BOTH
async def test_several_run_at_once(deploy: dict[str, Any]) -> None:
    results = await asyncio.gather(*(doubling().run_async(**deploy) for _ in range(4)))
    assert [rows(result) == ROWS for result in results] == [True] * 4


@BOTH
def test_several_run_at_once_in_threads(deploy: dict[str, Any]) -> None:
    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(doubling().run, **deploy) for _ in range(6)]
    assert [rows(each.result()) == ROWS for each in results] == [True] * 6


OPEN = """
import gc, threading
from contextlib import suppress
from pathlib import Path
from tests.integration.test_embedding import doubling

def opened():
    gc.collect()
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the folder itself, which is closed by now
            found.append(str(each.readlink()))
    return found, threading.active_count()

doubling().run(**{deploy})
before = opened()
for _ in range(5):
    doubling().run(**{deploy})
now = opened()
assert len(now[0]) <= len(before[0]) and now[1] <= before[1], (before, now)
"""


@BOTH
def test_runs_leave_no_files_or_threads(deploy: dict[str, Any]) -> None:
    """In a process of its own: what other tests have left behind here may open and close meanwhile."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN.format(deploy=deploy)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


class Keep(Collect):
    """A sink that keeps the batches that it is given."""

    def on_start(self) -> None:
        super().on_start()
        KEEPS.add(self)
        self.kept: list[Batch] = []

    def on_batch(self, batch: Batch) -> None:
        self.kept.append(batch)


KEEPS: WeakSet[Keep] = WeakSet()


def test_an_actor_that_keeps_batches_goes_with_its_run() -> None:
    """Batches are not looked into by the garbage collector: what they hold must not lead back to an actor."""
    topology = Topology("kept")
    topology.source(Numbers, count=1000, parts=1).through(Double).into(Keep, name="out")
    topology.run()
    gc.collect()
    assert not KEEPS


@BOTH
def test_a_run_leaves_the_garbage_collector_and_signals_as_they_were(deploy: dict[str, Any]) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    doubling().run(**deploy)  # which imports modules, and so replaces objects that were frozen
    frozen = gc.get_freeze_count()
    doubling().run(**deploy)
    assert gc.get_freeze_count() == frozen
    assert gc.isenabled()
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)] == handlers


class Waits(Source):
    """Says that it is there, then waits for ever."""

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    async def events(self) -> AsyncIterator[Number]:
        announce(self.pipe)
        await asyncio.Event().wait()
        yield Number(0, 0)


@BOTH
async def test_a_cancelled_run_stops_at_once_and_leaves_no_process(
    deploy: dict[str, Any], tmp_path: Path
) -> None:
    here = Announcements(tmp_path / "here")
    try:
        topology = Topology("waits")
        topology.source(Waits, pipe=str(tmp_path / "here")).into(Collect, name="out")
        running = asyncio.create_task(topology.run_async(**deploy))
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()
        loop.add_reader(here.descriptor, arrived.set)
        await arrived.wait()
        loop.remove_reader(here.descriptor)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert children() == []
    finally:
        here.close()


@pytest.mark.parametrize("moment", range(5))
async def test_a_run_may_be_cancelled_before_it_has_begun(moment: int) -> None:
    running = asyncio.create_task(doubling(10_000_000).run_async(**SHM))
    for _ in range(moment):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert children() == []


class Raises(Double):
    def on_event(self, event: Number) -> Number:
        raise ValueError("broken")


@BOTH
async def test_a_failed_run_raises_in_the_program_and_harms_no_other(deploy: dict[str, Any]) -> None:
    bad = Topology("bad")
    bad.source(Numbers, count=1000).through(Raises, name="bad").into(Collect, name="out")
    good, failed = await asyncio.gather(
        doubling().run_async(**deploy), bad.run_async(**deploy), return_exceptions=True
    )
    assert rows(good) == ROWS
    assert isinstance(failed, OperatorError)
    assert failed.actor == "bad"


PROGRAM = """
import asyncio, sys
LOOP = sys.argv[1]
from tests.integration.test_embedding import doubling, ROWS, rows

async def main():
    for deploy in ({}, {"transport": "shm", "workers": 2}):
        for _ in range(2):
            assert rows(await doubling().run_async(**deploy)) == ROWS

if LOOP == "none":
    for deploy in ({}, {"transport": "shm", "workers": 2}):
        assert rows(doubling().run(**deploy)) == ROWS
elif LOOP == "uvloop":
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
print("done")
"""


@pytest.mark.parametrize("loop", ["none", "asyncio", "uvloop"])
def test_a_fresh_interpreter_runs_topologies(loop: str) -> None:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", PROGRAM, loop],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr == ""


INTERRUPTED = """
import sys
from actorstream.topology.builder import Topology
from tests.integration.parts import AnnouncedLive, Collect
topology = Topology("waits")
topology.source(AnnouncedLive, pipe=sys.argv[1]).into(Collect, name="out")
try:
    topology.run()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_in_a_program_of_one_process_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    here = Announcements(tmp_path / "here")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "here")],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            assert readable(here.descriptor, 60)
            program.send_signal(signal.SIGINT)
            assert program.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            program.kill()
            here.close()


STOPPED = """
import os, signal, sys
from actorstream import Event, Source, Topology

class Row(Event):
    n: int

class Endless(Source):
    outputs = {"default": Row}
    reads = 0

    def read(self, max_rows):
        self.reads += 1
        if self.reads == 5:
            os.kill(os.getppid(), getattr(signal, sys.argv[1]))
        return Row(self.reads)

topology = Topology("stopped")
topology.source(Endless).collect()
topology.run(transport="shm", workers=2)
print("the program goes on")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_ends_a_run_is_an_error_and_no_shorter_result(tmp_path: Path, name: str) -> None:
    (tmp_path / "stopped.py").write_text(STOPPED)
    ended = subprocess.run(
        [sys.executable, "stopped.py", name], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Interrupted: interrupted: sources ended early, sinks committed" in ended.stderr
