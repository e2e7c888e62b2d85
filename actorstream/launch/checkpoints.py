"""Checkpoints of a run: when the next barrier is due, and what is kept once all replicas have passed it.

Holds no data of its own for long, and moves none: the workers send what they keep, the store writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.checkpoint.checkpoint import Checkpoint, KeptProgram, ReplicaState, StateFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.checkpoint.store import CheckpointStore
    from actorstream.runtime.compile import Job
    from actorstream.runtime.control import Snapshot

_Kept = tuple[bytes, bytes | None, StateFile | None]
"""State, token and file of a replica."""


class Checkpoints:
    """Makes a checkpoint every so many seconds, one at a time, from the barriers of a run.

    Args:
        job: what runs. store: where they go. every: seconds from the end of one to the begin of the next.
    """

    def __init__(self, job: Job, store: CheckpointStore, every: float) -> None:
        self.job, self.store, self.every = job, store, every
        last = store.latest() if job.restored is None else job.restored
        self.first = self.number = last.number if last is not None else 0
        """Of the last barrier that was started; numbers go on where the store's end."""
        self.made = 0
        self._next: float | None = None
        self._under_way = False
        self._last: int | None = None
        self._programs = {
            name: KeptProgram(program.planned, program.says()) for name, program in job.programs.items()
        }
        self._wishes = any(hasattr(each.program, "checkpoint") for each in job.programs.values())

    def due(self, now: float) -> int | None:
        """The barrier to start at `now` (seconds), if it is time; the first time counts from the first call."""
        if self._next is None:
            self._next = now + self.every
        return self.start() if now >= self._next else None

    def start(self) -> int | None:
        """The barrier to start now, unless one is under way."""
        if self._under_way:
            return None
        self._under_way = True
        self.number += 1
        return self.number

    def stop(self) -> None:
        """Sources are told to end early: the run is not to go on from behind that, should it fail before its end."""
        self._last = self.number

    def is_void(self, barrier: int) -> bool:
        """Whether `barrier` was started behind the early end of sources, by a program."""
        return self._last is not None and barrier > self._last

    def grant(self) -> int | None:
        """The barrier that a program may start when it wants a checkpoint; None: not now, or none would."""
        return None if self._under_way or not self._wishes else self.number + 1

    def begun(self, barrier: int) -> bool:
        """A program has started a barrier; whether the sources have to be told."""
        if barrier != self.number + 1:
            return False  # it was due anyhow
        self._under_way = True
        self.number = barrier
        return True

    def complete(self, barrier: int, taken: Mapping[int, Snapshot], now: float) -> None:
        """All replicas have passed `barrier`: writes the checkpoint. RunError: it cannot be written."""
        states = {number: (each.state, each.token, each.file) for number, each in taken.items()}
        self._write(barrier, states, ended=False)
        self._under_way = False
        self._next = now + self.every

    def end(self, tokens: Mapping[int, bytes]) -> None:
        """All input has ended and all sinks have prepared: what is left, should that fail, is to commit `tokens`."""
        self.number += 1
        states = {each.id: (b"", tokens.get(each.id), None) for each in self.job.plan.replicas}
        self._write(self.number, states, ended=True)

    def describe(self) -> str:
        """What a run would go on from, in words."""
        return (
            f"the last of {self.made} checkpoints of this run"
            if self.made
            else "where this run went on from, or anew"
        )

    def _write(self, number: int, states: Mapping[int, _Kept], *, ended: bool) -> None:
        job = self.job
        replicas = tuple(ReplicaState(each.actor, each.index, *states[each.id]) for each in job.plan.replicas)
        graph = job.graph
        self.store.write(Checkpoint(graph.name, graph.fingerprint, number, ended, replicas, self._programs))
        self.made += 1
