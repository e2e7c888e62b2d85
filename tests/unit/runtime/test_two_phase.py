"""What sinks prepared is committed oldest first, once, or undone."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.connectors.sink import END, Sink
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.metrics.counters import CounterTable
from actorstream.runtime.ending import TwoPhase
from actorstream.runtime.replica import Replica


class Staged(Sink):
    def __init__(self, fails: str = "", silent: bool = False) -> None:
        self.calls: list[Any] = []
        self.fails, self.silent = fails, silent

    def on_batch(self, batch: Batch) -> None:
        """Takes everything."""

    def _note(self, call: str, argument: Any) -> None:
        self.calls.append((call, argument))
        if self.fails == call:
            raise OSError("disk full")

    def prepare(self, barrier: int) -> Any:
        self._note("prepare", barrier)
        return None if self.silent else f"token {barrier}"

    def commit(self, token: Any) -> None:
        self._note("commit", token)

    def abort(self, token: Any) -> None:
        self._note("abort", token)


def replica_of(sink: Sink, number: int = 0) -> Replica:
    table = CounterTable(1)
    return Replica(
        sink,
        id=number,
        name="sink",
        replica=number,
        replicas=2,
        inputs=["in"],
        outputs={},
        on_error="fail",
        row=table.row(0),
    )


def test_a_commit_takes_what_was_prepared_up_to_its_barrier_oldest_first() -> None:
    sink = Staged()
    replica, phases = replica_of(sink), TwoPhase()
    for barrier in (1, 2, 3):
        assert phases.prepare(replica, barrier) == f"token {barrier}"
    phases.commit(2)
    phases.commit(2)
    phases.prepare(replica, END)
    phases.commit(END)
    assert [call for call in sink.calls if call[0] == "commit"] == [
        ("commit", "token 1"),
        ("commit", "token 2"),
        ("commit", "token 3"),
        ("commit", f"token {END}"),
    ]


def test_a_sink_that_prepared_nothing_is_not_asked_to_commit() -> None:
    sink = Staged(silent=True)
    replica, phases = replica_of(sink), TwoPhase()
    phases.prepare(replica, END)
    phases.commit(END)
    assert sink.calls == [("prepare", END)]


def test_abort_undoes_the_latest_first_and_drops_the_rest() -> None:
    sink = Staged()
    replica, phases = replica_of(sink), TwoPhase()
    for barrier in (1, 2, 3):
        phases.prepare(replica, barrier)
    phases.commit(1)
    phases.abort(replica)
    phases.abort(replica)
    assert sink.calls[-4:] == [("abort", "token 3"), ("abort", "token 2"), ("abort", None), ("abort", None)]


@pytest.mark.parametrize("call", ["prepare", "commit", "abort"])
def test_an_error_names_the_sink(call: str) -> None:
    sink = Staged(fails=call)
    replica, phases = replica_of(sink, 1), TwoPhase()

    def all_three() -> None:
        phases.prepare(replica, 1)
        phases.commit(1)
        phases.abort(replica)

    with pytest.raises(OperatorError, match=r"operator 'sink' \(replica 1\) failed: OSError: disk full"):
        all_three()


def test_an_abort_that_fails_does_not_keep_the_others_from_it() -> None:
    sink = Staged(fails="abort")
    replica, phases = replica_of(sink), TwoPhase()
    phases.prepare(replica, 1)
    with pytest.raises(OperatorError):
        phases.abort(replica)
    assert sink.calls[-2:] == [("abort", "token 1"), ("abort", None)]


def test_what_was_decided_and_is_kept_is_left_to_the_run_that_goes_on() -> None:
    failing, other = Staged(fails="commit"), Staged()
    replicas, phases = [replica_of(failing), replica_of(other, 1)], TwoPhase(kept=True)
    for replica in replicas:
        phases.prepare(replica, 1)
        phases.prepare(replica, 2)
    with pytest.raises(OperatorError):
        phases.commit(1)
    for replica in replicas:
        phases.abort(replica)
    assert failing.calls[-2:] == [("abort", "token 2"), ("abort", None)]
    assert other.calls[-2:] == [("abort", "token 2"), ("abort", None)]


@pytest.mark.parametrize("kept", [False, True])
def test_the_decided_end_is_undone_only_where_no_checkpoint_has_it(kept: bool) -> None:
    failing, other = Staged(fails="commit"), Staged()
    replicas, phases = [replica_of(failing), replica_of(other, 1)], TwoPhase(kept=kept)
    for replica in replicas:
        phases.prepare(replica, END)
    with pytest.raises(OperatorError):
        phases.commit(END)
    for replica in replicas:
        phases.abort(replica)
    undone = [] if kept else [("abort", f"token {END}"), ("abort", None)]
    assert other.calls[1:] == undone
    assert failing.calls[2:] == undone[1:]


def test_what_was_prepared_is_kept_while_nobody_knows_whether_its_commit_was_decided() -> None:
    sink = Staged()
    replica, phases = replica_of(sink), TwoPhase(kept=True)
    phases.prepare(replica, 1)
    phases.keep()
    phases.prepare(replica, END)
    phases.keep()
    phases.abort(replica)
    assert sink.calls == [("prepare", 1), ("prepare", END)]
