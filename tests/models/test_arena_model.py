"""The arena against a list of intervals: what it gives out never overlaps, and it refuses only when nothing fits."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actorstream.errors import ResourceError
from actorstream.native.arena import Arena, Block
from tests.native.unused_calls import start_generation

HEADER = 64
PAGE = 4096


def class_of(nbytes: int) -> int:
    """Payload of the smallest class that holds `nbytes`: quarter steps between powers of two, from 256."""
    size = 256
    while size < nbytes:
        step = (1 << (size.bit_length() - 1)) // 4
        size += step
    return size


class ArenaAgainstIntervals(RuleBasedStateMachine):
    @initialize(
        pages=st.integers(1, 40),
        step=st.sampled_from([PAGE, 4 * PAGE, 64 * PAGE]),
        generation=st.sampled_from([1, 2**31 - 1, 2**32 - 5]),
    )
    def open(self, pages: int, step: int, generation: int) -> None:
        self.limit = pages * PAGE
        self.arena = Arena.create(self.limit, 9, commit_step=step)
        start_generation(self.arena, generation)
        self.generation = generation
        self.blocks: list[Block] = []
        self.peak = 0

    def used(self) -> list[tuple[int, int]]:
        spans = [(block.offset - HEADER, block.offset + block.nbytes) for block in self.blocks]
        return sorted(set(spans))

    @rule(nbytes=st.one_of(st.integers(0, 2000), st.integers(0, 100_000)))
    def allocate(self, nbytes: int) -> None:
        need = HEADER + class_of(nbytes)
        ends = [0, *(end for _, end in self.used())]
        starts = [*(start for start, _ in self.used()), self.limit]
        largest = max(start - end for end, start in zip(ends, starts))
        try:
            block = self.arena.allocate(nbytes)
        except ResourceError:
            assert largest < need
            return
        assert largest >= need
        assert class_of(nbytes) <= block.nbytes
        assert (block.offset % 64, block.uses, block.is_own, block.arena_id) == (0, 1, True, 9)
        assert block.generation == self.generation
        self.generation = (self.generation + 2) % 2**32
        block.view()[:] = len(self.blocks) % 256
        self.blocks.append(block)
        self.peak = max(self.peak, sum(end - start for start, end in self.used()))

    @precondition(lambda self: self.blocks)
    @rule(pick=st.randoms(use_true_random=False))
    def release(self, pick: random.Random) -> None:
        self.blocks.pop(pick.randrange(len(self.blocks))).release()

    @precondition(lambda self: self.blocks)
    @rule(pick=st.randoms(use_true_random=False))
    def retain(self, pick: random.Random) -> None:
        block = pick.choice(self.blocks)
        before = block.uses
        self.blocks.append(block.retain())
        assert (block.uses, self.blocks[-1].address) == (before + 1, block.address)

    @precondition(lambda self: self.blocks)
    @rule(pick=st.randoms(use_true_random=False))
    def recycle(self, pick: random.Random) -> None:
        """The block that was freed last is the next of its size."""
        block = self.blocks.pop(pick.randrange(len(self.blocks)))
        uses, offset, nbytes = block.uses, block.offset, block.nbytes
        block.release()
        if uses == 1 and class_of(nbytes) == nbytes:
            again = self.arena.allocate(nbytes)
            assert (again.offset, again.generation) == (offset, self.generation)
            self.generation = (self.generation + 2) % 2**32
            self.blocks.append(again)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "arena"):
            return
        spans = self.used()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
        assert all(start >= 0 and end <= self.limit for start, end in spans)
        figures = self.arena.statistics()
        total = sum(end - start for start, end in spans)
        assert (figures.in_use, figures.blocks, figures.peak) == (total, len(spans), self.peak)
        assert total <= figures.committed <= self.limit

    def teardown(self) -> None:
        if hasattr(self, "arena"):
            for block in self.blocks:
                block.release()
            assert self.arena.statistics().blocks == 0
            whole = self.arena.allocate(0)  # and the arena can be used again
            whole.release()


ArenaAgainstIntervals.TestCase.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)
TestTheArenaAnswersAsAListOfIntervals = ArenaAgainstIntervals.TestCase


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 257, 319, 320, 321, 4096, 5000, 10**6, 2**20, 2**20 + 1])
def test_a_block_wastes_at_most_a_quarter_beyond_the_smallest_class(nbytes: int) -> None:
    block = Arena.create(1 << 22, 1).allocate(nbytes)
    assert max(nbytes, 256) <= block.nbytes < max(257, nbytes * 1.25)
