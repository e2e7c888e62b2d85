"""What it costs to hand the interpreter from one thread of a pool to another that waits for it: until he is awake and has
it. Measured on the machine as it is, for the simulator of a pool."""

from __future__ import annotations

import sys
from statistics import mean
from threading import Thread, get_ident
from time import monotonic_ns, sleep

from actorstream.native import baton
from actorstream.runtime.pool.pool import SPIN_NS, SWITCH_S

HELD_NS = 300_000
"""As long as an operator's Python takes for a large jumbo tuple: who waits sleeps."""
AWAY_NS = 100_000
"""Until a thread wants it again: the other one has it then."""
TIMES = 300


def hand_over_ns(times: int = TIMES) -> float:
    """Mean of so many hand-overs between two threads, ns."""
    found: list[int] = []
    given = [(0, 0)]  # when, and by whom

    def run() -> None:
        for _ in range(times):
            baton.take()
            now, (when, who) = monotonic_ns(), given[0]
            if when and who != get_ident():
                found.append(now - when)
            while monotonic_ns() < now + HELD_NS:
                pass
            given[0] = monotonic_ns(), get_ident()
            baton.give()
            until = monotonic_ns() + AWAY_NS
            while monotonic_ns() < until:
                sleep(0)

    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    baton.spin(SPIN_NS)
    try:
        threads = [Thread(target=run) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(before)
        baton.spin(0)
    return mean(found) if found else 0.0
