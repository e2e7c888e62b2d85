"""Wherever a turn of a unit ends, and whenever the event loop runs in between, rows are those of a plain run, and all runs end.
Turns end by the clock, so on a machine of one speed they always end at the same places: here the clock jumps at random."""

from __future__ import annotations

import random
import time
from collections import Counter
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import actorstream.runtime
from tests.covering import sampled
from tests.integration import test_random_topologies as unordered
from tests.integration import test_serial_topologies as serial
from tests.integration import test_timestamp_topologies as timestamp

JUMPS_NS = (*[0] * 6, 200_000, 3_000_000, 12_000_000)
"""By how much a look at the clock is late; a turn lasts for 5 ms at most."""
ORDERS: dict[str, Any] = {"none": unordered, "serial": serial, "timestamp": timestamp}


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


@pytest.mark.parametrize("order", ORDERS)
@sampled("seed", range(100), quick=4)
def test_a_random_topology_gives_the_rows_of_its_model(
    order: str, seed: int, jumping_clock: random.Random
) -> None:
    jumping_clock.seed(seed)
    dice = random.Random(f"ends of turns {order} {seed}")
    topology, expected = ORDERS[order].random_topology(dice)
    deploy = ORDERS[order].random_deployment(dice)
    deploy |= {"batch_size": dice.choice([1, 2, 7, 64, 4096]), "edge_bytes": dice.choice([1, 200, 20_000])}
    if order == "timestamp":
        deploy["merge"] = dice.choice(["channel", "gate"])
    result = topology.run(**deploy)
    for sink, rows in ({"sink": expected} if order == "timestamp" else expected).items():
        found: Any = [tuple(row) for row in result[sink]]
        wanted: Any = rows
        if order == "none":
            found, wanted = Counter(found), Counter(rows)
        assert found == wanted
