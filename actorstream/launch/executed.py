"""Starts a worker as a program of its own (exec), which compiles the same job from the same files. It cannot make
the fabric, the counters and the sockets of control actors itself, and is handed these."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

from actorstream import __version__
from actorstream.control.pipe import ControlPipe
from actorstream.launch.handover import Handover, hand_over
from actorstream.launch.process import WorkerProcess
from actorstream.native.pidfd import require_pidfds

if TYPE_CHECKING:
    from actorstream.launch.files import JobFiles
    from actorstream.launch.shared import Shared
    from actorstream.plan.job import Job


class ExecutedWorkers:
    """Starts the workers of jobs that were compiled from `files`; `start` is for `run_job`."""

    def __init__(self, files: JobFiles) -> None:
        self.files = files

    def start(self, job: Job, process: int, shared: Shared, others: list[WorkerProcess]) -> WorkerProcess:
        """ConfigurationError: the transport's fabric cannot be handed over. ResourceError: this system cannot tell when a
        process ends."""
        require_pidfds()
        handover, descriptors = _handover(job, process, shared)
        near, far = ControlPipe.pair()
        life, own_life = socket.socketpair()
        number = far.fileno()
        command = [sys.executable, "-P", "-m", "actorstream.launch.worker", *self.files.arguments()]
        command += ["--process", str(process), "--control", str(number)]
        try:
            pid = os.posix_spawn(
                sys.executable,
                command,
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, number, number)],  # the one that is not closed by exec
                setsigmask=[signal.SIGINT, signal.SIGTERM],  # until the worker ignores them
            )
        except BaseException:
            for each in (near, life, own_life):
                each.close()
            raise
        finally:
            far.close()
        with own_life:
            hand_over(near.sock, handover, [own_life.fileno(), *descriptors])
        return WorkerProcess(process, pid, near, life)


def _handover(job: Job, process: int, shared: Shared) -> tuple[Handover, list[int]]:
    fabric = shared.fabric.hand_over() if shared.fabric is not None else None
    sockets = shared.sockets(process)
    handover = Handover(
        version=__version__,
        launcher=os.getpid(),
        plan=job.fingerprint,
        path=sys.path,
        resume=job.restored.number if job.restored is not None else None,
        fabric=fabric.description if fabric is not None else None,
        fabric_descriptors=len(fabric.descriptors) if fabric is not None else 0,
        peers=list(sockets),
    )
    descriptors = [job.counters.fd, *(fabric.descriptors if fabric is not None else ())]
    descriptors += [each.fileno() for each in (*sockets.values(), *shared.locks)]
    return handover, descriptors
