"""Runs mpiexec, passes signals on to it, and ends what it leaves behind: a proxy of hydra that was told to end while its ranks
were in MPI_Init may go on for ever and take a core. A program of its own, `guard.py SECONDS COMMAND...`: it imports nothing of
this package, so that the process that stays for the time of the run is a small one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from time import monotonic, sleep

PASSED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
LOOK_S = 0.02
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def run(left_s: float, command: list[str]) -> int:
    """Returns how the command ended, as `os.waitpid` says it. What it leaves may take `left_s` seconds to end."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what mpiexec leaves becomes a child of this process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*PASSED, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        libc.prctl(
            _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0
        )  # killed with this process, as if it were the same
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            os.execv(command[0], command)
        finally:
            os._exit(127)
    status = _watch(child)
    _end_left(left_s)
    return status


def _watch(child: int) -> int:
    while True:
        heard = signal.sigwaitinfo({*PASSED, signal.SIGCHLD})
        if heard.si_signo == signal.SIGCHLD:
            while (found := _reaped())[0]:
                if found[0] == child:
                    return found[1]
        elif heard.si_code <= 0:  # else of the terminal, which has sent it to the command as well
            os.kill(child, heard.si_signo)


def _reaped() -> tuple[int, int]:
    """A child that has ended, and how; (0, 0): none has."""
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return 0, 0


def _end_left(left_s: float) -> None:
    end = monotonic() + left_s
    while left := _children():
        if monotonic() > end:
            for each in left:
                os.kill(each, signal.SIGKILL)
        sleep(LOOK_S)


def _children() -> list[int]:
    """The children that have not ended; those that have are reaped."""
    while _reaped()[0]:
        pass
    found, own = [], os.getpid()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[1]) == own and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def main() -> None:
    status = run(float(sys.argv[1]), sys.argv[2:])
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
