"""The command's standard streams: open whatever the caller has closed, and their failures told. Writes nothing itself."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any, TextIO

from actorstream.errors import RunError

STREAMS = {0: os.O_RDWR, 1: os.O_RDONLY, 2: os.O_RDWR}
"""The null device takes the place of a closed descriptor and is opened with these flags. Standard output is opened for
reading only, so that writing to it fails: a command must not lose silently what it was asked to print."""


class PrintError(RunError):
    """A command cannot print what it has to print."""


class _Output(io.RawIOBase):
    """Writes to a descriptor. A write that fails raises PrintError, unless the output is `optional`."""

    def __init__(self, descriptor: int, name: str, *, optional: bool) -> None:
        self.descriptor, self.called, self.optional = descriptor, name, optional

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.descriptor

    def isatty(self) -> bool:
        return os.isatty(self.descriptor)

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            return self._written(data)
        except OSError as error:
            if self.optional:
                return len(data)
            if isinstance(error, BrokenPipeError):
                raise
            raise PrintError(f"cannot write to {self.called}: {error.strerror}") from error

    def _written(self, data: bytes) -> int:
        while True:
            try:
                return os.write(self.descriptor, data)
            except BlockingIOError:  # who shares the descriptor has made it non-blocking
                poll = select.poll()
                poll.register(self.descriptor, select.POLLOUT)
                poll.poll()


def open_streams() -> None:
    """Opens standard streams that are closed, before files get their numbers; from now on progress and messages that
    cannot be written are lost, and other output is a PrintError."""
    for descriptor, mode in STREAMS.items():
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # takes the least number that is free
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = _text(1, "stdout", optional=False)
    sys.stderr = _text(2, "stderr", optional=True)


def _text(descriptor: int, name: str, *, optional: bool) -> TextIO:
    raw: Any = _Output(descriptor, name, optional=optional)
    before: TextIO | None = getattr(sys, name)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        before.encoding if before is not None else "utf-8",
        errors="backslashreplace",
        line_buffering=optional or raw.isatty(),
        write_through=optional,
    )
