"""Wherever a turn of a unit ends, and whenever the event loop runs in between, rows are those of a plain run, and all runs end.
Turns end by the clock, so on a machine of one speed they always end at the same places: here the clock jumps at random."""

from __future__ import annotations

import random
import time
from importlib import import_module
from pkgutil import walk_packages

import pytest

import actorstream.runtime
from tests.covering import sampled
from tests.differential.test_orders import check

JUMPS_NS = (*[0] * 6, 200_000, 3_000_000, 12_000_000)
"""By how much a look at the clock is late; a turn lasts for 5 ms at most."""


@pytest.fixture
def jumping_clock(monkeypatch: pytest.MonkeyPatch) -> random.Random:
    """The clock of the engine here and in workers that are forked. Answers where its jumps come from."""
    jumps, real = random.Random(), time.monotonic_ns
    found = 0
    for module in walk_packages(actorstream.runtime.__path__, "actorstream.runtime."):
        engine = import_module(module.name)
        if getattr(engine, "monotonic_ns", None) is real:
            monkeypatch.setattr(engine, "monotonic_ns", lambda: real() + jumps.choice(JUMPS_NS))
            found += 1
    assert found > 5
    return jumps


@sampled("seed", range(300), quick=12)
def test_a_random_topology_gives_the_rows_of_its_model(seed: int, jumping_clock: random.Random) -> None:
    jumping_clock.seed(seed)
    check(seed)
