"""The coordinator of a run: it hears what workers say and which are lost, and decides what they are told.

A pure state machine: no clock, no I/O, no process. Any process may host it (`host.py`). Each method takes one event and
returns the actions that follow; times are seconds of one clock that only rises.
"""

from __future__ import annotations

from enum import Enum, auto

from actorstream.connectors.sink import END
from actorstream.control.actions import Action, Finish, Kill, Send, WriteCheckpoint, WriteEnd
from actorstream.control.checkpoints import Checkpoints
from actorstream.control.failures import CONSEQUENCES, reported_error
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
from actorstream.errors import WorkerDiedError

GRACE_S = 1.0
"""After a failure or abort, how long workers may take to let go before they are killed."""
SUSPECT_S = 0.5
"""How long an error that may be another's consequence waits for its cause."""


class RunPhase(Enum):
    """Where a run is. It only moves down this list; ABORTED, SUSPENDED and COMMITTED are final.

    From RUNNING and PREPARING a run may be aborted or suspended, and from DECIDING only if the record of the end could not
    be written: then nothing was decided."""

    RUNNING = auto()
    """Sources read; barriers pass."""
    PREPARING = auto()
    """All units have ended: sinks prepare, no barrier is started any more."""
    DECIDING = auto()
    """All sinks have prepared. The record that says so is being written."""
    COMMITTED = auto()
    """The commit was decided: no worker is told otherwise any more."""
    SUSPENDED = auto()
    """All workers stop at the last checkpoint."""
    ABORTED = auto()
    """All workers stop and commit nothing."""


class Member:
    """How far one worker has got, as its messages have told."""

    __slots__ = ("ended", "failed", "finished", "gone", "prepared", "started")

    def __init__(self) -> None:
        self.started = self.ended = self.prepared = self.finished = self.failed = self.gone = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.finished or self.failed or self.gone


