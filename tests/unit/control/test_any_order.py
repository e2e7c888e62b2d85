"""Whatever the order of messages, losses, signals and writes: a run ends, once, and nobody is told two things."""

from __future__ import annotations

from collections import deque

from hypothesis import example, given, settings
from hypothesis import strategies as st

from actorstream.connectors.sink import END
from actorstream.control.actions import Action, Finish, Kill, Send, WriteCheckpoint, WriteEnd
from actorstream.control.checkpoints import Checkpoints
from actorstream.control.coordinator import Coordinator
from actorstream.control.failures import failed_message
from actorstream.control.interrupted import Interrupted, Suspended
from actorstream.control.messages import (
    Abort,
    Barrier,
    Begun,
    Commit,
    Drain,
    Ended,
    Failed,
    Finished,
    Grant,
    Message,
    Prepare,
    Prepared,
    Snapshot,
    Started,
    Suspend,
)
from actorstream.errors import BrokenError, OperatorError, RunError

WORKERS = 3


class Worker:
    """A model of a worker: what it says and does, one step at a time."""

    def __init__(self, number: int, keeps: bool) -> None:
        self.number, self.keeps = number, keeps
        self.told: list[Message] = []
        self.inbox: deque[Message] = deque()
        self.outbox: deque[Message] = deque([Started(number)])
        self.granted = 0
        self.has_ended = self.has_prepared = self.is_over = self.hangs = self.is_gone = False

    def end_input(self) -> None:
        if not (self.has_ended or self.is_over or self.hangs):
            self.has_ended = True
            if self.keeps:
                self.outbox.append(Ended(self.number))
            else:
                self.prepare()

    def prepare(self) -> None:
        self.has_prepared = True
        self.outbox.append(Prepared(self.number, {self.number: b"token"} if self.keeps else {}))

    def begin(self) -> None:
        if self.granted and not (self.has_prepared or self.is_over or self.hangs):
            self.outbox.append(Begun(self.number, self.granted))

    def fail(self, error: Exception) -> None:
        if not (self.is_over or self.hangs):
            self.outbox.append(failed_message(self.number, error))
            self.is_over = True

    def take(self) -> None:
        """Does what it was told first."""
        if not self.inbox or self.hangs or self.is_over:
            return
        match self.inbox.popleft():
            case Barrier(barrier) if not self.has_prepared:
                self.outbox.append(Snapshot(self.number, self.number, barrier, b"", None))
            case Grant(barrier):
                self.granted = barrier
            case Prepare():
                self.prepare()
            case Drain():
                self.end_input()
            case Commit(barrier) if barrier == END:
                assert self.has_prepared
                self.outbox.append(Finished(self.number))
                self.is_over = True
            case Suspend():
                self.outbox.append(Finished(self.number))
                self.is_over = True
            case Abort():
                self.is_over = True


