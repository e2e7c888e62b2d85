"""A worker process on both sides: what the launcher knows of it, and what it does itself. Decides nothing about the run."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorstream.control.coordinator import Member
from actorstream.control.failures import Aborted, failed_message
from actorstream.launch.bind import bind_worker
from actorstream.native.memory import keep_freed_memory
from actorstream.native.pidfd import open_pidfd
from actorstream.native.time_slice import request_slice
from actorstream.runtime.order import order_classes
from actorstream.runtime.worker import Worker
from actorstream.scheduling.time_slice import time_slices
from actorstream.transports.network.keepalives import Keepalives

if TYPE_CHECKING:
    from actorstream.actors.peer_end import PeerEnd
    from actorstream.control.link import ControlLink
    from actorstream.control.pipe import ControlPipe
    from actorstream.plan.job import Job
    from actorstream.transports.base import Fabric

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's loop where it is installed, else asyncio's."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class WorkerProcess:
    """The launcher's view of one worker process."""

    def __init__(self, process: int, pid: int, control: ControlPipe, life: socket.socket) -> None:
        """`life`: the stream over which the process gives signs of life."""
        self.process, self.pid, self.control, self.life = process, pid, control, life
        self.pidfd = open_pidfd(pid)
        self.member = Member()
        """What the coordinator knows of it."""
        self.exit_status: int | None = None
        self.cpu_s = 0.0

    @property
    def started(self) -> bool:
        """Whether every on_start in it is through."""
        return self.member.started

    def reap(self) -> bool:
        """Takes the exit status if the process has ended; whether it has."""
        if self.exit_status is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid == 0:
                return False
            self.exit_status = status
            self.cpu_s = usage.ru_utime + usage.ru_stime
        return True

    def kill(self) -> None:
        if self.exit_status is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def describe_end(self) -> str:
        """How the process ended, in words."""
        assert self.exit_status is not None
        if os.WIFSIGNALED(self.exit_status):
            number = os.WTERMSIG(self.exit_status)
            name = f" ({signal.Signals(number).name})" if number in set(signal.Signals) else ""
            return f"was killed by signal {number}{name}"
        return f"exited with status {os.WEXITSTATUS(self.exit_status)}"

    def end(self) -> None:
        """Kills the process if it still runs, and lets go of it."""
        if self.exit_status is None:
            self.kill()
            _, self.exit_status, usage = os.wait4(self.pid, 0)
            self.cpu_s = usage.ru_utime + usage.ru_stime
        self.close()

    def close(self) -> None:
        self.control.close()
        self.life.close()
        os.close(self.pidfd)


def give_signs_of_life(job: Job, process: int, life: socket.socket) -> Keepalives:
    """Starts the signs of life of a worker to its launcher; they go on until they are closed."""
    return Keepalives.over({job.processes: life}, process, limit_s=away_s(job))


def away_s(job: Job) -> float:
    """Seconds after which a silent worker of `job` is lost."""
    return job.deploy.network.peer_timeout.total_seconds()


def import_ahead(job: Job) -> None:
    """Imports what the workers of `job` would import each for itself, or amid their run."""
    order_classes(job)
    if any(not schema.fixed for actor in job.graph.actors.values() for schema in actor.input_schemas):
        import pyarrow.compute  # noqa: F401

    if "pyarrow" in sys.modules:
        import numpy.ma  # noqa: F401  # pyarrow does when it is first given an array: 20 ms


def serve(
    job: Job, process: int, fabric: Fabric | None, control: ControlLink, peers: Mapping[int, PeerEnd]
) -> int:
    """Runs a worker in a process of its own; returns the exit status."""
    keep_freed_memory()
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(run_worker(job, process, fabric, control, peers))
    except Aborted:
        return 1
    except BaseException as error:
        control.send(failed_message(process, error))
        return 1
    return 0


async def run_worker(
    job: Job,
    process: int,
    fabric: Fabric | None,
    control: ControlLink | None = None,
    peers: Mapping[int, PeerEnd] | None = None,
) -> Worker:
    """Opens this process's end of the fabric and runs its worker to the end.

    control: link to the coordinator; None: this process is the only one. peers: ways to the other processes, for control
    actors."""
    transport = job.transport(fabric, process) if fabric is not None else None
    bound = bind_worker(job, process, transport) if control is not None else None
    if control is not None and bound is not None:
        control.send(bound)
    if control is not None:
        request_slice(slices_of(job)[process])
    worker = Worker(job, process, transport, control, peers or {})
    await worker.run()
    return worker


def slices_of(job: Job) -> list[int]:
    """The time slice of each worker's thread."""
    at = {each.id: job.process_of(each) for each in job.plan.replicas}
    sources = {at[each.id] for each in job.plan.replicas if job.role(each.actor) == "source"}
    links = {(at[link.producer], at[link.consumer]) for link in job.channels}
    return time_slices(job.processes, sources, links)


def ignore_signals() -> None:
    """Has no signal end this process: the terminal sends Ctrl-C, and a cluster may send SIGTERM, to all processes of a run, and
    the launcher decides what they mean.

    A program that a hook starts inherits what is ignored, but no handler. It ignores Ctrl-C as well, since the hook may need it
    until the orderly end. SIGTERM, with which hooks end their programs, is not ignored here but has a handler."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _do_nothing)
    signal.siginterrupt(signal.SIGTERM, False)
    os.register_at_fork(after_in_child=_end_by_sigterm)


def _do_nothing(*_: object) -> None:
    """Handles SIGTERM in a worker."""


def _end_by_sigterm() -> None:
    """Puts back the default in a process that a hook forks, such as one of multiprocessing: it inherits handlers, too."""
    if signal.getsignal(signal.SIGTERM) is _do_nothing:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def die_with_parent(parent: int, name: str) -> None:
    """From now on this process is killed when its `parent` ends, whatever way it ends; `name` is what ps shows."""
    libc: Any = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.prctl(PR_SET_NAME, name.encode()[:15])
    if os.getppid() != parent:  # the launcher died between the start and prctl
        os._exit(1)
