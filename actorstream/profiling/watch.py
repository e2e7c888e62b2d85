"""Runs a small graph in processes of its own and looks at one of them: rows, processor time, memory traffic."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.control.interrupted import Interrupted
from actorstream.launch.launcher import Launcher
from actorstream.launch.report import Sampler
from actorstream.metrics.counters import Counter
from actorstream.native.cache_misses import CacheMisses
from actorstream.placement import place
from actorstream.plan.compile import make_job
from actorstream.plan.fuse import fusible
from actorstream.profiling.chunks import Look
from actorstream.profiling.stages import FEED, OUT, by_worker, is_copy, is_table, twice
from actorstream.profiling.together import NO_WORK, ActorWork, WholeRun, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.plan.job import Job
    from actorstream.profiling.stages import Stage
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph
    from actorstream.topology.machine import Machine

LOOK_S = 0.001
BEGIN_S = 60.0
"""How long a stage may take until it has its first row."""


class Watched(msgspec.Struct):
    """What was seen of a stage. `memory_bytes`: traffic of its process with memory; None: this system does not count it."""

    looks: list[Look] = []
    memory_bytes: int | None = None


def watch(
    graph: Graph, stage: Stage, deploy: DeploySpec, machine: Machine, *, batch_size: int, seconds: float
) -> Watched:
    """Runs `alone(...)` of a stage for so many seconds of its processor time (or to its end, or 10 times as long), the stage
    in one process on a core of its own, and stops it."""
    spec = _watched(deploy, workers=3, batch_size=batch_size)
    workers = by_worker(graph, stage.members)
    job = make_job(graph, place(graph, spec, machine, direct=fusible, decided=workers))
    sampler = Sampler(job, time.monotonic())
    launcher = Launcher(job, sampler)
    watcher = _Watcher(job, launcher, stage.head, seconds)
    _run(launcher, watcher)
    return watcher.seen


def watch_hop(
    graph: Graph,
    deploy: DeploySpec,
    machine: Machine,
    *,
    workers: int,
    batch_size: int,
    seconds: float,
    end: str = FEED,
) -> Watched:
    """Runs `hop(...)` for so many seconds of processor time of the process of one `end`, FEED or OUT, and looks at that. With
    one worker the feed calls the sink directly, with two the sink is in another process."""
    spec = _watched(deploy, workers=workers, batch_size=batch_size, pipelining=True)
    seats = {(FEED, 0): 0, (OUT, 0): workers - 1}
    job = make_job(graph, place(graph, spec, machine, direct=fusible, decided=seats))
    launcher = Launcher(job, Sampler(job, time.monotonic()))
    watcher = _Watcher(job, launcher, end, seconds, worker=0 if end == FEED else workers - 1)
    _run(launcher, watcher)
    return watcher.seen


def watch_whole(
    graph: Graph,
    deploy: DeploySpec,
    machine: Machine,
    *,
    seconds: float,
    apart: Sequence[str] = (),
    chained: bool = True,
    contended: bool = False,
) -> WholeRun:
    """Runs a graph in one process on one core for so many seconds of its processor time (or to its end, or 10 times as long), and
    stops it. The first quarter of the time that it took is not counted.

    `apart`: this chain of actors runs in a process of its own on another core, whose processor time counts then, from the first
    row of the first of them on. `chained`: neighbours in a process call each other directly, where the deployment lets them.
    `contended`: a copy of the graph runs at the same time on another core."""
    workers = 2 if apart or contended else 1
    graph = twice(graph) if contended else graph
    spec = _watched(deploy, workers=workers, pipelining=deploy.pipelining and chained)
    seats = {
        (each.name, index): int(each.name in apart or is_copy(each.name))
        for each in graph.actors.values()
        for index in range(each.replicas)
    }
    job = make_job(graph, place(graph, spec, machine, direct=fusible, decided=seats))
    launcher = Launcher(job, Sampler(job, time.monotonic()))
    sources = (each.name for each in graph.actors.values() if each.role == "source")
    head = apart[0] if apart else next(name for name in sources if not is_table(graph, name))
    watcher = _Watcher(job, launcher, head, seconds, worker=int(bool(apart)))
    _run(launcher, watcher)
    return counted(watcher.seen.looks, watcher.done, graph.actors)


def _watched(deploy: DeploySpec, **keys: Any) -> DeploySpec:
    """The deployment of a run that is looked at: with `keys`, and without what would disturb it."""
    return msgspec.structs.replace(
        deploy,
        transport="shm",
        schedule="none",
        threads=0,
        placement="spread",
        bind="core",
        checkpoint=None,
        hosts=[],
        testing=None,
        **keys,
    )


def _run(launcher: Launcher, watcher: _Watcher) -> None:
    watcher.start()
    try:
        launcher.run()
    except Interrupted as error:
        if not watcher.stopped or launcher.interrupts > 2:
            raise error
    finally:
        watcher.over = True
        watcher.join()


class _Watcher(threading.Thread):
    """Looks at one worker from the first row of actor `head` on, as often as that has more rows. `done`: what all actors had done
    at each look."""

    def __init__(self, job: Job, launcher: Launcher, head: str, seconds: float, worker: int = 1) -> None:
        super().__init__(name="actorstream-watch", daemon=True)
        self.job, self.launcher, self.seconds, self.worker = job, launcher, seconds, worker
        self.seen = Watched()
        self.over = self.stopped = False
        self.done: list[dict[str, ActorWork]] = []
        self._ids = [each.id for each in job.plan.replicas if each.actor == head]
        self._counter = Counter.EVENTS_OUT if job.role(head) == "source" else Counter.EVENTS_IN

    def run(self) -> None:
        give_up = time.monotonic() + BEGIN_S
        while not (self.over or self._has_begun() or time.monotonic() > give_up):
            time.sleep(LOOK_S)
        if self._is_there():
            pid = self.launcher.workers[self.worker].pid
            misses = CacheMisses(pid)
            with suppress(OSError):  # the process has ended
                self._look(pid, time.monotonic() + 10 * self.seconds)
            self.seen.memory_bytes = misses.close()
        if not self.over:
            self.stopped = True
            self.launcher.abort()

    def _is_there(self) -> bool:
        return len(self.launcher.workers) > self.worker

    def _has_begun(self) -> bool:
        """Whether there is a worker to look at, and rows. The first of them may come before the last worker is started."""
        return self._is_there() and self._rows() > 0

    def _look(self, pid: int, give_up: float) -> None:
        clock = (~pid << 3) | 2  # of the processor time of a process (clock_getcpuclockid)
        looks = self.seen.looks
        while not self.over and time.monotonic() < give_up:
            rows = self._rows()
            if not looks or rows != looks[-1].rows:
                looks.append(Look(rows, time.clock_gettime_ns(clock)))
                self.done.append(self._done())
                if looks[-1].cpu_ns - looks[0].cpu_ns > self.seconds * 1e9:
                    return
            time.sleep(LOOK_S)

    def _done(self) -> dict[str, ActorWork]:
        value = self.job.counters.value
        found: dict[str, ActorWork] = {}
        for each in self.job.plan.replicas:
            execute = value(each.id, Counter.EXECUTE_NS)
            rows = value(each.id, Counter.EVENTS_IN), value(each.id, Counter.EVENTS_OUT)
            hooks = execute + value(each.id, Counter.TRANSFER_NS)
            waits = value(each.id, Counter.WAIT_IN_NS) + value(each.id, Counter.WAIT_OUT_NS)
            found[each.actor] = found.get(each.actor, NO_WORK) + ActorWork(*rows, hooks, execute, waits)
        return found

    def _rows(self) -> int:
        return sum(self.job.counters.value(each, self._counter) for each in self._ids)
