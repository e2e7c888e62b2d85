"""How much a process reads from and writes to memory, by its misses of the last cache, where the system counts them."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from typing import Any

_CALL = {"x86_64": 298, "aarch64": 241}
"""Numbers of perf_event_open."""
_HARDWARE, _CACHE_MISSES, _INHERIT_EXCLUDE_KERNEL = 0, 3, (1 << 1) | (1 << 5)
_ATTRIBUTE = struct.Struct("IIQQQQQ")
LINE = 64


class CacheMisses:
    """Counts from now on, of a process with all its threads that start later. A virtual machine without such a counter, and a
    system that forbids it, count nothing."""

    def __init__(self, pid: int) -> None:
        number = _CALL.get(platform.machine())
        attribute = _ATTRIBUTE.pack(_HARDWARE, 112, _CACHE_MISSES, 0, 0, 0, _INHERIT_EXCLUDE_KERNEL)
        libc: Any = ctypes.CDLL(None, use_errno=True)
        arguments = (ctypes.create_string_buffer(attribute, 112), pid, -1, -1, 8)
        self._fd: int = libc.syscall(number, *arguments) if number is not None else -1

    def close(self) -> int | None:
        """The bytes of memory traffic so far; None: they are not counted here."""
        if self._fd < 0:
            return None
        counted = int.from_bytes(os.read(self._fd, 8), "little")
        os.close(self._fd)
        self._fd = -1
        return counted * LINE
