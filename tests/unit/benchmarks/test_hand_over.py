from __future__ import annotations

from benchmarks.hand_over import latencies


def test_every_batch_that_a_task_hands_over_comes_back() -> None:
    found = latencies(20, 10, 0.0)
    assert len(found) == 20
    assert min(found) > 0
