"""A timer of the kernel that counts nanoseconds, as a file descriptor for an event loop, which counts milliseconds."""

from __future__ import annotations

import ctypes
import os
from typing import Any

_libc: Any = ctypes.CDLL(None, use_errno=True)
_MONOTONIC = 1
_NONBLOCK = 0o4000
_CLOEXEC = 0o2000000
_ABSOLUTE = 1


class _Spec(ctypes.Structure):
    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class TimerFd:
    """One timer. `fd` is readable from the armed moment on, until `clear`."""

    __slots__ = ("_reference", "_spec", "fd")

    def __init__(self) -> None:
        """OSError: no file number is left."""
        self.fd = _libc.timerfd_create(_MONOTONIC, _NONBLOCK | _CLOEXEC)
        if self.fd < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"timerfd_create: {os.strerror(code)}")
        self._spec = _Spec()
        self._reference = ctypes.byref(self._spec)

    def arm(self, at_ns: int) -> None:
        """Fires at `at_ns` of the monotonic clock, at once if that is past; replaces an earlier setting."""
        self._spec.value_s, self._spec.value_ns = divmod(max(at_ns, 1), 1_000_000_000)
        _libc.timerfd_settime(self.fd, _ABSOLUTE, self._reference, None)

    def clear(self) -> None:
        """Makes `fd` unreadable after it has fired."""
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Gives the file number back. Idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
