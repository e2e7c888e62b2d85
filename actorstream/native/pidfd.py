"""A descriptor that says when a process has ended. Knows nothing of workers, and watches nothing itself."""

from __future__ import annotations

import errno
import os

from actorstream.errors import ResourceError

_MISSING = (errno.ENOSYS, errno.EPERM)
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def require_pidfds() -> None:
    """ResourceError: this system has none. That no descriptor is left just now is no error here."""
    try:
        os.close(open_pidfd(os.getpid()))
    except OSError as error:
        if error.errno not in _EXHAUSTED:
            raise


def open_pidfd(process: int) -> int:
    """A descriptor that is readable once `process` has ended; the caller closes it.

    ProcessLookupError: it has ended. ResourceError: this kernel, or a filter of its system calls, knows no pidfds. OSError:
    no descriptor is left."""
    make = getattr(os, "pidfd_open", None)
    try:
        if make is not None:
            return make(process)  # type: ignore[no-any-return]
    except OSError as error:
        if error.errno not in _MISSING:
            raise
    raise ResourceError(
        f"pidfd_open({process}): this system ({os.uname().release}) cannot say when another process has ended; needed: "
        "Linux 5.3 or later, and a container that does not forbid the call"
    )
