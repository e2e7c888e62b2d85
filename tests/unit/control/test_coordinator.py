"""The coordinator decides by the book: scripts of events, and what follows from each. No clock, no process."""

from __future__ import annotations

import pytest

from actorstream.connectors.sink import END
from actorstream.control.actions import Action, Finish, Kill, Send, WriteCheckpoint, WriteEnd
from actorstream.control.checkpoints import Checkpoints
from actorstream.control.coordinator import GRACE_S, SUSPECT_S, Coordinator, RunPhase
from actorstream.control.failures import failed_message
from actorstream.control.interrupted import Interrupted, Suspended
from actorstream.control.messages import (
    Abort,
    Barrier,
    Begun,
    Collected,
    Commit,
    Drain,
    Ended,
    Finished,
    Grant,
    Message,
    Prepare,
    Prepared,
    Snapshot,
    Started,
    Suspend,
)
from actorstream.errors import BrokenError, OperatorError, RunError, WorkerDiedError


class Script:
    """Two workers with one replica each, and a clock that is moved by hand."""

    def __init__(self, every: float | None = None, *, wishes: bool = False) -> None:
        checkpoints = None if every is None else Checkpoints(every, wishes=wishes, where="state")
        self.coordinator = Coordinator(2, 2, checkpoints)
        self.now = 0.0

    def hear(self, *messages: Message) -> list[Action]:
        return [
            action
            for message in messages
            for action in self.coordinator.heard(message.worker, message, self.now)  # type: ignore[attr-defined]
        ]

    def both(self, *kinds: type[Message]) -> list[Action]:
        return self.hear(*(kind(worker) for kind in kinds for worker in (0, 1)))

    def tick(self, seconds: float) -> list[Action]:
        self.now += seconds
        return self.coordinator.tick(self.now)

    def lose(self, worker: int) -> list[Action]:
        return self.coordinator.lost(worker, f"worker {worker} was killed", self.now)

    def written(self, number: int, error: RunError | None = None) -> list[Action]:
        return self.coordinator.written(number, error, self.now)

    def passed(self, barrier: int) -> list[Action]:
        return self.hear(*(Snapshot(worker, worker, barrier, b"", None) for worker in (0, 1)))

    def outcome(self) -> BaseException | None:
        """Of a run whose workers all go now."""
        *_, last = self.lose(0) + self.lose(1)
        assert isinstance(last, Finish)
        return last.outcome


def sent(actions: list[Action]) -> list[Message]:
    return [action.message for action in actions if isinstance(action, Send)]


def test_without_checkpoints_all_that_have_prepared_commit() -> None:
    script = Script()
    assert script.both(Started) == []
    assert script.hear(Prepared(0)) == []
    assert sent(script.hear(Prepared(1))) == [Commit(END)]
    assert script.both(Finished) == []
    assert script.outcome() is None


def test_with_checkpoints_nobody_prepares_before_all_have_ended_and_the_record_comes_before_the_commit() -> (
    None
):
    script = Script(10.0)
    assert script.hear(Ended(0)) == []
    assert sent(script.hear(Ended(1))) == [Prepare()]
    actions = script.hear(Prepared(0, {0: b"a"}), Prepared(1, {1: b"b"}))
    assert actions == [WriteEnd(1, {0: b"a", 1: b"b"})]
    assert sent(script.written(1)) == [Commit(END)]
    assert script.coordinator.phase is RunPhase.COMMITTED
    assert script.outcome() is not None, "nobody had said that it finished"


def test_a_record_of_the_end_that_cannot_be_written_aborts() -> None:
    script = Script(10.0)
    script.both(Ended, Prepared)
    error = RunError("disk full")
    assert sent(script.written(1, error)) == [Abort()]
    assert script.outcome() is error


def test_while_the_end_is_being_written_nobody_is_told_to_abort() -> None:
    for error, told in ((None, Commit(END)), (RunError("disk full"), Abort())):
        script = Script(10.0)
        script.both(Ended, Prepared)
        assert sent(script.lose(0) + script.tick(2 * SUSPECT_S)) == []
        assert sent(script.coordinator.interrupt(script.now) + script.coordinator.stop(script.now)) == []
        assert sent(script.written(1, error)) == [told]
        (finish,) = script.lose(1)
        assert isinstance(finish, Finish)
        assert isinstance(finish.outcome, WorkerDiedError)


