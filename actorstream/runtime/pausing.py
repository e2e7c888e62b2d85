"""Pausing: a hook that makes its output in portions pauses while an output of its unit is full, and goes on when there is
room. What its replica is given meanwhile waits, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.runtime.ports import ReplicaPort


class Pausing:
    """The hook of one replica that is paused, and what is to be done after it."""

    __slots__ = ("_done", "_later", "_portions", "_replica")

    def __init__(self, replica: ReplicaPort) -> None:
        self._replica = replica
        self._portions: Iterator[None] = iter(())
        self._done: Callable[[], object] | None = None
        self._later: deque[Callable[[], object]] = deque()

    def run(self, portions: Iterator[None], done: Callable[[], object]) -> bool:
        """Runs a hook by its portions, sends each, and calls `done`. False: the hook has paused, and `done` is called once
        the hook has ended. A unit that may not pause runs it to its end."""
        replica = self._replica
        unit = replica.unit
        for _ in portions:
            replica.dispatch()
            if unit is not None and unit.blocked and unit.may_pause:
                self._portions, self._done = portions, done
                replica.paused = True
                unit.paused.append(replica)
                return False
        done()
        return True

    def later(self, call: Callable[[], object]) -> None:
        """Calls `call` when the hook has ended, and what was to be called before."""
        self._later.append(call)

    def resume(self) -> None:
        """Goes on with the hook, then with what waits, until it is done or a hook pauses again."""
        replica, done, waiting = self._replica, self._done, self._later
        assert done is not None
        self._later = deque()
        replica.paused = False
        self.run(self._portions, done)
        while waiting and not replica.paused:
            waiting.popleft()()
        self._later.extend(waiting)
