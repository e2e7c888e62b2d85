"""Writes the checkpoints of a run into its store. Decides nothing: the coordinator says what and when.

Holds no data of its own, and moves none: the workers send what they keep, the store writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.checkpoint.checkpoint import Checkpoint, KeptProgram, ReplicaState, StateFile
from actorstream.checkpoint.kept_topology import parts_of
from actorstream.control.checkpoints import Checkpoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.checkpoint.store import CheckpointStore
    from actorstream.control.messages import Snapshot
    from actorstream.plan.job import Job

_Kept = tuple[bytes, bytes | None, StateFile | None]
"""State, token and file of a replica."""


def checkpoints_of(job: Job, store: CheckpointStore, every: float) -> Checkpoints:
    """When the run of `job` makes checkpoints: every so many seconds, under numbers that go on where the store ends."""
    last = store.last() if job.restored is None else job.restored.number
    wishes = any(hasattr(each.program, "checkpoint") for each in job.programs.values())
    return Checkpoints(every, last or 0, wishes=wishes, where=store.path)


class CheckpointRecord:
    """The store of one run, as the host of its coordinator writes to it. RunError: it cannot be written."""

    def __init__(self, job: Job, store: CheckpointStore) -> None:
        self.job, self.store = job, store
        self._actors = parts_of(job.graph)
        self._programs = {
            name: KeptProgram(program.planned, program.says()) for name, program in job.programs.items()
        }

    def write(self, number: int, taken: Mapping[int, Snapshot]) -> None:
        """All replicas have passed barrier `number`."""
        states = {replica: (each.state, each.token, each.file) for replica, each in taken.items()}
        self._write(number, states, ended=False)

    def write_end(self, number: int, tokens: Mapping[int, bytes]) -> None:
        """All input has ended and all sinks have prepared: what is left, should that fail, is to commit `tokens`."""
        states = {each.id: (b"", tokens.get(each.id), None) for each in self.job.plan.replicas}
        self._write(number, states, ended=True)

    def _write(self, number: int, states: Mapping[int, _Kept], *, ended: bool) -> None:
        job = self.job
        replicas = tuple(ReplicaState(each.actor, each.index, *states[each.id]) for each in job.plan.replicas)
        made = (job.graph.name, self._actors, number, ended, replicas, self._programs, job.deploy.key_groups)
        self.store.write(Checkpoint(*made))
