"""A program goes on from a checkpoint: its one state, and the events that were not processed, on whatever plan it has now.

Reads what the checkpoint says; decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.checkpoint.store import values_of
from actorstream.dgs.checkpoint_state import KeptRows, KeptWorker, joined_state
from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.state_bytes import unpacked
from actorstream.events.batch import Batch
from actorstream.events.jumbo import from_bytes
from actorstream.runtime.dependency.tag_rows import DATA, Held
from actorstream.runtime.dependency.unit import ticks_of
from actorstream.topology.serial import POSITION

if TYPE_CHECKING:
    from actorstream.checkpoint.checkpoint import Checkpoint, ReplicaState
    from actorstream.dgs.tags import ImplementationTag
    from actorstream.events.schema import Schema
    from actorstream.runtime.dependency.tree_worker import TreeWorker


class RestoredProgram:
    """What a checkpoint has of one program.

    Attributes:
        done: it had ended: there is no state.
    """

    def __init__(self, checkpoint: Checkpoint, actor: str, deployment: ProgramDeployment) -> None:
        self.deployment = deployment
        self.kept_plan = checkpoint.programs[actor].plan
        workers = [
            _worker_of(each)
            for each in sorted(checkpoint.replicas, key=lambda each: each.index)
            if each.actor == actor
        ]
        self.done = workers[0].done
        self._states = {number: state for each in workers for number, state in each.states.items()}
        self._rows: dict[str, list[KeptRows]] = {}
        for rows in (rows for each in workers for rows in each.rows):
            self._rows.setdefault(rows.tag, []).append(rows)
        self._ticks = {tag: ticks for each in workers for tag, ticks in each.ticks.items()}

    def state(self) -> Any:
        """The root's, joined by the plan that the checkpoint is of."""
        before = ProgramDeployment(self.deployment.program, self.kept_plan)
        return joined_state(before, self._states, unpacked)

    def give(self, each: TreeWorker, tag: ImplementationTag, number: int, wire: Schema | None) -> None:
        """Gives a worker what was kept of one of its tags. `wire`: what the rows look like; None: ticks."""
        for rows in self._rows.get(str(tag), ()):
            if wire is None:
                each.protocol.insert(number, np.array(rows.times, np.int64), ticks_of(rows.times))
                continue
            batch = Batch.from_jumbo(wire, from_bytes(rows.rows))
            times: Any = batch.event_times()
            places = batch.system[POSITION].data if POSITION in batch.system else None
            each.protocol.insert(number, times, Held(DATA, batch, times), places, checked=True)
        if wire is None and str(tag) in self._ticks:
            following, bound = self._ticks[str(tag)]
            each.ticks[number].take_back(following, bound)
            each.protocol.promise(number, bound)


def _worker_of(replica: ReplicaState) -> KeptWorker:
    return msgspec.convert(values_of(replica)["unit"], KeptWorker)
