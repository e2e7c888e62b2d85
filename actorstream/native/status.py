"""What the core's status codes and errnos mean as exceptions; the only place that maps them."""

from __future__ import annotations

import errno
import os
from typing import Any, NoReturn

from actorstream.errors import BrokenError, ChannelError, ResourceError
from actorstream.native._core import ffi, lib

OK: int = lib.AS_OK
AGAIN: int = lib.AS_AGAIN

_MEANING: dict[int, tuple[type[Exception], str]] = {
    lib.AS_E_MEMORY: (ResourceError, "no memory left below the arena's, the cgroup's or the kernel's limit"),
    lib.AS_E_STALE: (
        BrokenError,
        "this end was taken over by a later one, or its process has forked",
    ),
    lib.AS_E_CORRUPT: (BrokenError, "the other side wrote what is not a valid entry or index"),
    lib.AS_E_ARGUMENT: (ValueError, "an argument is outside what the function allows"),
    lib.AS_E_CLOSED: (BrokenError, "the other side has closed"),
}


def raise_status(code: int, what: str) -> NoReturn:
    """Raises what a negative status `code` means; `what` names the operation and its object."""
    if code == lib.AS_E_SYSTEM:
        raise_errno(what)
    kind, meaning = _MEANING.get(code, (ChannelError, f"unknown status {code}"))
    raise kind(f"{what}: {meaning}")


def raise_errno(what: str) -> NoReturn:
    """Raises what the errno of the last failed call of the core means."""
    number: int = ffi.errno
    if number in (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EFBIG):
        raise ResourceError(f"{what}: {os.strerror(number)}; `actorstream doctor` shows the limits")
    if number == errno.ESTALE:
        raise BrokenError(f"{what}: it belongs to another plan, or its block was recycled")
    if number == errno.EBADMSG:
        raise BrokenError(f"{what}: its indices make no sense, the shared memory was damaged")
    if number == errno.EINVAL:
        raise ValueError(f"{what}: nothing of this kind lies there, or an argument is out of range")
    raise OSError(number, f"{what}: {os.strerror(number)}")


def opened(handle: Any, what: str) -> Any:
    """`handle`, or the exception that says why the core answered NULL."""
    if handle == ffi.NULL:
        raise_errno(what)
    return handle
