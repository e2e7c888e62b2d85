"""The C code of chains over random columns under AddressSanitizer and UBSan, and by several threads under
ThreadSanitizer, against the same done row by row; and of turns, which have one owner at a time."""

from __future__ import annotations

import pytest

from tests.native.built import ADDRESS, STRUCTURES, THREAD, Way, run_random, sources
from tests.native.test_aggregates_sanitized import CELLS, PANES

PARTS = sources(
    "chain",
    "chain_text",
    "kernels",
    "userfn",
    "expression",
    "lookup_build",
    "lookup_expand",
    "lookup_find",
    "seed",
)


@pytest.mark.parametrize(
    ("way", "rounds", "threads"), [(ADDRESS, 200, 1), (THREAD, 60, 4)], ids=["address", "thread"]
)
def test_a_chain_gives_what_its_steps_give_row_by_row(way: Way, rounds: int, threads: int) -> None:
    run_random("chain_random", PARTS, rounds, threads, way=way)


def test_a_turn_takes_what_it_may_and_says_so_whatever_ends_it() -> None:
    parts = dict.fromkeys([*PARTS, *sources("turn", *CELLS, *PANES, *STRUCTURES)])
    run_random("turn_random", parts, 150)


def test_texts_that_steps_write_are_what_each_row_gives_by_itself() -> None:
    run_random("chain_text_random", PARTS, 3000)
