"""When a checkpoint is due, and under which number. Time is an argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.checkpoint.checkpoint import Checkpoint
from actorstream.checkpoint.store import CheckpointStore
from actorstream.launch.checkpoints import Checkpoints
from actorstream.runtime.compile import Job, compile_job
from actorstream.runtime.control import Snapshot
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Ints


@pytest.fixture
def job() -> Job:
    topology = Topology("few")
    topology.source(Ints, name="ints").into(Collect, name="sink")
    return compile_job(topology.spec(), load_deploy(None, (), workers=1, transport="local"))


def taken(job: Job, barrier: int) -> dict[int, Snapshot]:
    return {each.id: Snapshot(0, each.id, barrier, b"x", None) for each in job.plan.replicas}


def test_one_at_a_time_and_each_so_long_after_the_last(job: Job, tmp_path: Path) -> None:
    made = Checkpoints(job, CheckpointStore(str(tmp_path)), 10.0)
    assert [made.due(now) for now in (100.0, 109.9, 110.0, 111.0, 500.0)] == [None, None, 1, None, None]
    made.complete(1, taken(job, 1), 500.0)
    assert [made.due(now) for now in (509.0, 510.0, 530.0)] == [None, 2, None]
    assert made.made == 1
    assert "the last of 1 checkpoints" in made.describe()


def test_numbers_go_on_where_the_store_ends(job: Job, tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    store.write(Checkpoint("earlier", 0, 41, True, ()))
    made = Checkpoints(job, store, 1.0)
    assert [made.due(0.0), made.due(1.0)] == [None, 42]
    made.complete(42, taken(job, 42), 1.0)
    latest = store.latest()
    assert latest is not None
    assert (latest.topology, latest.number, latest.ended) == ("few", 42, False)
    assert [each.actor for each in latest.replicas] == ["ints", "sink"]


def test_the_end_keeps_what_the_sinks_have_prepared(job: Job, tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    made = Checkpoints(job, store, 1.0)
    made.end({1: b"token"})
    latest = store.latest()
    assert latest is not None
    assert latest.ended
    assert [each.token for each in latest.replicas] == [None, b"token"]
