"""Reading ahead: parses the next pieces of a partition on a few threads while the loop works on the
current one.

Keeps the order, and holds a bounded number of pieces. Knows nothing of files or formats.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Generic, TypeVar

T = TypeVar("T")

THREADS = 2
"""Threads that parse, shared by all sources of a process; parsing runs in C without the GIL."""
DEPTH = 3
"""Pieces per partition that may be parsed and waiting, or in work."""

_pool: ThreadPoolExecutor | None = None


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="actorstream-read")
    return _pool


def _forget_pool() -> None:
    """The threads of the parent do not exist in a forked child."""
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)


class ReadAhead(Generic[T]):
    """An ordered sequence made by threads.

    Args:
        take: the next item to work on, or None at the end; called by one thread at a time, in order.
        work: makes a result of an item; called by several threads at once.
        close: lets go of what `take` uses; called once, while no `take` is running.
        depth: results that may wait or be in work.
    """

    def __init__(
        self, take: Callable[[], Any], work: Callable[[Any], T], close: Callable[[], None], depth: int = DEPTH
    ) -> None:
        self._take, self._work, self._close = take, work, close
        self._lock = Lock()
        self._taken = self._given = 0
        self._ended = False
        self._jobs: deque[Future[None]] = deque()
        self._made: dict[int, T | BaseException | None] = {}
        self._depth = depth

    def next(self) -> T | None:
        """The next result, waiting for it; None at the end. Raises what `take` or `work` raised at this
        place."""
        while self._jobs and self._jobs[0].done():
            self._jobs.popleft()  # what it made waits in _made
        while self._given not in self._made:
            self._fill()
            if not self._jobs:
                return None
            self._jobs.popleft().result()
        made = self._made.pop(self._given)
        self._given += 1
        if isinstance(made, BaseException):
            self.close()
            raise made
        self._fill()
        return made

    def _fill(self) -> None:
        while len(self._jobs) + len(self._made) < self._depth and not self._ended:
            self._jobs.append(_shared_pool().submit(self._job))

    def close(self) -> None:
        """Stops reading; results that wait are dropped."""
        for job in self._jobs:
            job.cancel()
        self._jobs.clear()
        self._made.clear()
        with self._lock:
            self._ended = True
            self._close()

    def _job(self) -> None:
        with self._lock:
            if self._ended:
                return
            number = self._taken
            self._taken += 1
            try:
                item = self._take()
            except BaseException as error:
                self._made[number] = error
                self._ended = True
                return
            if item is None:
                self._ended = True
                return
        try:
            self._made[number] = self._work(item)
        except BaseException as error:
            self._made[number] = error
