"""Hosts the control of a run over processes of this machine: starts the workers, hears them and their ends, and tells them
what the coordinator decides. It is not on the data path and holds no data.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from actorstream.control.coordinator import Coordinator
from actorstream.launch.fork import fork_worker
from actorstream.launch.hosting import make_host
from actorstream.launch.process import WorkerProcess, away_s, import_ahead
from actorstream.launch.resume import commit_ended, stopped_early
from actorstream.launch.shared import Shared
from actorstream.launch.signals import Signals
from actorstream.launch.silent_workers import SilentWorkers
from actorstream.native.keepalive import PeerState
from actorstream.transports.network.keepalives import Keepalives, silence

if TYPE_CHECKING:
    from actorstream.control.actions import Action
    from actorstream.control.checkpoints import Checkpoints
    from actorstream.control.host import Host
    from actorstream.control.messages import Message, Snapshot
    from actorstream.launch.report import Sampler
    from actorstream.plan.job import Job

TICK_S = 0.05

StartWorker = Callable[["Job", int, Shared, list[WorkerProcess]], WorkerProcess]
"""Starts one worker of a job: its process number, what it shares with the others, and those that were started before."""


class Launcher:
    """Runs a job in worker processes.

    Args:
        job: the compiled topology.
        sampler: reads the counters from time to time, for the report and the progress display.
        on_tick: called about 20 times a second.
        signals: who hears SIGINT and SIGTERM; None: the launcher while it runs.
        start: how a worker is started; a fork unless given.
    """

    def __init__(
        self,
        job: Job,
        sampler: Sampler,
        on_tick: Callable[[], None] | None = None,
        signals: Signals | None = None,
        start: StartWorker = fork_worker,
    ) -> None:
        self.job, self.sampler, self.on_tick = job, sampler, on_tick
        self._signals, self._start = signals, start
        self.workers: list[WorkerProcess] = []
        self.host: Host | None = None
        """Of the run's control; None before the run."""
        self.interrupts = 0
        """How often somebody has asked the run to stop."""
        self._wishes: deque[Callable[[Coordinator, float], list[Action]]] = deque()
        """What others have asked, from any thread, in order."""
        self._suspends = False
        self._silent = SilentWorkers()
        self._wake_read = self._wake_write = -1
        """The ends of the pipe that tells of a wish, while the run is open."""
        self._awake = (
            threading.RLock()
        )  # the pipe is not closed under who writes; signal handlers may come within
        self._is_open = False

    @property
    def checkpoints(self) -> Checkpoints | None:
        """Of the run; None: it has none, or has not begun."""
        return self.host.coordinator.checkpoints if self.host is not None else None

    @property
    def snapshots(self) -> dict[int, dict[int, Snapshot]]:
        """Barrier -> replica -> what it keeps, of barriers that no checkpoint covers yet."""
        return self.host.coordinator.snapshots if self.host is not None else {}

    @property
    def collected(self) -> dict[str, list[bytes]]:
        """Actor -> the parts of what its in-memory sinks received."""
        return self.host.collected if self.host is not None else {}

    def run(self, locks: Sequence[Any] = ()) -> None:
        """Returns when every worker has committed and ended. Raises RunError, OperatorError, Interrupted, ...

        locks: files and sockets that each worker is to keep open as well, for as long as it lives."""
        self._open()
        signals = self._signals or Signals()
        if self._signals is None:
            signals.install()
        try:
            host = self.host = make_host(self.job, partial(_send, self.workers), partial(_kill, self.workers))
            signals.tell(self.signalled)
            if self.job.restored is not None and self.job.restored.ended:
                commit_ended(self.job, self.job.restored)
                return
            with Shared(self.job, locks) as shared:
                try:
                    self._run(host, shared)
                finally:
                    self._end_workers()
        finally:
            signals.settle()
            self._close()
            if self._signals is None:
                signals.remove()
        if host.finished is not None and host.finished.outcome is not None:
            raise host.finished.outcome

    def _run(self, host: Host, shared: Shared) -> None:
        import_ahead(self.job)  # once, before the workers are forked
        for process in range(self.job.processes):
            if self.interrupts and not self.workers:
                spec = self.job.deploy.checkpoint if self._suspends else None
                raise stopped_early(spec, resumes=self.job.restored is not None)
            worker = self._start(self.job, process, shared, self.workers)
            worker.member = host.coordinator.members[process]
            self.workers.append(worker)
        self.sampler.pids = [worker.pid for worker in self.workers]
        streams = {worker.process: worker.life for worker in self.workers}
        with Keepalives.over(streams, self.job.processes, limit_s=away_s(self.job)) as signs:
            self._watch(host, signs)

    # -- what others may ask, from any thread

    def interrupt(self) -> None:
        """First: sources end and sinks commit. Second: everything stops and nothing is committed."""
        self.interrupts += 1
        self._wish(Coordinator.interrupt)

    def suspend(self) -> None:
        """First, of a run with checkpoints: it makes one and stops there. Second: as `interrupt`."""
        self._suspends = self.job.deploy.checkpoint is not None and not self.interrupts
        self.interrupts += 1
        self._wish(Coordinator.suspend)

    def signalled(self, number: int) -> None:
        """SIGINT interrupts, SIGTERM suspends. For signal handlers."""
        if number == signal.SIGTERM:
            self.suspend()
        else:
            self.interrupt()

    def abort(self) -> None:
        """Everything stops and nothing is committed, unless the commit has begun."""
        self.interrupts += 2
        self._wish(Coordinator.stop)

    def start_barrier(self, barrier: int) -> None:
        """Asks all sources to start `barrier` (> 0)."""
        self._wish(lambda coordinator, now: coordinator.start_barrier(barrier, now))

    def _wish(self, wish: Callable[[Coordinator, float], list[Action]]) -> None:
        self._wishes.append(wish)
        with self._awake, contextlib.suppress(BlockingIOError):
            if self._is_open:
                os.write(self._wake_write, b"x")

    # -- watching

    def _watch(self, host: Host, signs: Keepalives) -> None:
        selector = self._selector
        selector.register(signs.eventfd, selectors.EVENT_READ, signs)
        selector.register(self._wake_read, selectors.EVENT_READ, None)
        for worker in self.workers:
            selector.register(worker.control.fileno(), selectors.EVENT_READ, worker)
            selector.register(worker.pidfd, selectors.EVENT_READ, worker)
        next_tick = 0.0
        while host.finished is None:
            now = monotonic()
            if now >= next_tick:
                next_tick = now + TICK_S
                self.sampler.sample()
                if self.on_tick is not None:
                    self.on_tick()
                host.tick()
                self._lose_silent(host, signs)
            for key, _ in selector.select(max(0.01, next_tick - monotonic())):
                if key.data is None:
                    os.read(self._wake_read, 4096)
                elif key.data is signs:
                    self._felt(host, signs)
                else:
                    self._heard(host, key.data, key.fd)
            while self._wishes:
                host.do(self._wishes.popleft()(host.coordinator, monotonic()))
        self.sampler.sample()

    def _heard(self, host: Host, worker: WorkerProcess, fd: int) -> None:
        ended = fd == worker.pidfd and worker.reap()
        for message in worker.control.receive():
            host.heard(worker.process, message)
        if ended:
            self._selector.unregister(worker.pidfd)
            self._lose(host, worker, worker.describe_end())
        if worker.control.closed:
            with contextlib.suppress(KeyError):
                self._selector.unregister(worker.control.fileno())

    def _felt(self, host: Host, signs: Keepalives) -> None:
        for process, state in signs.news():
            worker = self.workers[process]
            if state is PeerState.SILENT and worker.exit_status is None:
                self._silent.add(worker.pid, monotonic())
        self._lose_silent(host, signs)

    def _lose_silent(self, host: Host, signs: Keepalives) -> None:
        """Loses the silent workers of which the kernel says that they are stopped."""
        for pid, cause in self._silent.lost(monotonic()).items():
            worker = next(each for each in self.workers if each.pid == pid)
            if worker.exit_status is None:
                self._lose(host, worker, silence(signs.limit_s, cause))

    def _lose(self, host: Host, worker: WorkerProcess, how: str) -> None:
        actors = ", ".join(self.job.actors_of(worker.process)) or "none"
        host.lost(worker.process, f"worker {worker.process} (pid {worker.pid}, actors: {actors}) {how}")

    def _end_workers(self) -> None:
        """No process survives this, whatever happened."""
        for worker in self.workers:
            worker.end()

    def _open(self) -> None:
        """Not before the run begins: it may be refused."""
        self._selector = selectors.DefaultSelector()
        with self._awake:
            self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            self._is_open = True

    def _close(self) -> None:
        self._selector.close()
        with self._awake:
            self._is_open = False
            os.close(self._wake_read)
            os.close(self._wake_write)


def _send(workers: list[WorkerProcess], worker: int, message: Message) -> None:
    workers[worker].control.send(message)


def _kill(workers: list[WorkerProcess]) -> None:
    for worker in workers:
        worker.kill()
