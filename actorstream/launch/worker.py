"""The program of a worker that was started by exec: `python -m actorstream.launch.worker TOPOLOGY ... --process N --control FD`.

It compiles the job from the same files as the launcher, shows that it made the same plan, takes its end of what the launcher
hands it, and runs.
"""

from __future__ import annotations

import signal
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import TYPE_CHECKING

from actorstream import __version__
from actorstream.control.failures import failed_message
from actorstream.control.pipe import ControlPipe
from actorstream.errors import ConfigurationError
from actorstream.launch.process import die_with_parent, ignore_signals

if TYPE_CHECKING:
    from actorstream.launch.files import JobFiles
    from actorstream.launch.handover import Handover
    from actorstream.plan.job import Job


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status; what goes wrong is told over the control link."""
    ignore_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    from actorstream.launch.files import JobFiles
    from actorstream.launch.handover import take_over

    parser = ArgumentParser(prog="python -m actorstream.launch.worker", description=__doc__)
    JobFiles.add_arguments(parser)
    parser.add_argument("--process", type=int, required=True, help="which of the plan's processes this is")
    parser.add_argument("--control", type=int, required=True, help="descriptor of the socket to the launcher")
    parsed = parser.parse_args(arguments)
    control = ControlPipe(socket.socket(fileno=parsed.control))
    handover, descriptors = take_over(control.sock)
    die_with_parent(handover.launcher, f"actorstream-w{parsed.process}")
    sys.path[:] = handover.path
    try:
        job = _compiled(JobFiles.of(parsed), parsed.process, handover)
        return _run(job, parsed.process, control, handover, descriptors)
    except BaseException as error:
        control.send(failed_message(parsed.process, error))
        return 1


def _compiled(files: JobFiles, process: int, handover: Handover) -> Job:
    """The launcher's job. ConfigurationError: the files, or the code, are others here."""
    if handover.version != __version__:
        raise ConfigurationError(
            f"worker {process} is actorstream {__version__}, its launcher is {handover.version}; install the same version "
            "for both"
        )
    job = files.job()
    if job.fingerprint != handover.plan:
        raise ConfigurationError(
            f"worker {process} made plan {job.fingerprint:#018x} of {str(files.topology)!r}, its launcher made "
            f"{handover.plan:#018x}; both have to read the same topology, deployment and classes on the same machine, or one "
            "plan that was saved (--plan)"
        )
    if handover.resume is not None:
        from actorstream.launch.resume import restore_job

        restore_job(job)
        found = job.restored.number if job.restored is not None else None
        if found != handover.resume:
            raise ConfigurationError(
                f"worker {process} found checkpoint {found}, its launcher goes on from {handover.resume}; both have to use "
                "the same store"
            )
    return job


def _run(job: Job, process: int, control: ControlPipe, handover: Handover, descriptors: list[int]) -> int:
    from actorstream.actors.peer_end import SocketEnd
    from actorstream.launch.process import give_signs_of_life, import_ahead, serve
    from actorstream.metrics.counters import CounterTable
    from actorstream.transports.base import HandedOver

    life, counters, *rest = descriptors
    with give_signs_of_life(job, process, socket.socket(fileno=life)):
        job.counters = CounterTable(job.counters.rows, counters)
        fabric = None
        count = handover.fabric_descriptors
        if handover.fabric is not None:
            fabric = job.take_fabric(HandedOver(handover.fabric, rest[:count]))
        sockets = rest[count : count + len(handover.peers)]  # locks are behind them, and stay open
        peers = {peer: SocketEnd(socket.socket(fileno=fd)) for peer, fd in zip(handover.peers, sockets)}
        import_ahead(job)
        return serve(job, process, fabric, control, peers)


if __name__ == "__main__":
    sys.exit(main())
