"""Which units take in as many rows as there are, and which only as many as what they make of them allows."""

from __future__ import annotations

from typing import Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.runtime.build import build_units
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers
from tests.unit.plan.test_pooling import job_of


class Half(Event):
    half: float | None


class Text(Event):
    text: str | None


class Halves(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Half}

    def on_batch(self, batch: Batch) -> Batch:
        return Batch.of({"half": batch["value"] / 2}, event=Half)


class Texts(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Text}

    def on_batch(self, batch: Batch) -> Batch:
        return Batch.of({"text": [str(value) for value in batch["value"].tolist()]}, event=Text)


def budget_of(kind: type[Actor]) -> object:
    topology = Topology("budget")
    topology.source(Numbers, name="numbers", count=1).through(kind, name="it").into(Collect, name="out")
    (unit,) = build_units(Worker(job_of(topology, schedule="none", threads=0), 0, None, None))
    return unit.row_budget


def test_rows_that_may_be_null_but_have_a_width_need_no_budget() -> None:
    assert budget_of(Halves) is None


def test_rows_with_a_text_need_one() -> None:
    assert budget_of(Texts) is not None
