"""A thread of C that looks for messages of MPI while the loop thread is busy with a hook, since MPI goes on with what it sends
only while somebody calls it, and while the loop thread sleeps. It takes no message in, and decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.native._core import lib
from actorstream.native.status import opened

if TYPE_CHECKING:
    from actorstream.native.doorbell import Doorbell

BUSY_S, EVERY_S = 0.05, 0.001
LEAST_S, MOST_S = 20e-6, 0.003
FOREVER_S = 1e9


class ProbeThread:
    """Args: `probe`: the address of a function with the signature of MPI_Iprobe, which any thread may call; `source`, `tag`
    and `comm` (a handle as a number) are its arguments. `busy_s`: it is called once `looked` was not called for so long, and
    then every `every_s`."""

    __slots__ = ("_look", "_looked", "_progress")

    def __init__(
        self,
        probe: int,
        source: int,
        tag: int,
        comm: int,
        *,
        busy_s: float = BUSY_S,
        every_s: float = EVERY_S,
    ) -> None:
        """ValueError: an address or a time is 0."""
        times = (int(busy_s * 1e9), int(every_s * 1e9))
        found = lib.as_progress_open(probe, source, tag, comm, *times)
        self._progress: Any = opened(found, f"a thread that calls {probe:#x}")
        self._looked, self._look = lib.as_progress_looked, lib.as_progress_look

    def looked(self) -> None:
        """The loop thread has just called MPI."""
        if self._progress is not None:
            self._looked(self._progress)

    def look(self, bell: Doorbell, ns: int) -> bool:
        """Looks without the GIL, up to `ns` nanoseconds, whether a message has come. False: none has, or `bell` has rung."""
        return self._progress is not None and bool(self._look(self._progress, bell.handle, ns) == 0)

    def watch(
        self, eventfd: int, *, least_s: float = LEAST_S, most_s: float = MOST_S, rested_s: float = FOREVER_S
    ) -> None:
        """The loop thread goes to sleep: this one looks after an eighth of the time since then, within these bounds, once
        `rested_s` have passed after `most_s` each time, and adds 1 to `eventfd` once a message has come."""
        if self._progress is not None:
            times = (int(each * 1e9) for each in (least_s, most_s, rested_s))
            lib.as_progress_watch(self._progress, eventfd, *times)

    def close(self) -> int:
        """Ends the thread; from then on it calls nothing. Returns how often it has called."""
        progress, self._progress = self._progress, None
        return int(lib.as_progress_close(progress)) if progress is not None else 0
