"""The race of section 3.2 at the instruction level: clearing the flag and looking again, against storing and testing."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from tests.native.built import OPTIMISED, Way, sources

PARTS = sources("reorder", "reorder_flag", "reorder_lock")
MOST_SECONDS = 60  # until a loss; on two idle cores it takes milliseconds


def losses(seconds: int, way: Way) -> tuple[int, int]:
    """Rounds and lost wake-ups."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads on one CPU never race")
    said = way.run(way.built("litmus_reorder", PARTS), seconds)
    found = re.fullmatch(r"(\d+) rounds, (\d+) lost\n", said)
    assert found is not None, said
    return int(found[1]), int(found[2])


def test_with_the_exchange_no_wake_up_is_lost() -> None:
    rounds, lost = losses(2, OPTIMISED)
    assert rounds > 1000
    assert lost == 0


@pytest.mark.slow
def test_with_a_release_store_instead_wake_ups_are_lost() -> None:
    wrong = replace(OPTIMISED, name="release-store", flags=(*OPTIMISED.flags, "-DAS_REORDER_RELEASE_STORE"))
    assert losses(MOST_SECONDS, wrong)[1] == 1
