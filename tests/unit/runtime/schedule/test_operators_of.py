"""The operators of a process: one for each actor with what is called behind it, limits, what feeds what."""

from __future__ import annotations

from actorstream.operators.split import Split
from actorstream.operators.union import Union
from actorstream.runtime.build import build_units
from actorstream.runtime.schedule.schedule import operators_of
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, DoubleBatch, Numbers
from tests.integration.pooled import RunningSum, Times
from tests.unit.plan.test_pooling import job_of


def test_operators_are_actors_with_their_limits_and_what_feeds_them() -> None:
    topology = Topology("graph")
    stream = topology.source(Numbers, name="numbers", count=1).through(DoubleBatch, name="python")
    split = stream.through(Split, name="split", cases={"small": "value < 5"})
    twice = split["small"].by("group").through(RunningSum, name="sums", replicas=3)
    twice.to_one().through(Union, split.through(Times, name="times"), name="both").into(Collect, name="out")
    job = job_of(topology)
    worker = Worker(job, 0, None, None)
    units = build_units(worker)
    operators, by_unit = operators_of(job, units)
    found = {
        each.name: (each.limit, [(operators[at].name, share) for at, share in each.upstream])
        for each in operators
    }
    assert found == {
        "numbers": (1, []),  # and what is called directly behind it: python, split, times
        "sums": (3, [("numbers", 0.5)]),
        "both": (1, [("sums", 1.0), ("numbers", 1.0)]),  # with the sink
    }
    assert [each.index for each in operators] == list(range(3))
    assert len({id(by_unit[id(unit)]) for unit in units}) == 3
