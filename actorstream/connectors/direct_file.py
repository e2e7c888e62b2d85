"""Direct files: pipes, devices and the process's own streams, into which bytes go at once, since nothing can be put in their
place. And what lies behind a path."""

from __future__ import annotations

import os
import re
import select
import stat
from pathlib import Path
from typing import Any

from actorstream.errors import RunError

_STREAM = re.compile(r"/(?:dev|proc/(?:self|thread-self))/fd/(\d+)$")
_MOST_LINKS = 40


class DirectFile:
    """Stands for a `StagedFile` where `is_direct`. What is written is seen at once, and nothing of it is undone."""

    def __init__(self, final: str | Path) -> None:
        self.final = Path(final)
        self._descriptor = -1

    def open(self) -> None:
        """Opens it; a pipe that nobody reads is waited for. RunError if it cannot be written."""
        stream = stream_of(self.final)
        try:
            if (
                stream is not None
            ):  # a file behind it would be written from its beginning if it were opened again
                self._descriptor = os.dup(stream)
            else:
                self._descriptor = os.open(self.final, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise self._refused(error) from error

    def write(self, data: bytes | memoryview) -> None:
        """Writes bytes. RunError if they are refused."""
        try:
            write_all(self._descriptor, data)
        except OSError as error:
            raise self._refused(error) from error

    def secure(self) -> dict[str, Any]:
        """A token by which nothing can be undone."""
        return {"final": str(self.final), "direct": True}

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    drop = close

    def _refused(self, error: OSError) -> RunError:
        return RunError(f"{str(self.final)!r} cannot be written: {error.strerror}")


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Writes bytes, and waits for room where a process that shares the descriptor has made it non-blocking."""
    rest = memoryview(data).cast("B")
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            wait_for_room(descriptor)


def wait_for_room(descriptor: int) -> None:
    """Waits until something can be written, or a write says why not."""
    poll = select.poll()  # select.select takes no descriptor above 1023
    poll.register(descriptor, select.POLLOUT)
    poll.poll()


def is_direct(path: str | Path) -> bool:
    """Whether a path leads to something that is neither a file nor a folder, or to a stream of this process."""
    if stream_of(path) is not None:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def stream_of(path: str | Path) -> int | None:
    """The descriptor that a path stands for, as /dev/stdout does; None: it names no stream of this process."""
    place = Path(path).absolute()
    for _ in range(_MOST_LINKS):
        found = _STREAM.match(str(place))
        if found is not None:
            return int(found[1])
        if not place.is_symlink():
            break
        place = place.parent / place.readlink()
    return None


def behind_links(path: Path) -> Path:
    """Where a symbolic link leads to, though nothing may be there yet; any other path as it is."""
    return Path(os.path.realpath(path)) if path.is_symlink() and not is_direct(path) else path
