"""When a program wants a checkpoint, as it says itself (dgs-flumina appendix D.2). Pure; makes none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class CheckpointWish:
    """Asks a program at each join at the root whether it wants a checkpoint there (`Program.checkpoint`)."""

    def __init__(self, program: Any) -> None:
        self._ask: Callable[[Any, int, int], Any] = program.checkpoint
        self._joins = 0
        self._since: int | None = None
        self._time = 0
        self._wanted = self._here = False

    def joined(self, state: Any, time: int) -> None:
        """The root has joined the states and processed its events up to one at `time`."""
        self._joins += 1
        self._time = int(time)
        if self._since is None:
            self._since = self._time
        self._here = True
        self._wanted = bool(self._ask(state, self._joins, self._time - self._since)) or self._wanted

    def now(self, *, granted: bool) -> bool:
        """Whether it gets one now: it wants one, it may have one, and there was a join since this was last asked."""
        here, self._here = self._here, False
        if not (here and self._wanted and granted):
            return False
        self._joins, self._since, self._wanted = 0, self._time, False
        return True
