"""The clock by which dependent outputs of a plan's workers are ordered at their consumer."""

from __future__ import annotations


class Clock:
    """Lamport's clock of the workers of a plan in one process: it counts the states that they have received."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 1

    def heard(self, time: int) -> None:
        """A state has come from a worker whose clock was at `time`. Everything that is sent from now on is later."""
        self.now = max(self.now, time) + 1
