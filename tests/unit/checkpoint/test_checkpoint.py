"""Whether a run may go on from a checkpoint."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from actorstream.checkpoint.checkpoint import Checkpoint, ReplicaState, check_fits, check_share
from actorstream.errors import ConfigurationError

KEPT = Checkpoint(
    "wc",
    {"split": {"its type": "map"}, "count": {"its type": "top", "key n": "5"}},
    3,
    False,
    (ReplicaState("split", 0, b"a"), ReplicaState("split", 1, b"b"), ReplicaState("count", 0, b"c")),
)
COUNTS = {"split": 2, "count": 1}


def test_the_same_topology_with_the_same_replicas_fits() -> None:
    check_fits(KEPT, "wc", KEPT.actors, COUNTS, "state/")


def test_each_actor_with_other_replicas_is_named() -> None:
    with pytest.raises(ConfigurationError) as raised:
        check_fits(KEPT, "wc", KEPT.actors, {"split": 3, "more": 1}, "state/")
    assert [problem.message for problem in raised.value.problems] == [
        "the checkpoint has 1 replicas of actor 'count', this run 0",
        "the checkpoint has 0 replicas of actor 'more', this run 1",
        "the checkpoint has 2 replicas of actor 'split', this run 3",
    ]


def test_another_topology_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is of topology 'wc', and this one is 'other'"):
        check_fits(KEPT, "other", KEPT.actors, COUNTS, "state/")


def test_each_part_that_differs_is_named() -> None:
    now = {"split": {"its type": "filter"}, "count": {"its type": "top", "key n": "6"}}
    with pytest.raises(ConfigurationError) as raised:
        check_fits(KEPT, "wc", now, COUNTS, "state/")
    assert [problem.message for problem in raised.value.problems] == [
        "actor 'split': its type is filter, and was map when the checkpoint was made",
        "actor 'count': key n is 6, and was 5 when the checkpoint was made",
    ]


@pytest.mark.parametrize(("kept", "now"), [(128, 128), (128, None), (None, 100), (None, None)])
def test_key_groups_may_be_equal_or_unknown_or_of_no_use(kept: int | None, now: int | None) -> None:
    check_fits(replace(KEPT, key_groups=kept), "wc", KEPT.actors, COUNTS, "state/", now)


def test_other_key_groups_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="made with 128 key groups, and this run has 100"):
        check_fits(replace(KEPT, key_groups=128), "wc", KEPT.actors, COUNTS, "state/", 100)


def test_the_first_step_of_an_aggregate_that_is_there_or_not_is_the_deployments() -> None:
    now = {**KEPT.actors, "count.local": {"its type": "top"}}
    with pytest.raises(ConfigurationError) as raised:
        check_fits(KEPT, "wc", now, {**COUNTS, "count.local": 1}, "state/")
    (problem,) = raised.value.problems
    assert problem.hint == "set deploy.pre_aggregation back"


def test_a_replica_finds_its_own_state() -> None:
    assert KEPT.state("split", 1).state == b"b"


@pytest.mark.parametrize(
    ("kept", "now", "ended"),
    [
        ([], [], True),
        (["a", "c"], ["a", "c"], True),
        (["a", "c"], ["a", "c", "e"], False),
        ([], ["a"], False),
    ],
)
def test_a_source_goes_on_with_the_partitions_that_it_had_and_with_new_ones_behind_them(
    kept: list[str], now: list[str], ended: bool
) -> None:
    check_share(kept, now, ended=ended)


@pytest.mark.parametrize(
    ("kept", "now", "ended", "says"),
    [
        (
            ["b", "d"],
            ["a", "c"],
            False,
            "'b', of which the checkpoint says how far it was read, is not there",
        ),
        (["b"], [], True, "'b', of which the checkpoint says"),
        (["b"], ["a", "b"], False, "'a' is new, and stands before what was read"),
        (["b"], ["b", "c"], True, "'c' is new, and this replica had read all of its input"),
        (["b", "a"], ["a", "b"], False, "partitions come in another order"),
    ],
)
def test_a_source_whose_partitions_are_others_than_the_checkpoint_has_is_refused(
    kept: list[str], now: list[str], ended: bool, says: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"its partitions: {says}.*start anew without --resume"):
        check_share(kept, now, ended=ended)
