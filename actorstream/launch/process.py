"""A forked worker process: what happens between fork and exit, on both sides. Decides nothing about the run."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

from actorstream.native.memory import keep_freed_memory
from actorstream.native.pidfd import open_pidfd, require_pidfds
from actorstream.runtime.control import Aborted, ControlPipe, failed_message
from actorstream.runtime.worker import Worker

if TYPE_CHECKING:
    from actorstream.runtime.compile import Job
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

    def __init__(self, process: int, pid: int, control: ControlPipe) -> None:
        self.process, self.pid, self.control = process, pid, control
        self.pidfd = open_pidfd(pid)
        self.started = self.ended = self.prepared = self.finished = self.failed = False
        self.exit_status: int | None = None
        self.cpu_s = 0.0

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

    def close(self) -> None:
        self.control.close()
        os.close(self.pidfd)


def fork_worker(job: Job, process: int, fabric: Fabric | None, others: list[WorkerProcess]) -> WorkerProcess:
    """Forks one worker. In the child this never returns. ResourceError: this system cannot tell when a process ends."""
    require_pidfds()
    near, far = ControlPipe.pair()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            near.close()
            for other in others:
                other.close()
            status = _child(job, process, fabric, far, parent)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)
    far.close()
    return WorkerProcess(process, pid, near)


def _child(job: Job, process: int, fabric: Fabric | None, control: ControlPipe, parent: int) -> int:
    """Runs the worker; answers the exit status. The worker dies with its launcher, whatever way that goes."""
    die_with_parent(parent, f"actorstream-w{process}")
    keep_freed_memory()
    signal.set_wakeup_fd(-1)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the terminal sends Ctrl-C to everybody; the launcher decides
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(RuntimeError):
        asyncio._set_running_loop(None)  # forked from inside a running loop (a notebook): it is not ours
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(run_worker(job, process, fabric, control))
    except Aborted:
        return 1
    except BaseException as error:
        control.send(failed_message(process, error))
        return 1
    return 0


async def run_worker(job: Job, process: int, fabric: Fabric | None, control: ControlPipe | None) -> Worker:
    """Opens this process's end of the fabric and runs its worker to the end."""
    transport = job.transport(fabric, process) if fabric is not None else None
    worker = Worker(job, process, transport, control)
    await worker.run()
    return worker


def die_with_parent(parent: int, name: str) -> None:
    """From now on this process is killed when its `parent` ends, whatever way it ends; `name` is what ps shows."""
    libc: Any = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.prctl(PR_SET_NAME, name.encode()[:15])
    if os.getppid() != parent:  # the launcher died between fork and prctl
        os._exit(1)
