"""Runs a small graph in processes of its own and looks at one of them: rows, processor time, memory traffic."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from actorstream.control.interrupted import Interrupted
from actorstream.launch.launcher import Launcher
from actorstream.metrics.counters import Counter
from actorstream.native.cache_misses import CacheMisses
from actorstream.placement import place
from actorstream.plan.compile import make_job
from actorstream.plan.fuse import fusible
from actorstream.profiling.chunks import Look
from actorstream.profiling.stages import by_worker
from actorstream.runtime.report import Sampler

if TYPE_CHECKING:
    from actorstream.plan.job import Job
    from actorstream.profiling.stages import Stage
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph
    from actorstream.topology.machine import Machine

LOOK_S = 0.001
BEGIN_S = 60.0
"""How long a stage may take until it has its first row."""


@dataclass
class Watched:
    """What was seen of a stage. `memory_bytes`: traffic of its process with memory; None: this system does not count it."""

    looks: list[Look] = field(default_factory=list)
    memory_bytes: int | None = None


def watch(
    graph: Graph, stage: Stage, deploy: DeploySpec, machine: Machine, *, batch_size: int, seconds: float
) -> Watched:
    """Runs `alone(...)` of a stage for so many seconds of its processor time (or to its end, or 10 times as long), the stage
    in one process on a core of its own, and stops it."""
    spec = msgspec.structs.replace(
        deploy,
        **{"transport": "shm", "workers": 3, "schedule": "none", "threads": 0, "placement": "spread"},
        **{"batch_size": batch_size, "bind": "core", "checkpoint": None, "hosts": [], "testing": None},
    )
    workers = by_worker(graph, stage.members)
    job = make_job(graph, place(graph, spec, machine, direct=fusible, decided=workers))
    sampler = Sampler(job, time.monotonic())
    launcher = Launcher(job, sampler)
    watcher = _Watcher(job, launcher, stage, seconds)
    watcher.start()
    try:
        launcher.run()
    except Interrupted as error:
        if not watcher.stopped or launcher.interrupts > 2:
            raise error
    finally:
        watcher.over = True
        watcher.join()
    return watcher.seen


class _Watcher(threading.Thread):
    def __init__(self, job: Job, launcher: Launcher, stage: Stage, seconds: float) -> None:
        super().__init__(name="actorstream-watch", daemon=True)
        self.job, self.launcher, self.seconds = job, launcher, seconds
        self.seen = Watched()
        self.over = self.stopped = False
        self._ids = [each.id for each in job.plan.replicas if each.actor == stage.head]
        self._counter = Counter.EVENTS_OUT if job.role(stage.head) == "source" else Counter.EVENTS_IN

    def run(self) -> None:
        give_up = time.monotonic() + BEGIN_S
        while not self.over and self._rows() == 0 and time.monotonic() < give_up:
            time.sleep(LOOK_S)
        if len(self.launcher.workers) < 2:
            return
        pid = self.launcher.workers[1].pid
        misses = CacheMisses(pid)
        give_up = time.monotonic() + 10 * self.seconds
        try:
            self._look(pid, give_up)
        except OSError:
            """The process has ended."""
        self.seen.memory_bytes = misses.close()
        if not self.over:
            self.stopped = True
            self.launcher.abort()

    def _look(self, pid: int, give_up: float) -> None:
        clock = (~pid << 3) | 2  # of the processor time of a process (clock_getcpuclockid)
        looks = self.seen.looks
        while not self.over and time.monotonic() < give_up:
            rows = self._rows()
            if not looks or rows != looks[-1].rows:
                looks.append(Look(rows, time.clock_gettime_ns(clock)))
                if looks[-1].cpu_ns - looks[0].cpu_ns > self.seconds * 1e9:
                    return
            time.sleep(LOOK_S)

    def _rows(self) -> int:
        return sum(self.job.counters.value(each, self._counter) for each in self._ids)
