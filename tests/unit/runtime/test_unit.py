"""How a unit's turn ends: what waits goes out, and what it rests for is known."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.runtime.unit import Status
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers, numbers
from tests.unit.runtime.schedule.kernel_worker import worker_of


@pytest.mark.parametrize(("batches", "rests"), [(1, Status.IDLE), (3, Status.BLOCKED)])
def test_a_unit_whose_last_rows_have_no_credit_rests_for_its_output_and_not_for_input(
    batches: int, rests: Status
) -> None:
    topology = Topology("rests")
    topology.source(Numbers, name="numbers", count=1).shuffle().into(Collect, name="out")
    unit = worker_of(topology, edge_bytes=1).units[0]
    for _ in range(batches):
        unit.head.forward(numbers(np.arange(10)))
    assert unit.settle_turn(Status.IDLE) is rests
    assert unit._rests is rests
