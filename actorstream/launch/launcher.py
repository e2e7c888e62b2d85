"""Starts the workers of a run, watches them, relays ends and failures. It is not on the data path and holds no data."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from actorstream.checkpoint.store import CheckpointStore
from actorstream.connectors.sink import END
from actorstream.errors import RunError, WorkerDiedError
from actorstream.launch.checkpoints import Checkpoints
from actorstream.launch.interrupted import Interrupted, Suspended
from actorstream.launch.process import WorkerProcess, fork_worker
from actorstream.launch.resume import commit_ended, stopped_early
from actorstream.launch.signals import Signals
from actorstream.runtime.control import (
    Abort,
    Barrier,
    Begun,
    Collected,
    Commit,
    Drain,
    Ended,
    Failed,
    Finished,
    Grant,
    Message,
    Prepare,
    Prepared,
    Snapshot,
    Started,
    Suspend,
    reported_error,
)
from actorstream.runtime.fuse import takes_messages

if TYPE_CHECKING:
    from actorstream.runtime.compile import Job
    from actorstream.runtime.report import Sampler
    from actorstream.transports.base import Fabric

GRACE_S = 1.0
"""After a failure or abort, how long workers may take to let go before they are killed."""
TICK_S = 0.05
SUSPECT_S = 0.5
"""How long an error that may be another's consequence waits for its cause."""
CONSEQUENCES = ("BrokenError", "ClosedError")


