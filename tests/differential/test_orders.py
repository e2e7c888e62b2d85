"""Random dataflows without order give the rows, and those in serial or timestamp order the sequence, of a plain run of one
row after the other."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.covering import sampled
from tests.differential.cases import SUBJECTS, difference
from tests.integration import test_random_topologies as unordered
from tests.integration import test_serial_topologies as serial
from tests.integration import test_timestamp_topologies as timestamp


def check(seed: int) -> None:
    dice = random.Random(f"orders {seed}")
    order = dice.choice(["none", "serial", "timestamp"])
    built: Any = {"none": unordered, "serial": serial, "timestamp": timestamp}[order]
    topology, expected = built.random_topology(dice)
    deploy = built.random_deployment(dice)
    if dice.random() < 0.75:
        deploy["transport"] = "local"  # a fifth of the time
    deploy["batch_size"] = dice.choice([1, 2, 7, 4096])
    result = topology.run(**deploy)
    for sink, rows in ({"sink": expected} if order == "timestamp" else expected).items():
        found: Any = [tuple(row) for row in result[sink]]
        wanted: Any = rows
        if order == "none":
            found, wanted = Counter(found), Counter(rows)
        if found != wanted:
            raise difference(
                "orders", seed, f"{order}, {sink}", found=found, wanted=wanted, deployment=deploy
            )


@pytest.mark.parametrize("seed", range(SUBJECTS["orders"].normal))
def test_ordered_dataflows_give_what_one_row_after_the_other_gives(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + SUBJECTS["orders"].slow))
def test_many_ordered_dataflows_give_what_one_row_after_the_other_gives(seed: int) -> None:
    check(seed)


@sampled("seed", [897] * 3, quick=1)
def test_what_hung_while_an_output_of_an_actor_that_holds_rows_back_was_full(seed: int) -> None:
    check(seed)
