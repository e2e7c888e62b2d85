"""The sending side of channels that say when their producer is idle; see runtime/idleness.py."""

from __future__ import annotations

from typing import Any

from actorstream.runtime.idleness import IDLE_WORD
from actorstream.runtime.output import OutLane

BEYOND = 1 << 62
"""Above every event time. A promise from here on says only that the input has ended, which the end mark says, too."""


class IdleOutLane(OutLane):
    """Rows that wait for one replica of one consumer, which is told when no more are to be expected for now."""

    __slots__ = ("_waiting_count",)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waiting_count: int | None = None

    def advance(self, frontier: int) -> None:
        """Keeps the last promise before the end: it counts where others go on that are idle then."""
        if frontier < BEYOND:
            super().advance(frontier)

    def tell_idle(self, count: int) -> None:
        """Idle (odd) behind the rows that wait; busy (even) at once, before the rows that follow."""
        if count & 1 and (self.pending or self._encoded is not None):
            self._waiting_count = count
        else:
            self._waiting_count = None
            self.channel.advance(IDLE_WORD, count)

    def flush(self) -> bool:
        if not super().flush():
            return False
        if self._waiting_count is not None:
            self.channel.advance(IDLE_WORD, self._waiting_count)
            self._waiting_count = None
        return True
