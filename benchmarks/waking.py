"""What it costs to wake a thread that sleeps until it has something to do: measured on the machine as it is, for the
simulator of a schedule's threads."""

from __future__ import annotations

from statistics import median
from threading import Lock, Thread
from time import monotonic_ns, sleep

TIMES = 200


def waking_ns(times: int = TIMES) -> float:
    """Median ns from telling a sleeping thread until it runs."""
    told, heard = Lock(), Lock()
    told.acquire()
    heard.acquire()
    found: list[int] = []
    began = [0]

    def run() -> None:
        for _ in range(times):
            told.acquire()
            found.append(monotonic_ns() - began[0])
            heard.release()

    thread = Thread(target=run)
    thread.start()
    for _ in range(times):
        sleep(0.0002)  # it sleeps by then
        began[0] = monotonic_ns()
        told.release()
        heard.acquire()
    thread.join()
    return median(found)
