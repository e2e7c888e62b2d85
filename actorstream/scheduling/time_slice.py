"""Time slices of the workers of one host. Pure.

Linux lets a thread that is woken run at once if its slice is shorter than that of the thread that runs, and both have had
their share; else it waits until the other one sleeps. So a worker's slice is shorter than those of the workers that wake it,
and all are shorter than what the kernel gives other programs (benchmark `latency`: parked, busy)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

FIRST_NS = 1_200_000
"""Of workers with sources: less than the 1.4 to 2.8 ms that Linux gives others, and more than what comes in a millisecond takes,
since a worker that is woken loses its place when its slice is over (benchmark `latency`: load-50-busy)."""
STEP_NS = 200_000
"""How much shorter the slice of the next workers is; also the shortest."""


def time_slices(workers: int, sources: Iterable[int], links: Iterable[tuple[int, int]]) -> list[int]:
    """The slice of each worker in ns: `STEP_NS` less than that of the workers before it. `sources`: workers that have some;
    `links`: (worker that sends, worker that receives)."""
    behind: dict[int, set[int]] = defaultdict(set)
    for sender, receiver in links:
        behind[sender].add(receiver)
    slices = [FIRST_NS] * workers
    found = reached = set(sources)
    length = FIRST_NS
    while reached:
        length = max(length - STEP_NS, STEP_NS)
        reached = {receiver for sender in reached for receiver in behind[sender]} - found
        found = found | reached
        for worker in reached:
            slices[worker] = length
    return slices