def test_a_checkpoint_is_written_before_it_is_committed_and_frees_what_was_taken_for_it() -> None:
    script = Script(1.0)
    script.both(Started)
    assert sent(script.tick(0.0) + script.tick(1.0)) == [Barrier(1)]
    (write,) = script.passed(1)
    assert isinstance(write, WriteCheckpoint)
    assert (write.number, sorted(write.taken)) == (1, [0, 1])
    assert sent(script.written(1)) == [Commit(1)]
    assert script.coordinator.snapshots == {}
    assert sent(script.tick(0.9)) == []
    assert sent(script.tick(0.2)) == [Barrier(2)]


def test_no_checkpoint_begins_before_all_have_started() -> None:
    script = Script(1.0)
    script.hear(Started(0))
    assert script.tick(100.0) == []


def test_without_a_store_a_barrier_is_committed_when_all_have_passed_it() -> None:
    script = Script()
    assert sent(script.coordinator.start_barrier(5, 0.0)) == [Barrier(5)]
    assert sent(script.passed(5)) == [Commit(5)]
    assert len(script.coordinator.snapshots[5]) == 2


def test_a_checkpoint_that_cannot_be_written_fails_the_run() -> None:
    script = Script(1.0)
    script.both(Started)
    script.tick(0.0)
    script.tick(1.0)
    script.passed(1)
    error = RunError("disk full")
    assert sent(script.written(1, error)) == [Abort()]
    assert script.outcome() is error


def test_a_program_is_granted_a_barrier_and_starts_it_for_all() -> None:
    script = Script(100.0, wishes=True)
    script.both(Started)
    assert sent(script.tick(0.0)) == [Grant(1)]
    assert sent(script.tick(1.0)) == [], "once"
    assert sent(script.hear(Begun(1, 1))) == [Barrier(1)]
    script.passed(1)
    assert sent(script.written(1)) == [Commit(1), Grant(2)]


def test_a_barrier_that_a_program_began_behind_the_early_end_is_void() -> None:
    script = Script(100.0, wishes=True)
    script.both(Started)
    script.tick(0.0)
    assert sent(script.coordinator.interrupt(script.now)) == [Drain()]
    assert sent(script.hear(Begun(0, 1))) == [Barrier(1)]
    assert script.passed(1) == []


def test_the_first_failure_wins() -> None:
    script = Script()
    assert sent(script.hear(failed_message(0, OperatorError("op", 0, "ValueError: no")))) == [Abort()]
    assert sent(script.hear(failed_message(1, OperatorError("other", 0, "KeyError: later")))) == []
    assert "operator 'op'" in str(script.outcome())


@pytest.mark.parametrize("cause_is_first", [False, True])
def test_a_consequence_waits_for_its_cause(cause_is_first: bool) -> None:
    script = Script()
    follows = failed_message(0, BrokenError("channel 3: worker 1 is lost"))
    steps = [lambda: script.lose(1), lambda: script.hear(follows)]
    assert [step() for step in (steps if cause_is_first else steps[::-1])] == [[], []]
    assert sent(script.tick(SUSPECT_S + 0.1)) == [Abort()]
    assert isinstance(script.coordinator.failure, WorkerDiedError)


def test_a_consequence_without_a_cause_is_told_after_a_moment() -> None:
    script = Script()
    script.hear(failed_message(0, BrokenError("channel 3 is lost")))
    assert script.tick(SUSPECT_S / 2) == []
    script.tick(SUSPECT_S)
    assert str(script.outcome()) == "channel 3 is lost"


def test_an_error_of_an_operator_is_the_cause_of_what_was_suspected() -> None:
    script = Script()
    script.hear(failed_message(0, BrokenError("lost")))
    script.hear(failed_message(1, OperatorError("op", 0, "ValueError: no")))
    assert isinstance(script.outcome(), OperatorError)


def test_nothing_is_decided_once_a_worker_is_lost() -> None:
    script = Script()
    script.hear(Prepared(1))
    script.lose(1)
    assert script.hear(Prepared(0)) == []
    assert sent(script.tick(2 * SUSPECT_S)) == [Abort()]
    assert "and nothing was committed" in str(script.outcome())


def test_a_worker_that_is_lost_while_sinks_commit_does_not_stop_the_others() -> None:
    script = Script()
    script.both(Prepared)
    assert script.lose(1) + script.tick(2 * SUSPECT_S) == []
    assert "some sinks may have committed" in str(script.coordinator.failure)
    assert script.hear(Finished(0)) == []


