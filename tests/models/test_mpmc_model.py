"""The MPMC ring against a queue: any sequence of operations of one thread gives the same answers."""

from __future__ import annotations

from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.mpmc import Mpmc

starts = st.sampled_from([0, 1, 2**32 - 3, 2**63 - 3, 2**64 - 1, 2**64 - 3])
# a number is pushed, None pops
operations = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.none()), max_size=80)


@settings(max_examples=150, deadline=None)
@given(slots=st.sampled_from([2, 4, 8]), start=starts, steps=operations)
def test_the_ring_answers_as_a_bounded_queue_does_wrap_around_included(
    slots: int, start: int, steps: list[int | None]
) -> None:
    ring, model = Mpmc(slots, start), deque[int]()
    for item in steps:
        if item is None:
            assert ring.pop() == (model.popleft() if model else None)
        else:
            assert ring.push(item) == (len(model) < slots)
            if len(model) < slots:
                model.append(item)
        assert len(ring) == len(model)
