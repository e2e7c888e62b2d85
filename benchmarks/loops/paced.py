"""The floor of the tail in `latency`: a stream between two processes in C, with no engine (csrc/paced.c)."""

from __future__ import annotations

import numpy as np

from benchmarks.job import JobError


def percentiles(rate: float, seconds: float, warm_up: float, work_ns: int) -> tuple[float, float]:
    """p50 and p99 in µs of how old events are when the work on them begins, of which there are `rate` a second. Those of
    the first `warm_up` seconds do not count."""
    from benchmarks.compiled import compiled

    module = compiled("paced")
    ages = np.zeros(int(rate * seconds), np.int64)
    if module.lib.paced_ages(rate, len(ages), work_ns, module.ffi.from_buffer("int64_t[]", ages)):
        raise JobError("the other process of the stream could not be made, or failed")
    found = np.percentile(ages[int(rate * warm_up) :], [50, 99]) / 1e3
    return float(found[0]), float(found[1])