def test_a_lost_worker_of_a_run_with_checkpoints_says_how_to_go_on() -> None:
    script = Script(1.0)
    script.lose(0)
    assert "launch again with --resume to go on from the checkpoint that this run was resumed from" in str(
        script.outcome()
    )


def test_a_worker_that_said_how_it_ended_is_not_lost() -> None:
    script = Script()
    script.hear(failed_message(0, OperatorError("op", 0, "ValueError: no")))
    assert isinstance(script.outcome(), OperatorError)


def test_a_worker_that_does_not_let_go_in_time_is_killed() -> None:
    script = Script()
    script.hear(failed_message(0, OperatorError("op", 0, "ValueError: no")))
    assert script.tick(GRACE_S / 2) == []
    assert script.tick(GRACE_S) == [Kill()]


def test_a_worker_that_has_finished_and_stays_is_killed() -> None:
    script = Script()
    script.both(Prepared, Finished)
    assert script.tick(GRACE_S + 0.1) == [Kill()]
    assert script.outcome() is None


def test_the_first_interrupt_drains_and_the_second_aborts() -> None:
    script = Script()
    script.both(Started)
    assert sent(script.coordinator.interrupt(0.0)) == [Drain()]
    script.both(Prepared, Finished)
    found = script.outcome()
    assert isinstance(found, Interrupted)
    assert found.drained

    script = Script()
    assert sent(script.coordinator.interrupt(0.0) + script.coordinator.interrupt(0.0)) == [Drain(), Abort()]
    assert "nothing committed" in str(script.outcome())


def test_an_interrupt_of_a_run_that_had_ended_changes_nothing() -> None:
    script = Script(1.0)
    script.both(Ended)
    script.coordinator.interrupt(0.0)
    script.both(Prepared)
    script.written(1)
    script.both(Finished)
    assert script.outcome() is None


def test_a_stop_while_sinks_commit_says_so() -> None:
    script = Script()
    script.both(Prepared)
    assert script.coordinator.stop(0.0) == []
    assert "some may have committed" in str(script.outcome())


def test_a_suspension_makes_a_checkpoint_and_stops_there() -> None:
    script = Script(100.0)
    script.both(Started)
    assert sent(script.coordinator.suspend(0.0)) == [Barrier(1)]
    script.passed(1)
    assert sent(script.written(1)) == [Commit(1), Suspend()]
    script.hear(failed_message(0, BrokenError("worker 1 is lost")))
    assert script.tick(GRACE_S + 0.1) == [Kill()]
    found = script.outcome()
    assert isinstance(found, Suspended)
    assert found.number == 1


def test_a_checkpoint_under_way_does_for_a_suspension() -> None:
    script = Script(1.0)
    script.both(Started)
    script.tick(0.0)
    script.tick(1.0)
    assert script.coordinator.suspend(script.now) == []
    script.passed(1)
    assert Suspend() in sent(script.written(1))


def test_a_suspension_of_a_run_whose_input_has_ended_lets_it_end() -> None:
    script = Script(100.0)
    script.both(Ended)
    assert script.coordinator.suspend(0.0) == []
    script.both(Prepared)
    script.written(1)
    script.both(Finished)
    assert script.outcome() is None


def test_a_suspension_without_checkpoints_drains() -> None:
    assert sent(Script().coordinator.suspend(0.0)) == [Drain()]


def test_a_second_signal_stops_a_suspension() -> None:
    script = Script(100.0)
    script.coordinator.suspend(0.0)
    assert sent(script.coordinator.suspend(0.0)) == [Abort()]
    assert "nothing committed" in str(script.outcome())


def test_a_failure_while_a_checkpoint_is_being_written_aborts_once_it_is() -> None:
    """What the record names must not be undone."""
    script = Script(100.0)
    script.both(Started)
    script.coordinator.suspend(0.0)
    script.passed(1)
    assert script.hear(failed_message(0, OperatorError("op", 0, "ValueError: no"))) == []
    assert sent(script.written(1)) == [Commit(1), Abort()]


def test_a_message_that_is_no_matter_of_control_changes_nothing() -> None:
    assert Script().hear(Collected(0, "sink", b"rows")) == []


def test_after_the_end_nothing_is_done() -> None:
    script = Script()
    script.both(Prepared, Finished)
    assert script.outcome() is None
    assert script.tick(100.0) + script.coordinator.stop(script.now) == []
