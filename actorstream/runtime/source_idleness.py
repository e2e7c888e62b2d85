"""When a source counts as idle. Pure: the clock is an argument."""

from __future__ import annotations


class SourceIdleness:
    """How long one source replica has had no row, and whether it is idle.

    Args:
        timeout: ns without a row after which the source is idle.
        now: monotonic ns.
    """

    def __init__(self, timeout: int, now: int) -> None:
        self.timeout = timeout
        self.idle = False
        self.count = 0
        """Transitions so far; odd while idle."""
        self._since = now
        self._excused = False

    def row_came(self, now: int) -> bool:
        """A row has come; returns whether the source was idle."""
        self._since, self._excused = now, False
        if not self.idle:
            return False
        self.idle = False
        self.count += 1
        return True

    def time_left(self, now: int) -> int:
        """Ns until the source is idle; 0: it is. A caller that asks long after that was held up, and may not have seen what came:
        then the time counts anew, once."""
        left = self._since + self.timeout - now
        if left < -self.timeout // 2 and not self._excused:
            self._excused, self._since = True, now
            return self.timeout
        return max(left, 0)

    def begin(self) -> int:
        """The source is idle from now on; returns the count of transitions."""
        self.idle = True
        self.count += 1
        return self.count
