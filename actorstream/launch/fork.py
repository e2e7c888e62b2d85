"""Starts a worker by a fork: it has the job, the fabric and everything else from its parent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import traceback
from typing import TYPE_CHECKING

from actorstream.control.pipe import ControlPipe
from actorstream.launch.locks import release_others
from actorstream.launch.process import (
    WorkerProcess,
    die_with_parent,
    give_signs_of_life,
    ignore_signals,
    serve,
)
from actorstream.native.pidfd import require_pidfds

if TYPE_CHECKING:
    from actorstream.launch.shared import Shared
    from actorstream.plan.job import Job


def fork_worker(job: Job, process: int, shared: Shared, others: list[WorkerProcess]) -> WorkerProcess:
    """Forks one worker. In the child this never returns. ResourceError: this system cannot tell when a process ends."""
    require_pidfds()
    near, far = ControlPipe.pair()
    life, own_life = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            near.close()
            life.close()
            for other in others:
                other.close()
            status = _child(job, process, shared, far, own_life, parent)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)
    far.close()
    own_life.close()
    return WorkerProcess(process, pid, near, life)


def _child(
    job: Job, process: int, shared: Shared, control: ControlPipe, life: socket.socket, parent: int
) -> int:
    """Runs the worker; returns the exit status. The worker dies with its launcher, whatever way that goes."""
    die_with_parent(parent, f"actorstream-w{process}")
    ignore_signals()
    release_others(shared.locks)
    with contextlib.suppress(RuntimeError):
        asyncio._set_running_loop(None)  # forked from inside a running loop (a notebook): it is not ours
    with give_signs_of_life(job, process, life):
        return serve(job, process, shared.fabric, control, shared.peers(process))
