"""When a source counts as silent. Pure: the clock is an argument."""

from __future__ import annotations


class SourceIdleness:
    """The silence of one source replica.

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

    def heard(self, now: int) -> bool:
        """A row has come; whether the source was idle."""
        self._since, self._excused = now, False
        if not self.idle:
            return False
        self.idle = False
        self.count += 1
        return True

    def left(self, now: int) -> int:
        """Ns until the source is silent; 0: it is. Who asks long after that was held up himself, and may not have seen
        what came: then the time counts anew, once."""
        left = self._since + self.timeout - now
        if left < -self.timeout // 2 and not self._excused:
            self._excused, self._since = True, now
            return self.timeout
        return max(left, 0)

    def begin(self) -> int:
        """The source is idle from now on; answers the count of transitions."""
        self.idle = True
        self.count += 1
        return self.count
