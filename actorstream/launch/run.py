"""Runs a topology to its end and answers the report: the one way in for the command line, notebooks and tests."""

from __future__ import annotations

import asyncio
import resource
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.control.interrupted import Interrupted, Suspended
from actorstream.launch.bind import check_bindings, placement_rows
from actorstream.launch.fork import fork_worker
from actorstream.launch.launcher import Launcher, StartWorker
from actorstream.launch.locks import locked
from actorstream.launch.process import new_event_loop, run_worker
from actorstream.launch.report import Sampler, build_report
from actorstream.launch.resume import check_latest
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.launch.signals import Signals
    from actorstream.topology.builder import Topology
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.spec import TopologySpec


class RunResult(msgspec.Struct):
    """What a run leaves behind: the report, and the events of the in-memory sinks by actor name.

    `interrupted`: its sources ended early, and everything read was committed. `suspended`: it stopped at a checkpoint, from
    which another run can go on."""

    report: dict[str, Any]
    collected: dict[str, list[Event]] = {}
    interrupted: Interrupted | None = None
    suspended: Suspended | None = None

    def __getitem__(self, sink: str) -> list[Event]:
        return self.collected[sink]


def run_job(
    job: Job,
    *,
    started: float | None = None,
    memory: bool = False,
    on_start: Callable[[Launcher, Sampler], Callable[[], None] | None] | None = None,
    signals: Signals | None = None,
    start: StartWorker = fork_worker,
) -> RunResult:
    """Runs a compiled job in worker processes, which `start` starts: forks unless given. `on_start` may return a function to
    be called at every tick; `signals` hear SIGINT and SIGTERM for it."""
    # the whole process is the command that says when it started; of a program, the run takes a part
    before = _own_cpu_s() if started is None else 0.0
    started = monotonic() if started is None else started
    sampler = Sampler(job, started, memory=memory)
    launcher = Launcher(job, sampler, signals=signals, start=start)
    if on_start is not None:
        launcher.on_tick = on_start(launcher, sampler)
    interrupted = suspended = None
    check_bindings(job)
    try:
        with _meeting_place(job), locked(job) as locks:
            check_latest(job)
            launcher.run(locks)
    except Interrupted as error:
        if not error.drained:
            raise
        interrupted = error
    except Suspended as error:
        suspended = error
    cpu_s = _own_cpu_s() - before + sum(worker.cpu_s for worker in launcher.workers)
    report = build_report(job, sampler, elapsed_s=monotonic() - started, cpu_s=cpu_s)
    report["checkpoints"] = launcher.checkpoints.made if launcher.checkpoints is not None else 0
    if launcher.host is not None and launcher.host.bound:
        report["placement"] = placement_rows(launcher.host.bound)
    collected = {
        name: job.decode_collected(name, launcher.collected.get(name, [])) for name in job.collecting()
    }
    return RunResult(report, collected, interrupted, suspended)


async def run_embedded(job: Job, *, started: float | None = None) -> RunResult:
    """Runs a job of one process inside the running loop."""
    started = monotonic() if started is None else started
    sampler = Sampler(job, started)
    sampler.sample()
    before = _own_cpu_s()
    with _meeting_place(job), locked(job):
        worker = await run_worker(job, 0, job.make_fabric(), None)
    sampler.sample()
    cpu_s = _own_cpu_s() - before
    report = build_report(job, sampler, elapsed_s=monotonic() - started, cpu_s=cpu_s)
    collected: dict[str, list[Event]] = {}
    for name in job.collecting():
        parts = [part for replica in worker.replicas(name) for part in replica.actor.collected()]  # type: ignore[attr-defined]
        collected[name] = job.decode_collected(name, parts)
    return RunResult(report, collected)


def _own_cpu_s() -> float:
    """Processor time of this process until now, in seconds."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def _meeting_place(job: Job) -> AbstractContextManager[None]:
    """Where replicas of a source meet, if some must."""
    if not any(source.contract.replicas_meet for source in job.graph.sources()):
        return nullcontext()
    from actorstream.spark.hub import local_hub

    return local_hub()


def run_spec(spec: TopologySpec, deploy: DeploySpec, **options: Any) -> RunResult:
    """Compiles and runs. ConfigurationError lists everything that is wrong; RunError and its kin if the run fails."""
    job = compile_job(spec, deploy)
    fork = options.pop("fork", False)
    if job.processes > 1 or fork or deploy.checkpoint is not None:
        return run_job(job, **options)
    return _run_in_own_loop(run_embedded(job, started=options.get("started")))


def _run_in_own_loop(coroutine: Any) -> RunResult:
    """Runs a coroutine to its end, in another thread if this one already has a running loop (a notebook). What interrupts this
    thread ends the run at once; nothing is committed."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(coroutine)
    runner = asyncio.Runner(loop_factory=new_event_loop)
    loop = runner.get_loop()
    task: asyncio.Task[RunResult] = loop.create_task(coroutine)
    ended = threading.Event()  # Python 3.11 takes a thread for ended once a `join` of it was interrupted

    def target() -> None:
        try:
            with runner, suppress(BaseException):  # the task keeps it
                loop.run_until_complete(task)
        finally:
            ended.set()

    thread = threading.Thread(target=target, name="actorstream-run")
    try:
        thread.start()
        ended.wait()
    except RuntimeError:  # no thread could be started, so nobody would set `ended`
        raise
    except (
        BaseException
    ):  # KeyboardInterrupt, also while the thread starts: the cell was interrupted, or the program
        with suppress(RuntimeError):  # the run has just ended, and the loop is closed
            loop.call_soon_threadsafe(task.cancel)
        ended.wait()
        thread.join()
        raise
    thread.join()
    return task.result()


def run_topology(topology: Topology, **deploy: Any) -> RunResult:
    """`Topology.run(workers=2, transport="shm", ...)`: local and in this process unless said otherwise.

    Interrupted, Suspended: a signal has stopped it."""
    return _whole(run_spec(topology.spec(), _deployment(deploy)))


async def run_topology_async(topology: Topology, **deploy: Any) -> RunResult:
    """`await Topology.run_async(...)`: in this loop if one process is enough, else workers are forked from a thread.

    Cancelling it stops the run at once; nothing is committed. Interrupted, Suspended: a signal has stopped it."""
    job = compile_job(topology.spec(), _deployment(deploy))
    if job.processes == 1 and job.deploy.checkpoint is None:
        return await run_embedded(job)
    launchers: list[Launcher] = []
    cancelled = threading.Event()

    def on_start(launcher: Launcher, sampler: Sampler) -> None:
        launchers.append(launcher)
        if cancelled.is_set():
            launcher.abort()

    running = asyncio.ensure_future(asyncio.to_thread(run_job, job, on_start=on_start))
    try:
        return _whole(await asyncio.shield(running))
    except asyncio.CancelledError:
        cancelled.set()
        for launcher in launchers:
            launcher.abort()
        await asyncio.wait([running])  # no worker outlives the call
        if not running.cancelled():
            running.exception()
        raise


def _whole(result: RunResult) -> RunResult:
    """The result of a run that has come to the end of its input. Interrupted, Suspended: it was stopped before, which a program
    must not take for the end. The command line tells its user instead."""
    stopped = result.interrupted or result.suspended
    if stopped is not None:
        raise stopped
    return result


def _deployment(settings: dict[str, Any]) -> DeploySpec:
    from actorstream.topology.load import load_deploy

    return load_deploy(None, (), **{"transport": "local", "workers": 1, **settings})
