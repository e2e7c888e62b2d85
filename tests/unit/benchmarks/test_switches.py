"""Handing the interpreter over, measured."""

from __future__ import annotations

import sys

from benchmarks.switches import hand_over_ns


def test_a_hand_over_takes_some_time_and_leaves_the_process_as_it_was() -> None:
    before = sys.getswitchinterval()
    assert hand_over_ns(times=20) >= 0.0
    assert sys.getswitchinterval() == before
