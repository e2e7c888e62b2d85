"""How long a worker looks for work before it parks: longer while work keeps coming soon. Pure: times are arguments."""

from __future__ import annotations

LEAST_NS = 20_000
MOST_NS = 200_000


class Spin:
    """Adapts to how soon after parking a worker was woken. To look costs less than to be woken where work comes within
    `MOST_NS`. Where it comes later, looking finds nothing, and takes from this worker's share of a core what its wake-up
    needs: the kernel then lets others run first, for milliseconds (benchmark `latency`, parked-p99).

    Attributes:
        ns: how long to look; 0: not at all.
    """

    __slots__ = ("_has_core", "ns")

    def __init__(self, has_core: bool) -> None:
        """`has_core`: there are as many cores as workers; if not, the worker never looks."""
        self._has_core = has_core
        self.ns = LEAST_NS if has_core else 0

    def slept(self, ns: int) -> None:
        """The worker was parked for so long."""
        if not self._has_core:
            return
        if ns < MOST_NS:
            self.ns = min(max(2 * self.ns, LEAST_NS), MOST_NS)
        else:
            self.ns = self.ns // 2 if self.ns > LEAST_NS else 0
