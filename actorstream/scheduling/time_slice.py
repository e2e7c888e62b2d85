"""Time slices of the workers of one host. Pure.

Linux lets a thread that is woken run at once if its slice is shorter than that of the thread that runs, and both have had
their share; else it waits until the other one sleeps. So a worker's slice is shorter than those of the workers that wake it,
and all are shorter than what the kernel gives other programs (benchmark `latency`: parked, busy)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

FIRST_NS = 800_000
"""Of workers with sources."""
LEAST_NS = 100_000
"""The least that the kernel allows."""


def time_slices(workers: int, sources: Iterable[int], links: Iterable[tuple[int, int]]) -> list[int]:
    """The slice of each worker in ns: half of that of the workers before it. `sources`: workers that have some; `links`:
    (worker that sends, worker that receives)."""
    behind: dict[int, set[int]] = defaultdict(set)
    for sender, receiver in links:
        behind[sender].add(receiver)
    slices = [FIRST_NS] * workers
    found = reached = set(sources)
    length = FIRST_NS
    while reached:
        length = max(length // 2, LEAST_NS)
        reached = {receiver for sender in reached for receiver in behind[sender]} - found
        found = found | reached
        for worker in reached:
            slices[worker] = length
    return slices
