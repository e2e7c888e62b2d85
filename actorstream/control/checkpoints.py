"""Which barrier a run starts next, and when: checkpoints one at a time, under ascending numbers. Writes none, reads no clock."""

from __future__ import annotations


class Checkpoints:
    """The checkpoints of one run.

    Args:
        every: seconds from the end of one to the begin of the next. last: number of the store's last one, 0 if it has none.
        wishes: whether a program of the run may want a checkpoint itself. where: the store, in words.
    """

    def __init__(self, every: float, last: int = 0, *, wishes: bool = False, where: str = "") -> None:
        self.every, self.wishes, self.where = every, wishes, where
        self.number = last
        """Of the last barrier that was started, or of the end."""
        self.made = 0
        self._next: float | None = None
        self._under_way = False
        self._last: int | None = None

    def due(self, now: float) -> int | None:
        """The barrier to start at `now` (seconds), if it is time; the first time counts from the first call."""
        if self._next is None:
            self._next = now + self.every
        return self.start() if now >= self._next else None

    def start(self) -> int | None:
        """The barrier to start now, unless one is under way."""
        if self._under_way:
            return None
        self._under_way = True
        self.number += 1
        return self.number

    def stop(self) -> None:
        """Sources are told to end early: the run is not to go on from behind that, should it fail before its end."""
        self._last = self.number

    def is_void(self, barrier: int) -> bool:
        """Whether `barrier` was started behind the early end of sources, by a program."""
        return self._last is not None and barrier > self._last

    def grant(self) -> int | None:
        """The barrier that a program may start when it wants a checkpoint; None: not now, or none would."""
        return None if self._under_way or not self.wishes else self.number + 1

    def begun(self, barrier: int) -> bool:
        """A program has started a barrier; whether the sources have to be told."""
        if barrier != self.number + 1:
            return False  # it was due anyhow
        self._under_way = True
        self.number = barrier
        return True

    def complete(self, now: float) -> None:
        """The checkpoint of the barrier under way is written."""
        self.made += 1
        self._under_way = False
        self._next = now + self.every

    def end(self) -> int:
        """The number of the record of the end, which is written next."""
        self.number += 1
        return self.number

    def describe(self) -> str:
        """Says in words what a run would go on from."""
        return (
            f"the last of {self.made} checkpoints of this run"
            if self.made
            else "the checkpoint that this run was resumed from, or from the beginning if it was not resumed"
        )
