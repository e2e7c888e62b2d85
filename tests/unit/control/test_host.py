"""A host carries out what its coordinator decides, and hands it what the links and the store bring."""

from __future__ import annotations

from collections.abc import Mapping

from actorstream.connectors.sink import END
from actorstream.control.checkpoints import Checkpoints
from actorstream.control.coordinator import GRACE_S, Coordinator
from actorstream.control.host import Host
from actorstream.control.messages import (
    Abort,
    Collected,
    Commit,
    Counted,
    Ended,
    Finished,
    Message,
    Prepare,
    Prepared,
    Snapshot,
)
from actorstream.errors import RunError


class Store:
    """Records what is written, or refuses."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.ends: list[tuple[int, dict[int, bytes]]] = []

    def write(self, number: int, taken: Mapping[int, Snapshot]) -> None:
        raise AssertionError("no checkpoint was asked for")

    def write_end(self, number: int, tokens: Mapping[int, bytes]) -> None:
        if self.error is not None:
            raise self.error
        self.ends.append((number, dict(tokens)))


class Carried:
    """A host of two workers, and what it did."""

    def __init__(self, store: Store | None = None) -> None:
        self.sent: list[tuple[int, Message]] = []
        self.kills = 0
        self.counted: dict[int, bytes] = {}
        self.now = 0.0
        checkpoints = None if store is None else Checkpoints(100.0, 3)
        coordinator = Coordinator(2, 2, checkpoints)
        send = lambda worker, message: self.sent.append((worker, message))  # noqa: E731
        self.host = Host(coordinator, store, send, self.kill, self.counted.update, lambda: self.now)

    def kill(self) -> None:
        self.kills += 1

    def hear(self, *kinds: type[Message]) -> None:
        for kind in kinds:
            for worker in (0, 1):
                self.host.heard(worker, kind(worker))


def test_the_record_of_the_end_is_written_before_anybody_commits() -> None:
    store = Store()
    run = Carried(store)
    run.hear(Ended)
    run.host.heard(0, Prepared(0, {0: b"a"}))
    run.host.heard(1, Prepared(1))
    assert store.ends == [(4, {0: b"a"})]
    assert run.sent == [(0, Prepare()), (1, Prepare()), (0, Commit(END)), (1, Commit(END))]
    run.hear(Finished)
    assert run.host.finished is None
    for worker in (0, 1):
        run.host.lost(worker, "it has ended")
    assert run.host.finished is not None
    assert run.host.finished.outcome is None


def test_a_record_that_cannot_be_written_is_the_outcome() -> None:
    error = RunError("disk full")
    run = Carried(Store(error))
    run.hear(Ended, Prepared)
    assert run.sent[-1] == (1, Abort())
    run.now = 2 * GRACE_S
    run.host.tick()
    assert run.kills == 1
    for worker in (0, 1):
        run.host.lost(worker, "it was killed")
    assert run.host.finished is not None
    assert run.host.finished.outcome is error


def test_whatever_a_record_raises_ends_the_run_with_a_run_error() -> None:
    run = Carried(Store(KeyError("endpoint")))
    run.hear(Ended, Prepared)
    assert run.sent[-1] == (1, Abort())
    for worker in (0, 1):
        run.host.lost(worker, "it has ended")
    assert run.host.finished is not None
    outcome = run.host.finished.outcome
    assert isinstance(outcome, RunError)
    assert str(outcome) == "checkpoint 4 cannot be written: KeyError: 'endpoint'"


def test_a_worker_that_is_gone_is_told_nothing() -> None:
    run = Carried()
    run.host.lost(0, "worker 0 was killed")
    run.now = 1.0
    run.host.tick()
    assert run.sent == [(1, Abort())]


def test_what_sinks_collected_and_counters_are_kept_beside() -> None:
    run = Carried()
    run.host.heard(1, Collected(1, "sink", b"a"))
    run.host.heard(0, Collected(0, "sink", b"b"))
    run.host.heard(0, Counted(0, {7: b"words"}))
    assert run.host.collected == {"sink": [b"a", b"b"]}
    assert run.counted == {7: b"words"}