class Run:
    """A coordinator, its workers and its store, of which every step may come at any time."""

    def __init__(self, keeps: bool) -> None:
        self.coordinator = Coordinator(WORKERS, WORKERS, Checkpoints(1.0, wishes=True) if keeps else None)
        self.workers = [Worker(number, keeps) for number in range(WORKERS)]
        self.keeps = keeps
        self.now = 0.0
        self.writes: deque[WriteCheckpoint | WriteEnd] = deque()
        self.decided: bool | None = None
        """Whether the record of the end was written, or could not be."""
        self.is_broken = False
        """Whether a worker has been lost, or has failed, as far as the coordinator knows."""
        self.finish: Finish | None = None

    def step(self, kind: str, number: int) -> None:
        worker = self.workers[number]
        if worker.is_gone and kind in (
            "hear",
            "take",
            "end",
            "fail",
            "follow",
            "begin",
            "lose",
            "hang",
            "leave",
        ):
            return
        match kind:
            case "round":
                for each in range(WORKERS):
                    self.step("hear", each)
                    self.step("take", each)
            case "all end":
                for each in range(WORKERS):
                    self.step("end", each)
            case "hear" if worker.outbox:
                self.hear(worker)
            case "take":
                worker.take()
            case "end":
                worker.end_input()
            case "begin":
                worker.begin()
            case "fail":
                worker.fail(OperatorError("op", number, "ValueError: no"))
            case "follow":
                worker.fail(BrokenError("a peer is lost"))
            case "hang":
                worker.hangs = True
            case "lose":
                self.lose(worker)
            case "leave" if worker.is_over:
                self.lose(worker)
            case "tick":
                self.now += 0.3
                self.do(self.coordinator.tick(self.now))
            case "write" | "spoil" if self.writes:
                write = self.writes.popleft()
                error = RunError("disk full") if kind == "spoil" else None
                if isinstance(write, WriteEnd):
                    self.decided = error is None
                self.do(self.coordinator.written(write.number, error, self.now))
            case "interrupt":
                self.do(self.coordinator.interrupt(self.now))
            case "suspend":
                self.do(self.coordinator.suspend(self.now))
            case "stop":
                self.do(self.coordinator.stop(self.now))

    def hear(self, worker: Worker) -> None:
        message = worker.outbox.popleft()
        self.is_broken |= isinstance(message, Failed)
        self.do(self.coordinator.heard(worker.number, message, self.now))

    def lose(self, worker: Worker) -> None:
        if worker.is_gone:
            return
        worker.is_gone = True
        while worker.outbox:
            self.hear(worker)
        self.is_broken |= not worker.is_over
        self.do(self.coordinator.lost(worker.number, f"worker {worker.number} is gone", self.now))

    def do(self, actions: list[Action]) -> None:
        for action in actions:
            assert self.finish is None, "the end is the last"
            match action:
                case Send(message):
                    self.tell(message)
                case WriteCheckpoint() | WriteEnd():
                    assert not self.writes, "one at a time"
                    assert self.decided is None, "no record follows that of the end"
                    assert not (isinstance(action, WriteEnd) and self.is_broken), "nothing is decided then"
                    self.writes.append(action)
                case Kill():
                    for worker in self.workers:
                        worker.hangs = worker.is_over = True
                case Finish():
                    assert not self.writes
                    self.finish = action

    def tell(self, message: Message) -> None:
        if isinstance(message, Abort):
            assert not self.writes, "what is being written must not be undone"
            assert not self.decided, "the decision stands"
        if message == Commit(END):
            assert self.decided if self.keeps else not self.is_broken, "the record comes first"
            assert all(worker.has_prepared for worker in self.workers)
        for worker in self.workers:
            if not worker.is_gone:
                told = worker.told
                assert not ends(told), "an end is the last word"
                told.append(message)
                worker.inbox.append(message)

    def settle(self) -> None:
        """All goes on fairly; workers that hang make the user stop the run."""
        for round_ in range(120):
            for number in range(WORKERS):
                for kind in ("hear", "take", "end", "leave"):
                    self.step(kind, number)
            self.step("write", 0)
            self.step("tick", 0)
            if round_ == 60:
                self.step("stop", 0)
            if self.finish is not None:
                return
        raise AssertionError("it does not end")


def ends(told: list[Message]) -> list[Message]:
    """The last words among messages."""
    return [each for each in told if isinstance(each, (Abort, Suspend)) or each == Commit(END)]


COMMON = ["round"] * 8 + ["tick"] * 3 + ["write", "hear", "take", "leave"]
RARE = ["all end", "begin", "end", "fail", "follow", "lose", "hang", "spoil", "interrupt", "suspend", "stop"]


@settings(max_examples=250, deadline=None)
@given(
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(COMMON + RARE), st.integers(0, WORKERS - 1)), max_size=60),
)
@example(True, [])
@example(False, [])
def test_a_run_ends_once_and_nobody_is_told_two_ends(keeps: bool, steps: list[tuple[str, int]]) -> None:
    run = Run(keeps)
    for kind, number in steps:
        run.step(kind, number)
    run.settle()
    assert run.finish is not None
    assert all(worker.is_gone for worker in run.workers)
    outcome = run.finish.outcome
    if outcome is None or (isinstance(outcome, Interrupted) and outcome.drained):
        assert all(Commit(END) in worker.told for worker in run.workers)
    if isinstance(outcome, Suspended):
        assert run.decided is None
    if run.decided:
        assert not any(Abort() in worker.told for worker in run.workers)
    run.step("tick", 0)
    run.step("stop", 0)