class Coordinator:
    """Decides for one run.

    Args:
        workers: how many there are. replicas: of the plan; each answers every barrier.
        checkpoints: when there is one; None: no store, so no worker's state is kept.
    """

    def __init__(self, workers: int, replicas: int, checkpoints: Checkpoints | None = None) -> None:
        self.members = [Member() for _ in range(workers)]
        self.replicas, self.checkpoints = replicas, checkpoints
        self.phase = RunPhase.RUNNING
        self.snapshots: dict[int, dict[int, Snapshot]] = {}
        """Barrier -> replica -> what it keeps, of barriers that no checkpoint covers yet."""
        self.failure: BaseException | None = None
        """The first error; what follows from it is not told."""
        self._actions: list[Action] = []
        self._tokens: dict[int, bytes] = {}
        self._suspended: Suspended | None = None
        self._suspends = self._drained = self._is_finished = False
        self._asked = 0
        self._suspect: tuple[float, int, BaseException] | None = None
        self._deadline: float | None = None
        self._writing: int | None = None
        self._granted = 0

    # -- events: each returns what is to be done

    def heard(self, worker: int, message: Message, now: float) -> list[Action]:
        """A message of a worker. What is no matter of control (`Collected`, `Counted`) changes nothing."""
        member = self.members[worker]
        match message:
            case Started():
                member.started = True
            case Failed():
                member.failed = True
                error = reported_error(message)
                if message.kind in CONSEQUENCES:
                    self._suspected(error, 2, now)
                else:
                    self._fail(error, now)
            case Begun(_, barrier):
                if self.checkpoints is not None and self.checkpoints.begun(barrier):
                    self._start(barrier)
            case Snapshot(_, replica, barrier):
                taken = self.snapshots.setdefault(barrier, {})
                taken[replica] = message
                if len(taken) == self.replicas and self._goes_on():
                    self._complete(barrier, taken)
            case Ended():
                member.ended = True
            case Prepared(_, tokens):
                member.prepared = True
                self._tokens |= tokens
            case Finished():
                member.finished = True
        return self._decided(now)

    def lost(self, worker: int, how: str, now: float) -> list[Action]:
        """A worker is gone, in order or not. `how`: which it is and how it ended, in words."""
        member = self.members[worker]
        expected = member.is_over or self._suspended is not None
        member.gone = True
        if not expected and self.failure is None:
            self._suspected(WorkerDiedError(f"{how}; {self._left()}"), 1, now)
        return self._decided(now)

    def tick(self, now: float) -> list[Action]:
        """Time has passed. To be called often: it starts checkpoints, and ends what takes too long."""
        if self._suspect is not None and now > self._suspect[0]:
            self._fail(self._suspect[2], now)
        if self._deadline is not None and now > self._deadline:
            self._actions.append(Kill())
        is_undisturbed = self.phase is RunPhase.RUNNING and not self._asked and self._goes_on()
        if self.checkpoints is not None and is_undisturbed and all(each.started for each in self.members):
            barrier = self.checkpoints.due(now)
            if barrier is not None:
                self._start(barrier)
            else:
                self._grant()
        return self._decided(now)

    def written(self, number: int, error: BaseException | None, now: float) -> list[Action]:
        """The record that was to be written is in the store, or could not be written (`error`)."""
        if number != self._writing:
            return self._decided(now)
        self._writing = None
        if self.phase is RunPhase.DECIDING:
            self._end_written(error, now)
        else:
            self._checkpoint_written(number, error, now)
        if self.failure is not None and self._may_abort():  # it came while the record was being written
            self._abort(now)
        return self._decided(now)

    def start_barrier(self, barrier: int, now: float) -> list[Action]:
        """Somebody wants all sources to start `barrier` (> 0)."""
        self._start(barrier)
        return self._decided(now)

    def interrupt(self, now: float) -> list[Action]:
        """The user wants the run to end. First: sources end and sinks commit. Again: as `stop`."""
        self._asked += 1
        if self._asked > 1:
            return self.stop(now)
        if self._goes_on():
            if self.checkpoints is not None:
                self.checkpoints.stop()
            self._drained = not all(each.ended or each.prepared or each.finished for each in self.members)
            self._send(Drain())
        return self._decided(now)

    def suspend(self, now: float) -> list[Action]:
        """The user wants the run to stop at a checkpoint; one that is under way will do. Again, or without checkpoints: as
        `interrupt`. If all input has ended, there is nothing to go on with, and the run comes to its end."""
        if self.checkpoints is None or self._asked:
            return self.interrupt(now)
        self._asked += 1
        self._suspends = True
        if self._goes_on() and self.phase is RunPhase.RUNNING:
            barrier = self.checkpoints.start()
            if barrier is not None:
                self._start(barrier)
        return self._decided(now)

    def stop(self, now: float) -> list[Action]:
        """The user wants the run to stop at once. Nothing is committed, unless that was decided already."""
        self._asked = max(self._asked, 2)
        if self.failure is None:
            committing = self.phase in (RunPhase.DECIDING, RunPhase.COMMITTED)
            self._fail(Interrupted(drained=False, committing=committing), now)
        if self._deadline is None:
            self._deadline = now + GRACE_S
        return self._decided(now)

    # -- decisions

    def _decided(self, now: float) -> list[Action]:
        """Decides what follows from all that is known. Returns the actions since the last event."""
        if self._is_finished:
            self._actions.clear()
            return []
        if self._goes_on():
            if self.phase is RunPhase.RUNNING and all(each.ended for each in self.members):
                self.phase = RunPhase.PREPARING
                self._send(Prepare())
            if self._writing is None and all(each.prepared for each in self.members):
                self._decide()
        if self._deadline is None and all(each.is_over for each in self.members):
            self._deadline = now + GRACE_S  # what still runs in a worker is not the run's
        if self._writing is None and all(each.gone for each in self.members):
            if self._suspect is not None:  # nobody is left who could name another cause
                self._fail(self._suspect[2], now)
            self._is_finished = True
            self._actions.append(Finish(self._outcome()))
        actions, self._actions = self._actions, []
        return actions

    def _goes_on(self) -> bool:
        """Whether the run may still get further: nothing has failed, and no end was decided."""
        running = self.phase in (RunPhase.RUNNING, RunPhase.PREPARING)
        return running and self.failure is None and self._suspect is None

    def _outcome(self) -> BaseException | None:
        if self.failure is not None:
            return self.failure
        if self._suspended is not None:
            return self._suspended
        return Interrupted(drained=True) if self._drained else None

    def _send(self, message: Message) -> None:
        self._actions.append(Send(message))

    def _start(self, barrier: int) -> None:
        if self.phase is RunPhase.RUNNING and self.failure is None:
            self._send(Barrier(barrier))

    def _grant(self) -> None:
        """Programs may start the next barrier themselves."""
        granted = self.checkpoints.grant() if self.checkpoints is not None else None
        if granted is not None and granted != self._granted and self._goes_on():
            self._granted = granted
            self._send(Grant(granted))

    def _complete(self, barrier: int, taken: dict[int, Snapshot]) -> None:
        """Every replica has passed a barrier: what belongs to it is kept first, then it is committed."""
        if self.checkpoints is None:
            self._send(Commit(barrier))
        elif not self.checkpoints.is_void(barrier) and self._writing is None:
            self._writing = barrier
            self._actions.append(WriteCheckpoint(barrier, taken))

    def _checkpoint_written(self, barrier: int, error: BaseException | None, now: float) -> None:
        assert self.checkpoints is not None
        if error is not None:
            self._fail(error, now)
            return
        self.checkpoints.complete(now)
        for old in [each for each in self.snapshots if each <= barrier]:
            del self.snapshots[old]
        self._send(Commit(barrier))
        if self._suspends and self._goes_on():
            self.phase = RunPhase.SUSPENDED
            self._suspended = Suspended(self.checkpoints.where, barrier)
            self._deadline = now + GRACE_S
            self._send(Suspend())
        elif not self._asked:
            self._grant()

    def _decide(self) -> None:
        """All sinks have prepared: the commit is decided by a record in the store, or here if there is none."""
        if self.checkpoints is None:
            self._commit_end()
        else:
            self.phase = RunPhase.DECIDING
            self._writing = self.checkpoints.end()
            self._actions.append(WriteEnd(self._writing, self._tokens))

    def _end_written(self, error: BaseException | None, now: float) -> None:
        assert self.checkpoints is not None
        if error is None:
            self.checkpoints.made += 1
            self._commit_end()
        else:
            self.phase = RunPhase.PREPARING
            self._fail(error, now)

    def _commit_end(self) -> None:
        self.phase = RunPhase.COMMITTED
        self._send(Commit(END))

    # -- failures

    def _suspected(self, error: BaseException, rank: int, now: float) -> None:
        """Keeps an error that may be the consequence of another; the lowest rank wins after a moment."""
        if self._suspect is None or rank < self._suspect[1]:
            deadline = self._suspect[0] if self._suspect is not None else now + SUSPECT_S
            self._suspect = (deadline, rank, error)

    def _fail(self, error: BaseException, now: float) -> None:
        self._suspect = None
        if self.phase is RunPhase.SUSPENDED:
            return  # what fails behind the checkpoint is not part of it
        if self.failure is None:
            self.failure = error
            if self._may_abort():
                self._abort(now)

    def _may_abort(self) -> bool:
        """Whether nothing says otherwise: a record that is being written must not come to light after an abort."""
        return self.phase in (RunPhase.RUNNING, RunPhase.PREPARING) and self._writing is None

    def _abort(self, now: float) -> None:
        self.phase = RunPhase.ABORTED
        self._deadline = now + GRACE_S
        self._send(Abort())

    def _left(self) -> str:
        """Says in words what a lost worker leaves behind."""
        if self.checkpoints is not None:
            return f"launch again with --resume to go on from {self.checkpoints.describe()}"
        is_committed = self.phase in (RunPhase.DECIDING, RunPhase.COMMITTED)
        committed = "some sinks may have committed" if is_committed else "nothing was committed"
        return f"without checkpoints a lost worker ends the run, and {committed}"
