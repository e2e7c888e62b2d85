"""Whose turn it is: an operator with much to do does not keep others of its worker from running for long."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from actorstream.native.doorbell import Doorbell
from actorstream.runtime import operator_unit
from actorstream.runtime.build import build_units
from actorstream.runtime.inbox import Step
from actorstream.runtime.operator_unit import OperatorUnit
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from tests.integration.parts import Double, Numbers
from tests.unit.plan.test_pooling import job_of


class EndlessInbox:
    by_number, batch, source = False, SimpleNamespace(entry_max=0), "numbers"
    taken = 0

    def next(self) -> Step:
        self.taken += 1
        return Step.ROWS

    def done(self) -> None:
        pass


@pytest.fixture
def units(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Those of a worker, none of which is ready, by actor and replica. A batch takes a little more than half of the fair time."""
    topology = Topology("turns")
    topology.source(Numbers, name="numbers", count=1).through(Double, name="double", replicas=2).into(
        "null-sink"
    )
    worker = Worker(job_of(topology, schedule="none", threads=0), 0, None, None)
    looks = count(0, operator_unit.FAIR_NS // 2 + 1)
    monkeypatch.setattr(operator_unit, "monotonic_ns", lambda: next(looks))
    monkeypatch.setattr(OperatorUnit, "_run", lambda *_: False)
    return {f"{unit.head.name} {unit.head.replica}": unit for unit in build_units(worker)}


def batches_of_a_turn(unit: Any) -> int:
    unit.inbox = EndlessInbox()
    unit.work()
    return unit.inbox.taken  # type: ignore[no-any-return]


def test_a_turn_ends_after_the_fair_time_if_another_operator_is_ready(units: dict[str, Any]) -> None:
    one = units["double 0"]
    one.worker.turns.ready.append(units["double 1"])
    assert batches_of_a_turn(one) == 2


@pytest.mark.parametrize(
    "ready", [[], ["double 0"], ["numbers 0"]], ids=["nobody", "the operator itself", "a source"]
)
def test_it_goes_on_while_no_other_operator_is(units: dict[str, Any], ready: list[str]) -> None:
    one = units["double 0"]
    one.worker.turns.ready.extend(units[name] for name in ready)
    fits = one.worker.turn_ns // (operator_unit.FAIR_NS // 2 + 1)
    assert batches_of_a_turn(one) == fits + 1 > 8, "2 ms, and the batch that goes beyond"


def test_a_turn_also_ends_for_an_operator_whose_ring_has_rung(units: dict[str, Any]) -> None:
    one = units["double 0"]
    turns = one.worker.turns
    turns.bell = Doorbell.create(8, eventfd=-1)
    turns.by_bit[3] = units["double 1"]
    turns._open = turns._turning = True
    turns.bell.ring(3)
    assert batches_of_a_turn(one) == 2
    assert list(turns.ready) == [units["double 1"]]
