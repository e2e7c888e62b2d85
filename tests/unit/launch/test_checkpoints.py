"""What is written into the store of a run, and under which number."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.checkpoint.checkpoint import Checkpoint
from actorstream.checkpoint.store import CheckpointStore
from actorstream.control.messages import Snapshot
from actorstream.launch.checkpoints import CheckpointRecord, checkpoints_of
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect, Ints


@pytest.fixture
def job() -> Job:
    topology = Topology("few")
    topology.source(Ints, name="ints").into(Collect, name="sink")
    return compile_job(topology.spec(), load_deploy(None, (), workers=1, transport="local"))


def test_numbers_go_on_where_the_store_ends(job: Job, tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    store.write(Checkpoint("earlier", {}, 41, True, ()))
    made = checkpoints_of(job, store, 1.0)
    assert [made.due(0.0), made.due(1.0)] == [None, 42]
    taken = {each.id: Snapshot(0, each.id, 42, b"x", None) for each in job.plan.replicas}
    CheckpointRecord(job, store).write(42, taken)
    latest = store.latest()
    assert latest is not None
    assert (latest.topology, latest.number, latest.ended) == ("few", 42, False)
    assert [each.actor for each in latest.replicas] == ["ints", "sink"]


def test_the_end_keeps_what_the_sinks_have_prepared(job: Job, tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    CheckpointRecord(job, store).write_end(7, {1: b"token"})
    latest = store.latest()
    assert latest is not None
    assert (latest.number, latest.ended) == (7, True)
    assert [each.token for each in latest.replicas] == [None, b"token"]
