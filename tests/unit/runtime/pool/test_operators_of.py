"""The operators of a process: one for each actor with what is called behind it, limits, what feeds what."""

from __future__ import annotations

from actorstream.operators.split import Split
from actorstream.operators.union import Union
from actorstream.runtime.build import build_units
from actorstream.runtime.pool.operators_of import operators_of
from actorstream.runtime.pool.worker import ScheduledWorker
from actorstream.scheduling.base import UNBOUNDED
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, DoubleBatch, Numbers
from tests.integration.pooled import RunningSum, Times
from tests.unit.runtime.pool.test_pooling import job_of


def test_operators_are_actors_with_their_limits_and_what_feeds_them() -> None:
    topology = Topology("graph")
    stream = topology.source(Numbers, name="numbers", count=1).through(DoubleBatch, name="python")
    split = stream.through(Split, name="split", cases={"small": "value < 5"})
    twice = split["small"].by("group").through(RunningSum, name="sums", replicas=3)
    twice.to_one().through(Union, split.through(Times, name="times"), name="both").into(Collect, name="out")
    job = job_of(topology)
    worker = ScheduledWorker(job, 0, None, None)
    units = build_units(worker)
    operators, by_unit = operators_of(job, units)
    found = {
        each.name: (each.pooled, each.limit, [(operators[at].name, share) for at, share in each.upstream])
        for each in operators
    }
    assert found == {
        "numbers": (False, 1, []),  # and python, which is called directly
        "split": (True, UNBOUNDED, [("numbers", 1.0)]),
        "sums": (True, 3, [("split", 0.5)]),
        "both": (True, UNBOUNDED, [("sums", 1.0), ("split", 1.0)]),  # times is called by split
        "out": (False, 1, [("both", 1.0)]),
    }
    assert [each.index for each in operators] == list(range(5))
    assert len({id(by_unit[id(unit)]) for unit in units}) == 5
