"""How long a worker looks for work before it parks: only where work came soon the last times. Pure: times are arguments."""

from __future__ import annotations

LOOK_NS = 300_000
"""How long a worker looks. Work that comes sooner comes soon: also the answer of a worker that must be woken for it, which
takes 150 to 250 us (benchmark `dgs-latency`, synchronization-park)."""
REMEMBERED = 0xFF
"""The last eight waits."""
WORTH = 2
"""So many of them must have been short."""


class Spin:
    """Predicts from the last wait whether the next one will be short, as processors predict branches. To look costs less than
    to be woken where work comes within `LOOK_NS`. Where it comes later, looking finds nothing, and takes from this worker's
    share of a core what its wake-up needs: the kernel then lets others run first, for milliseconds (benchmark `latency`,
    parked-p99).

    A worker that asks another one each time that an event comes has a long wait and a short one in turn, so what followed a
    long wait and what followed a short one are remembered apart (benchmark `dgs-latency`, synchronization-park).

    Attributes:
        ns: how long to look; 0: not at all.
    """

    __slots__ = ("_has_core", "_short", "_waits", "ns")

    def __init__(self, has_core: bool) -> None:
        """`has_core`: there are as many cores as workers; if not, the worker never looks."""
        self._has_core = has_core
        self._short = False
        """Whether the last wait was short."""
        self._waits = [0, 0]
        """The waits after a long one, and those after a short one: bits, the last wait's the lowest, 1 for a short wait."""
        self.ns = 0

    def found(self) -> None:
        """Work came while the worker looked."""
        self._waited(short=True)

    def slept(self, ns: int) -> None:
        """The worker was parked for so long."""
        self._waited(short=ns < LOOK_NS)

    def _waited(self, *, short: bool) -> None:
        waits = self._waits
        waits[self._short] = (waits[self._short] << 1 | short) & REMEMBERED
        self._short = short
        self.ns = LOOK_NS if self._has_core and waits[short].bit_count() >= WORTH else 0
