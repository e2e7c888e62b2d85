"""How long a worker looks for work before it parks: longer while work keeps coming soon. Pure: times are arguments."""

from __future__ import annotations

LEAST_NS = 20_000
MOST_NS = 200_000


class Spin:
    """Adapts to how soon after parking a worker was woken, since that costs both sides more than waiting.

    Attributes:
        ns: how long to look; 0: not at all, since there are fewer cores than workers.
    """

    __slots__ = ("ns",)

    def __init__(self, has_core: bool) -> None:
        self.ns = LEAST_NS if has_core else 0

    def slept(self, ns: int) -> None:
        """The worker was parked for so long."""
        if self.ns and ns < MOST_NS:
            self.ns = min(2 * self.ns, MOST_NS)
        elif self.ns and ns > 10 * MOST_NS:
            self.ns = LEAST_NS
