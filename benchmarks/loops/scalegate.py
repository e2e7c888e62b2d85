"""Runs csrc/scalegate.c: threads on the core's ScaleGate. No engine."""

from __future__ import annotations

from benchmarks.compiled import compiled
from benchmarks.job import JobError

RUNS, STRETCHES = 64, 4096


def play(sources: int, readers: int, jumbo: int, rows: int, alternate: bool) -> float:
    """Rows a second that every reader got, `rows` from each source. JobError if one got others or in another order."""
    module = compiled("scalegate", ("merge", "scalegate", "scalegate_readers"))
    played = module.lib.play(sources, readers, jumbo, rows, alternate, RUNS, STRETCHES)
    if played.wrong:
        raise JobError(
            f"ScaleGate of {sources} sources, {readers} readers: {played.wrong:.0f} rows are wrong"
        )
    return float(rows * sources / played.seconds)
