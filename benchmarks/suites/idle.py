"""`idle`: the share of a core that each process of a job takes which has next to nothing to do."""

from __future__ import annotations

from functools import partial

from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.suite import Settings, Suite, probe

ROWS_A_SECOND = 2
"""So that each process hears of its peers' rows, too, and notes its CPU time with each."""
SKIPPED_S = 2.0
"""What a process does after its start is not counted."""


def resting(seconds: float) -> Actors:
    """A source that emits a row now and then, and a meter in each of two processes."""
    return {
        "rows": {
            "type": "benchmarks.suites.exchange:Rows",
            "seconds": SKIPPED_S + seconds,
            "shards": 2,
            "replicas": 2,
            "rate": ROWS_A_SECOND,
        },
        "meter": {
            "type": "benchmarks.meter:CpuMeter",
            "inputs": [{"from": "rows", "route": "broadcast"}],
            "replicas": 2,
            "skip": SKIPPED_S,
            "into": INTO,
        },
    }


def share(seconds: float, transport: str) -> float:
    """Percent of a core that the busier of two processes takes. Every transport but shm takes the network although both are on
    one host."""
    forced = {} if transport == "shm" else {"same_host": transport}
    ran = launch("idle", resting(seconds), transport=transport, workers=2, **forced)
    return max(100 * note["cpu_ns"] / note["wall_ns"] for note in ran.notes)


def suite(settings: Settings) -> Suite:
    seconds = 2.0 if settings.quick else 10.0
    return Suite(
        "idle",
        tuple(
            probe(f"idle-{each}", "% of a core", partial(share, seconds, each))
            for each in ("shm", "zmq", "mpi")
        ),
        notes=(
            f"the busier of two processes, whose sources emit {ROWS_A_SECOND} rows a second; its start is not counted",
            "only a machine without other work shows it: a wake-up costs more on a busy core",
        ),
    )
