"""Replicas meet at a hub over real sockets; the driver is a list of what it was told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from queue import Queue
from typing import Any

import pytest

from actorstream.errors import ConfigurationError
from actorstream.spark.failure import SparkError
from actorstream.spark.hub import FINISHED, HUB, DriverHub, HubDriver
from actorstream.spark.source import own_lanes

PATIENCE_S = 60.0


class Started:
    """A driver that was started."""

    def __init__(self, task: Mapping[str, Any], hear: Callable[[dict[str, Any]], None]) -> None:
        self.task, self.hear = task, hear
        self.stopped = threading.Event()

    def stop(self) -> None:
        self.stopped.set()


@pytest.fixture
def drivers() -> Queue[Started]:
    """The drivers that the hub has started."""
    return Queue()


@pytest.fixture(params=["", "127.0.0.1"], autouse=True)
def hub(
    request: pytest.FixtureRequest, drivers: Queue[Started], monkeypatch: pytest.MonkeyPatch
) -> Iterator[DriverHub]:
    def start(task: Mapping[str, Any], hear: Callable[[dict[str, Any]], None]) -> Started:
        drivers.put(made := Started(task, hear))
        return made

    hub = DriverHub(start, request.param)
    monkeypatch.setenv(HUB, hub.place)
    yield hub
    hub.close()


def task(lane: int, number: int = 0, table: Any = None) -> dict[str, Any]:
    return {"tasks": 2, "lanes": {str(lane): ["name", "token", ""]}, "range": number, "table": table}


class MeetingReplica:
    """A replica, and the lines that it hears."""

    def __init__(self, number: int, what: Mapping[str, Any], replicas: int = 2) -> None:
        self.heard: Queue[dict[str, Any]] = Queue()
        self.driver = HubDriver("rows", number, replicas, what, self.heard.put)

    def hears(self) -> dict[str, Any]:
        return self.heard.get(timeout=PATIENCE_S)


def test_one_driver_serves_all_replicas_from_the_first_range_that_one_of_them_needs(
    drivers: Queue[Started],
) -> None:
    replicas = [MeetingReplica(0, task(0, 4)), MeetingReplica(1, task(1, 3, {"rows": 7}))]
    driver = drivers.get(timeout=PATIENCE_S)
    assert driver.task["lanes"] == {"0": ["name", "token", ""], "1": ["name", "token", ""]}
    assert (driver.task["range"], driver.task["table"]) == (3, {"rows": 7})
    driver.hear({"ended": 3})
    driver.hear({"error": SparkError("lost")})
    for replica in replicas:
        assert replica.hears() == {"ended": 3}
        assert isinstance(replica.hears()["error"], SparkError)


def test_a_lane_without_a_task_is_told_to_the_other_replicas(drivers: Queue[Started]) -> None:
    first, second = MeetingReplica(0, task(0)), MeetingReplica(1, task(1))
    drivers.get(timeout=PATIENCE_S)
    first.driver.tell_lack(True)
    assert (first.hears(), second.hears()) == ({"others_lack": False}, {"others_lack": True})
    first.driver.tell_lack(False)
    assert second.hears() == {"others_lack": False}


def test_a_replica_that_has_all_its_rows_may_go_and_one_that_dies_ends_the_driver(
    drivers: Queue[Started],
) -> None:
    first, second = MeetingReplica(0, task(0)), MeetingReplica(1, task(1))
    driver = drivers.get(timeout=PATIENCE_S)
    first.driver.finish()
    first.driver.stop()
    driver.hear({"ended": 0})
    assert second.hears() == {"ended": 0}
    assert not driver.stopped.is_set()
    second.driver.stop()
    assert driver.stopped.wait(PATIENCE_S)


def test_the_end_of_the_hub_is_an_error_of_replicas_that_still_need_rows(
    drivers: Queue[Started], hub: DriverHub
) -> None:
    first, second = MeetingReplica(0, task(0)), MeetingReplica(1, task(1))
    drivers.get(timeout=PATIENCE_S)
    hub.close()
    for replica in (first, second):
        error = replica.hears()["error"]
        assert isinstance(error, SparkError)
        assert str(error).startswith("the process that started the run has ended")


def test_a_replica_that_dies_is_no_error_of_the_others_since_the_run_says_why_it_ends(
    drivers: Queue[Started],
) -> None:
    first, second = MeetingReplica(0, task(0)), MeetingReplica(1, task(1))
    driver = drivers.get(timeout=PATIENCE_S)
    first.driver.stop()
    assert driver.stopped.wait(PATIENCE_S)
    second.driver.listener.join(PATIENCE_S)
    assert not second.driver.listener.is_alive()
    assert second.heard.empty()


def test_replicas_that_start_again_meet_anew_and_one_that_had_ended_needs_no_rows(
    drivers: Queue[Started],
) -> None:
    before = [MeetingReplica(number, task(number)) for number in range(2)]
    drivers.get(timeout=PATIENCE_S)
    for replica in before:
        replica.driver.stop()
    MeetingReplica(0, FINISHED)
    MeetingReplica(1, task(1, 5))
    assert drivers.get(timeout=PATIENCE_S).task["lanes"].keys() == {"1"}


def test_neighbouring_tasks_are_of_one_partition() -> None:
    for tasks in range(1, 9):
        for partitions in range(1, tasks + 1):
            lanes = [own_lanes(tasks, partitions, number) for number in range(partitions)]
            assert [lane for each in lanes for lane in each] == list(range(tasks))
            assert all(lanes)


def test_several_replicas_that_nobody_lets_meet_are_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from actorstream.spark.source import SparkSource

    monkeypatch.delenv(HUB, raising=False)
    source = SparkSource(sql="select 1 as n", schema={"n": "int"}, partitions=2)
    with pytest.raises(ConfigurationError, match=r"nothing tells the replicas of each other; allowed: 1"):
        source._meet(FINISHED)
    with pytest.raises(ConfigurationError, match=r"partitions: is 2, and replicas is 1"):
        source.open(source.partitions())
