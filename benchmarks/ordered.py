"""Runs of csrc/ordered.c: an operator, or two, of parametric cost on threads, through the core's worklists and
reordering buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.compiled import compiled

CORE = (
    *("reorder", "reorder_flag", "reorder_lock", "worklist"),
    *(f"worklist_{kind}" for kind in ("hybrid", "partitioned", "shared", "stateless")),
)
SCHEMES = {"non-blocking": 0, "lock-based": 1, "unordered": 2}
KINDS = {"stateless": 0, "hybrid": 1, "shared": 2, "partitioned": 3}
WINDOW = 256


@dataclass(frozen=True, slots=True)
class Ran:
    """Rates are outputs of the last operator a second, one for each of its inputs; the others µs, see csrc/ordered.c.
    What needs clocks around each send is 0 unless the run was timed."""

    rate: float
    unit_us: float
    work_us: float
    cost_us: float
    send_p99_us: float
    send_p999_us: float
    latency_us: float
    latency_p50_us: float
    latency_p99_us: float


def run(
    cost_us: float,
    seconds: float,
    *,
    threads: int = 2,
    scheme: str = "non-blocking",
    kind: str = "stateless",
    partitions: int = 1,
    window: int = WINDOW,
    selectivity: int = 1,
    sigma: float = 0.0,
    timed: bool = False,
    pipeline: bool = False,
    next_us: float | None = None,
) -> Ran:
    """One run. `sigma`: of the keys' Gaussian distribution, 0: uniform. `pipeline`: two operators, the second of the
    kind given and with as many inputs as the first has outputs; `next_us`: its cost, that of the first unless given."""
    module: Any = compiled("ordered", CORE)
    settings = module.ffi.new(
        "run_settings *",
        {
            "threads": threads,
            "scheme": SCHEMES[scheme],
            "kind": KINDS[kind],
            "partitions": partitions,
            "window": window,
            "selectivity": selectivity,
            "timed": timed,
            "cost_us": cost_us,
            "next_us": cost_us if next_us is None else next_us,
            "sigma": sigma,
            "seconds": seconds,
        },
    )
    result = module.ffi.new("run_result *")
    call = module.lib.run_pipeline if pipeline else module.lib.run_operator
    if call(settings, result) != 0:
        raise ValueError(
            f"csrc/ordered.c: a setting is out of range: {threads} threads, {partitions} partitions, window {window}"
        )
    return Ran(*(getattr(result, name) for name in Ran.__slots__))