class Launcher:
    """Runs a job in forked worker processes.

    Args:
        job: the compiled topology.
        sampler: reads the counters from time to time, for the report and the progress display.
        on_tick: called about 20 times a second.
        signals: who hears SIGINT and SIGTERM; None: the launcher while it runs.
    """

    def __init__(
        self,
        job: Job,
        sampler: Sampler,
        on_tick: Callable[[], None] | None = None,
        signals: Signals | None = None,
    ) -> None:
        self.job, self.sampler, self.on_tick = job, sampler, on_tick
        self._signals = signals
        self.workers: list[WorkerProcess] = []
        self.collected: dict[str, list[bytes]] = {}
        self.snapshots: dict[int, dict[int, Snapshot]] = {}
        self.interrupts = 0
        """How often somebody has asked the run to stop."""
        self._suspends = False
        """Whether it is to stop at a checkpoint."""
        self._suspended: Suspended | None = None
        """It has: the workers are told to stop."""
        self._drained = False
        """Whether sources were told to end early."""
        self._fabric: Fabric | None = None
        self._selector = selectors.DefaultSelector()
        self._failure: BaseException | None = None
        self._suspect: tuple[float, int, BaseException] | None = None
        self._deadline: float | None = None
        self._committing = False
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._awake = (
            threading.RLock()
        )  # the pipe is not closed under who writes; signal handlers may come within
        self._over = False
        self._barriers: list[int] = []
        self._tokens: dict[int, bytes] = {}
        self._granted = 0
        self.checkpoints: Checkpoints | None = None

    def run(self) -> None:
        """Returns when every worker has committed and ended. Raises RunError, OperatorError, Interrupted, ..."""
        spec = self.job.deploy.checkpoint
        if spec is not None:
            self.checkpoints = Checkpoints(self.job, CheckpointStore(spec.path), spec.every.total_seconds())
        signals = self._signals or Signals()
        if self._signals is None:
            signals.install()
        try:
            signals.tell(self.signalled)
            self._run()
        finally:
            signals.settle()
            self._end()
            if self._signals is None:
                signals.remove()
        if self._failure is not None:
            raise self._failure
        if self._suspended is not None:
            raise self._suspended
        if self._drained:
            raise Interrupted(drained=True)

    def _run(self) -> None:
        if self.job.restored is not None and self.job.restored.ended:
            commit_ended(self.job, self.job.restored)
            return
        self._fabric = self.job.make_fabric()
        self.job.mesh = self._make_mesh()
        self._import_once()
        for process in range(self.job.processes):
            if self.interrupts and not self.workers:
                spec = self.job.deploy.checkpoint if self._suspends else None
                self._fail(stopped_early(spec, resumes=self.job.restored is not None))
                return
            self.workers.append(fork_worker(self.job, process, self._fabric, self.workers))
        self.sampler.pids = [worker.pid for worker in self.workers]
        self._watch()

    # -- what others may ask, from any thread

    def interrupt(self) -> None:
        """First: sources end and sinks commit. Second: everything stops and nothing is committed."""
        self.interrupts += 1
        self._wake()

    def suspend(self) -> None:
        """First, of a run with checkpoints: it makes one and stops there. Second: as `interrupt`."""
        self._suspends = self.job.deploy.checkpoint is not None and not self.interrupts
        self.interrupt()

    def signalled(self, number: int) -> None:
        """SIGINT interrupts, SIGTERM suspends. For signal handlers."""
        if number == signal.SIGTERM:
            self.suspend()
        else:
            self.interrupt()

    def abort(self) -> None:
        """Everything stops and nothing is committed, unless the commit has begun."""
        self.interrupts += 2
        self._wake()

    def start_barrier(self, barrier: int) -> None:
        """Asks all sources to start `barrier` (> 0)."""
        self._barriers.append(barrier)
        self._wake()

    def _wake(self) -> None:
        with self._awake, contextlib.suppress(BlockingIOError):
            if not self._over:
                os.write(self._wake_write, b"x")

    # -- watching

    def _watch(self) -> None:
        selector = self._selector
        selector.register(self._wake_read, selectors.EVENT_READ, None)
        for worker in self.workers:
            selector.register(worker.control.sock, selectors.EVENT_READ, worker)
            selector.register(worker.pidfd, selectors.EVENT_READ, worker)
        handled = 0
        next_tick = 0.0
        while any(worker.exit_status is None for worker in self.workers):
            now = monotonic()
            if now >= next_tick:
                next_tick = now + TICK_S
                self.sampler.sample()
                if self.on_tick is not None:
                    self.on_tick()
                self._checkpoint(now)
            if self._suspect is not None and now > self._suspect[0]:
                self._fail(self._suspect[2])
            if self._deadline is not None and now > self._deadline:
                for worker in self.workers:
                    worker.kill()
            wait = 0.0 if self._suspect is not None else next_tick - monotonic()
            for key, _ in selector.select(max(0.01, wait)):
                if key.data is None:
                    os.read(self._wake_read, 4096)
                else:
                    self._heard(key.data, key.fd)
            self._send_barriers()  # first: sources pass them before they end early
            if self.interrupts > handled:
                handled = self._interrupted()
                self._send_barriers()
        if self._suspect is not None:  # nobody is left who could name another cause
            self._fail(self._suspect[2])
        self.sampler.sample()

    def _send_barriers(self) -> None:
        while self._barriers:
            self._send_all(Barrier(self._barriers.pop(0)))

    def _heard(self, worker: WorkerProcess, fd: int) -> None:
        for message in worker.control.receive():
            self._message(worker, message)
        if fd == worker.pidfd and worker.reap():
            self._selector.unregister(worker.pidfd)
            for message in worker.control.receive():
                self._message(worker, message)
            over = worker.finished or worker.failed or self._suspended is not None
            if not over and self._failure is None:
                self._died(worker)
        elif worker.control.closed and fd != worker.pidfd:
            with contextlib.suppress(KeyError):
                self._selector.unregister(worker.control.sock)

    def _died(self, worker: WorkerProcess) -> None:
        actors = ", ".join(self.job.actors_of(worker.process)) or "none"
        committed = "some sinks may have committed" if self._committing else "nothing was committed"
        left = f"without checkpoints a lost worker ends the run, and {committed}"
        if self.checkpoints is not None:
            left = f"launch again with --resume to go on from {self.checkpoints.describe()}"
        error = WorkerDiedError(
            f"worker {worker.process} (pid {worker.pid}, actors: {actors}) {worker.describe_end()}; {left}"
        )
        self._suspected(error, rank=1)

    def _suspected(self, error: BaseException, rank: int) -> None:
        """Keeps an error that may be the consequence of another; the lowest rank wins after a moment."""
        if self._suspect is None or rank < self._suspect[1]:
            deadline = self._suspect[0] if self._suspect is not None else monotonic() + SUSPECT_S
            self._suspect = (deadline, rank, error)

    def _message(self, worker: WorkerProcess, message: Message) -> None:
        match message:
            case Started():
                worker.started = True
            case Failed():
                worker.failed = True
                self._check_over()
                if message.kind in CONSEQUENCES:
                    self._suspected(reported_error(message), rank=2)
                else:
                    self._fail(reported_error(message))
            case Ended():
                worker.ended = True
                if all(each.ended for each in self.workers) and self._goes_on():
                    self._send_all(Prepare())
            case Prepared(_, tokens):
                worker.prepared = True
                self._tokens |= tokens
                if all(each.prepared for each in self.workers) and self._goes_on():
                    self._commit_end()
            case Begun(_, barrier):
                if self.checkpoints is not None and self.checkpoints.begun(barrier):
                    self._barriers.append(barrier)
            case Finished():
                worker.finished = True
                self._check_over()
            case Collected(_, actor, data):
                self.collected.setdefault(actor, []).append(data)
            case Snapshot(_, replica, barrier):
                taken = self.snapshots.setdefault(barrier, {})
                taken[replica] = message
                if len(taken) == len(self.job.plan.replicas) and self._goes_on():
                    self._commit(barrier, taken)

    def _goes_on(self) -> bool:
        return self._failure is None and self._suspended is None and not self._committing

    def _checkpoint(self, now: float) -> None:
        """Starts a barrier when a checkpoint is due."""
        if self.checkpoints is None or self.interrupts or not all(worker.started for worker in self.workers):
            return
        barrier = self.checkpoints.due(now)
        if barrier is not None:
            self._barriers.append(barrier)
        else:
            self._grant()

    def _grant(self) -> None:
        """Programs may start the next barrier themselves."""
        granted = self.checkpoints.grant() if self.checkpoints is not None else None
        if granted is not None and granted != self._granted:
            self._granted = granted
            self._send_all(Grant(granted))

    def _commit(self, barrier: int, taken: dict[int, Snapshot]) -> None:
        """Everybody has passed a barrier: what belongs to it is kept first, then it is committed."""
        if self.checkpoints is not None:
            if self.checkpoints.is_void(barrier):
                return
            try:
                self.checkpoints.complete(barrier, taken, monotonic())
            except RunError as error:
                self._fail(error)
                return
            for old in [each for each in self.snapshots if each <= barrier]:
                del self.snapshots[old]
        self._send_all(Commit(barrier))
        if self._suspends and self.checkpoints is not None:
            self._suspended = Suspended(self.checkpoints.store.path, barrier)
            self._deadline = monotonic() + GRACE_S
            self._send_all(Suspend())
        elif not self.interrupts:
            self._grant()

    def _commit_end(self) -> None:
        if self.checkpoints is not None:
            try:
                self.checkpoints.end(self._tokens)
            except RunError as error:
                self._fail(error)
                return
        self._committing = True
        self._send_all(Commit(END))

    def _check_over(self) -> None:
        """When all have said how they ended, what still runs in a worker is not the run's and may be killed."""
        if self._deadline is None and all(
            each.finished or each.failed or each.exit_status is not None for each in self.workers
        ):
            self._deadline = monotonic() + GRACE_S

    def _interrupted(self) -> int:
        if self.interrupts == 1 and self._suspends:
            self._suspend()
        elif self.interrupts == 1:
            if self.checkpoints is not None:
                self.checkpoints.stop()
            self._drained = not all(each.ended or each.prepared or each.finished for each in self.workers)
            self._send_all(Drain())
        elif self._failure is None:
            self._fail(Interrupted(drained=False, committing=self._committing))
            self._deadline = monotonic() + GRACE_S
        return self.interrupts

    def _suspend(self) -> None:
        """Asks for a checkpoint at which the run stops; one that is under way will do. If all input has ended, there is
        nothing to go on with, and the run comes to its end."""
        assert self.checkpoints is not None
        barrier = self.checkpoints.start()
        if barrier is not None:
            self._barriers.append(barrier)

    def _fail(self, error: BaseException) -> None:
        self._suspect = None
        if self._suspended is not None:
            return  # what fails behind the checkpoint is not part of it
        if self._failure is None:
            self._failure = error
            if self._committing:  # nobody may be told otherwise any more
                self._check_over()
            else:
                self._deadline = monotonic() + GRACE_S
                self._send_all(Abort())

    def _send_all(self, message: Message) -> None:
        for worker in self.workers:
            if worker.exit_status is None:
                worker.control.send(message)

    def _import_once(self) -> None:
        """What every worker would import anyway is imported here, once, before the fork."""
        if any(
            not schema.fixed for actor in self.job.graph.actors.values() for schema in actor.input_schemas
        ):
            import pyarrow.compute  # noqa: F401

        if "pyarrow" in sys.modules:
            import numpy.ma  # noqa: F401  # pyarrow does when it is first given an array: 20 ms amid a run

    def _make_mesh(self) -> dict[tuple[int, int], Any]:
        if not any(takes_messages(actor.cls) for actor in self.job.graph.actors.values()):
            return {}
        from actorstream.runtime.messages import make_mesh

        return make_mesh(self.job)

    def _end(self) -> None:
        """No process survives this, whatever happened."""
        for worker in self.workers:
            if worker.exit_status is None:
                worker.kill()
                _, worker.exit_status, usage = os.wait4(worker.pid, 0)
                worker.cpu_s = usage.ru_utime + usage.ru_stime
            worker.close()
        self._selector.close()
        with self._awake:
            self._over = True
            os.close(self._wake_read)
            os.close(self._wake_write)
        for ends in self.job.mesh.values():
            for end in ends:
                end.close()
        if self._fabric is not None:
            self._fabric.close()
