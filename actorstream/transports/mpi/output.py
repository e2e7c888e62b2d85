"""What a rank has written, on its way to the user: mpiexec reads it from a pipe, and drops what it has not read when it ends."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import termios
from time import monotonic, sleep

LOOK_S = 0.005


def unread(descriptor: int) -> int:
    """Bytes that were written to a pipe or socket and that nobody has read yet; 0 for anything else."""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return 0
    question = termios.FIONREAD if stat.S_ISFIFO(mode) else termios.TIOCOUTQ
    return int(struct.unpack("i", fcntl.ioctl(descriptor, question, bytes(4)))[0])


def wait_until_read(limit_s: float, descriptors: tuple[int, ...] = (1, 2)) -> bool:
    """Waits until what was written to all of them has been read; whether it was, within so long."""
    end = monotonic() + limit_s
    while any(map(unread, descriptors)):
        if monotonic() > end:
            return False
        sleep(LOOK_S)
    return True
