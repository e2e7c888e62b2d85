"""Whether a run may go on from a checkpoint."""

from __future__ import annotations

import pytest

from actorstream.checkpoint.checkpoint import Checkpoint, ReplicaState, check_fits
from actorstream.errors import ConfigurationError

KEPT = Checkpoint(
    "wc",
    7,
    3,
    False,
    (ReplicaState("split", 0, b"a"), ReplicaState("split", 1, b"b"), ReplicaState("count", 0, b"c")),
)
COUNTS = {"split": 2, "count": 1}


def test_the_same_topology_with_the_same_replicas_fits() -> None:
    check_fits(KEPT, "wc", 7, COUNTS, "state/")


def test_each_actor_with_other_replicas_is_named() -> None:
    with pytest.raises(ConfigurationError) as raised:
        check_fits(KEPT, "wc", 7, {"split": 3, "more": 1}, "state/")
    assert [problem.message for problem in raised.value.problems] == [
        "the checkpoint has 1 replicas of actor 'count', this run 0",
        "the checkpoint has 0 replicas of actor 'more', this run 1",
        "the checkpoint has 2 replicas of actor 'split', this run 3",
    ]


@pytest.mark.parametrize(("name", "program"), [("other", 7), ("wc", 8)])
def test_another_topology_or_version_is_refused(name: str, program: int) -> None:
    with pytest.raises(ConfigurationError, match="is of topology 'wc' in another version"):
        check_fits(KEPT, name, program, COUNTS, "state/")


def test_a_replica_finds_its_own_state() -> None:
    assert KEPT.state("split", 1).state == b"b"
