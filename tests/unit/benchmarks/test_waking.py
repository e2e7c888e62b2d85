"""What it costs to wake a thread."""

from __future__ import annotations

from benchmarks.waking import waking_ns


def test_waking_a_thread_takes_time() -> None:
    assert 0 < waking_ns(20) < 1e9
