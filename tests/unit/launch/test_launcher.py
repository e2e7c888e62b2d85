"""The launcher: which error of several is told, what may be asked when, and that nothing stays open."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorstream.control.failures import failed_message
from actorstream.control.interrupted import Interrupted
from actorstream.control.messages import Message
from actorstream.errors import BrokenError, OperatorError, ResourceError, RunError, WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.report import Sampler
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Numbers


def job_of(count: int = 1000, rate: float | None = None, workers: int = 2) -> Job:
    topology = Topology("launched")
    stream = topology.source(Numbers, name="source", count=count, rate=rate)
    stream.shuffle().into(Collect, name="sink", replicas=2)
    return compile_job(topology.spec(), load_deploy(None, (), transport="shm", workers=workers))


def launcher_of(job: Job, on_tick: Callable[[], None] | None = None) -> Launcher:
    return Launcher(job, Sampler(job, 0.0), on_tick)


def endless(on_tick: Callable[[Launcher], None]) -> Launcher:
    """A launcher of a run that does not end by itself; `on_tick` is called until it does."""
    launcher = launcher_of(job_of(10**12, rate=10_000.0))
    launcher.on_tick = lambda: on_tick(launcher)
    return launcher


def hears(launcher: Launcher, worker: int, message: Message) -> None:
    assert launcher.host is not None
    launcher.host.heard(worker, message)


def opened() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_run_leaves_nothing_open_and_no_child() -> None:
    launcher_of(job_of()).run()
    before, family = opened(), children()
    launcher = launcher_of(job_of())
    launcher.run()
    assert all(worker.member.finished for worker in launcher.workers)
    assert all(worker.exit_status == 0 for worker in launcher.workers)
    del launcher
    assert opened() <= before
    assert children() <= family  # other tests of this process may have children of their own


def test_the_sampler_knows_the_workers_and_their_time_is_counted() -> None:
    launcher = launcher_of(job_of())
    launcher.run()
    assert launcher.sampler.pids == [worker.pid for worker in launcher.workers]
    assert all(worker.cpu_s > 0 for worker in launcher.workers)


def test_an_abort_before_the_start_stops_the_run_when_it_starts() -> None:
    launcher = launcher_of(job_of(10**12))
    launcher.abort()
    with pytest.raises(Interrupted, match="nothing committed"):
        launcher.run()


def test_one_may_ask_after_the_end_too() -> None:
    launcher = launcher_of(job_of())
    launcher.run()
    launcher.interrupt()
    launcher.abort()
    launcher.start_barrier(1)


def test_an_interrupt_from_another_thread_drains() -> None:
    launcher = endless(lambda launcher: None)
    started = threading.Event()
    launcher.on_tick = lambda: started.set() if all(each.started for each in launcher.workers) else None
    asker = threading.Thread(target=lambda: (started.wait(), launcher.interrupt()))
    asker.start()
    with pytest.raises(Interrupted, match="sinks committed") as caught:
        launcher.run()
    asker.join()
    assert caught.value.drained


def test_an_error_of_on_tick_ends_the_run_and_every_worker() -> None:
    def tick(launcher: Launcher) -> None:
        if launcher.workers[0].started:
            raise ZeroDivisionError

    launcher = endless(tick)
    with pytest.raises(ZeroDivisionError):
        launcher.run()
    assert all(worker.exit_status is not None for worker in launcher.workers)


@pytest.mark.parametrize("last", [False, True])
def test_the_cause_is_told_and_not_what_followed_from_it(last: bool) -> None:
    """A survivor may report that its peer is lost before, or after, the death of the peer is seen."""
    done: list[int] = []

    def tick(launcher: Launcher) -> None:
        if done or not all(each.started for each in launcher.workers):
            return
        done.append(1)
        victim = launcher.workers[1]
        consequence = failed_message(0, BrokenError("channel 3: worker 1 is lost"))
        steps: list[Callable[[], Any]] = [
            lambda: hears(launcher, 0, consequence),
            lambda: os.kill(victim.pid, signal.SIGKILL),
        ]
        for step in reversed(steps) if last else steps:
            step()

    with pytest.raises(WorkerDiedError, match=r"worker 1 \(pid \d+, actors: sink\) was killed by signal 9"):
        endless(tick).run()


def test_an_operators_error_wins_over_what_follows_at_once() -> None:
    done: list[int] = []

    def tick(launcher: Launcher) -> None:
        if done or not all(each.started for each in launcher.workers):
            return
        done.append(1)
        hears(launcher, 0, failed_message(0, BrokenError("lost")))
        hears(launcher, 1, failed_message(1, OperatorError("op", 0, "ValueError: no")))

    with pytest.raises(OperatorError, match="operator 'op'"):
        endless(tick).run()


def test_a_loss_without_another_cause_is_told_after_a_moment() -> None:
    done: list[int] = []

    def tick(launcher: Launcher) -> None:
        if not done and all(each.started for each in launcher.workers):
            done.append(1)
            hears(launcher, 0, failed_message(0, BrokenError("channel 3 is lost")))

    with pytest.raises(RunError, match="channel 3 is lost"):
        endless(tick).run()


def test_the_only_worker_that_dies_is_an_error_too() -> None:
    launcher = launcher_of(job_of(10**12, rate=10_000.0, workers=1))
    launcher.on_tick = lambda: launcher.workers[0].kill() if launcher.workers[0].started else None
    with pytest.raises(WorkerDiedError):
        launcher.run()


def test_outside_the_main_thread_signals_stay_as_they_are() -> None:
    before = signal.getsignal(signal.SIGINT)
    errors: list[BaseException] = []

    def target() -> None:
        try:
            launcher_of(job_of()).run()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    assert errors == []
    assert signal.getsignal(signal.SIGINT) is before


def test_a_system_that_cannot_tell_when_a_process_ends_is_named_before_anything_is_forked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(process: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a worker was forked"))
    with pytest.raises(ResourceError, match=r"Linux 5\.3 or later"):
        launcher_of(job_of()).run()
