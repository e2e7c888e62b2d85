"""Anonymous shared memory and eventfds, and how much memory is left. Only memfds: nothing has a name that
could stay.

A launcher makes these before it forks; its workers inherit them. Nothing here keeps a registry."""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
from typing import Any, NamedTuple

import numpy as np

from actorstream.errors import ResourceError
from actorstream.native._core import ffi, lib
from actorstream.native.status import raise_status

UNLIMITED = 2**64 - 1
_ALIGNMENT = 128  # two cache lines: neighbours do not share one, nor the pair that is fetched together


def create_memfd(name: str, nbytes: int) -> int:
    """A sealable memfd of `nbytes` bytes, not yet backed by memory. `name` shows up in /proc only.

    ResourceError: too many open files, or a file size limit below `nbytes`."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and limit < nbytes:
        raise ResourceError(
            f"shared memory {name!r} of {nbytes} bytes: RLIMIT_FSIZE is {limit}; raise it with `ulimit -f`"
        )
    try:
        fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        raise ResourceError(f"shared memory {name!r}: {error.strerror}; raise it with `ulimit -n`") from error
    os.ftruncate(fd, nbytes)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return fd


def create_eventfd() -> int:
    """An eventfd as a `Doorbell` wants it: non-blocking, closed on exec. ResourceError: too many open
    files."""
    try:
        return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    except OSError as error:
        raise ResourceError(f"eventfd: {error.strerror}; allow more open files with `ulimit -n`") from error


class ControlMemory:
    """Zeroed shared memory for rings, doorbells, frontiers and counters, mapped for as long as anyone refers
    to it.

    A forked child may go on using the object. `fd` is for handing it to a process that is not a child,
    which passes it in again (the caller closes his own)."""

    __slots__ = ("_base", "_map", "_next", "fd", "nbytes")

    def __init__(self, nbytes: int, *, name: str = "actorstream-control", fd: int | None = None) -> None:
        """`nbytes`: size in bytes. ResourceError: that much memory is not left."""
        self.nbytes = nbytes
        self._next = 0
        if fd is None:
            left = memory_left().available
            if left < nbytes:
                raise ResourceError(f"control memory of {nbytes} bytes: only {left} are left to this process")
            fd = create_memfd(name, nbytes)
            try:
                os.posix_fallocate(fd, 0, nbytes)
            except OSError as error:
                os.close(fd)
                raise ResourceError(f"control memory of {nbytes} bytes: {error.strerror}") from error
        self.fd: int = fd
        self._map = mmap.mmap(fd, nbytes)
        self._base = ffi.from_buffer(self._map)

    def reserve(self, nbytes: int) -> int:
        """Offset of the next `nbytes` bytes that nobody has reserved through this object, aligned to 128."""
        offset = self._next
        if offset + nbytes > self.nbytes:
            raise ResourceError(f"control memory of {self.nbytes} bytes: {offset} used, {nbytes} wanted")
        self._next = -(-(offset + nbytes) // _ALIGNMENT) * _ALIGNMENT
        return offset

    def pointer(self, offset: int) -> Any:
        """The address of byte `offset`, for the core."""
        if not 0 <= offset < self.nbytes:
            raise ValueError(f"offset {offset} lies outside the {self.nbytes} bytes of this control memory")
        return self._base + offset

    def words(self, offset: int, count: int, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
        """`count` values at byte `offset` as a writable array over the shared memory, e.g. counters. An
        aligned 64-bit store or load is not torn; there is no order between several."""
        return np.frombuffer(self._map, dtype, count, offset)

    def close(self) -> None:
        """Closes the file descriptor. The mapping goes when the last object over it does."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class MemoryLeft(NamedTuple):
    """Bytes; UNLIMITED where nothing limits. The cgroup is the level with the least left, page cache not
    counted."""

    available: int
    machine_total: int
    machine_available: int
    cgroup_limit: int
    cgroup_usage: int
    cgroup_version: int


def memory_left(root: str = "") -> MemoryLeft:
    """What this process may still take before the kernel refuses or kills: the least over /proc/meminfo
    and every level of its memory cgroup, v1 or v2. `root` is put before all paths, for tests."""
    out = ffi.new("as_memory *")
    code = lib.as_memory_read(root.encode(), out)
    if code != lib.AS_OK:
        raise_status(code, f"memory limits below {root!r}")
    return MemoryLeft(
        out.available,
        out.machine_total,
        out.machine_available,
        out.cgroup_limit,
        out.cgroup_usage,
        out.cgroup_version,
    )


class ResourceLimits(NamedTuple):
    """Soft limits of this process; UNLIMITED where there is none. Bytes, except `open_files`."""

    address_space: int
    open_files: int
    locked_memory: int
    file_size: int


def resource_limits() -> ResourceLimits:
    """RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_MEMLOCK and RLIMIT_FSIZE."""

    def soft(which: int) -> int:
        value = resource.getrlimit(which)[0]
        return UNLIMITED if value == resource.RLIM_INFINITY else value

    return ResourceLimits(
        soft(resource.RLIMIT_AS),
        soft(resource.RLIMIT_NOFILE),
        soft(resource.RLIMIT_MEMLOCK),
        soft(resource.RLIMIT_FSIZE),
    )


def keep_freed_memory(nbytes: int = 1 << 28) -> None:
    """From now on the C library keeps up to `nbytes` of freed memory of each thread's heap for its next request, also of
    large arrays. Otherwise it gives the memory of a large batch back to the kernel, and pays for every page again."""
    import ctypes

    libc: Any = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_TRIM_THRESHOLD, nbytes)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_THRESHOLD)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of glibc's malloc.h."""
_LARGEST_THRESHOLD = 32 << 20
"""What glibc accepts at the most."""
