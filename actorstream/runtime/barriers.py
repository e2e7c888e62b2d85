"""The barriers of one worker: sources start them, every replica's state is taken as they pass, and is given back before the run
that resumes. Decides no routes, and not whether a checkpoint fits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.actors.operator_errors import HookOf
from actorstream.checkpoint.checkpoint import check_share
from actorstream.checkpoint.store import LARGE, pieces_of, values_of
from actorstream.control.messages import Begun, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actorstream.checkpoint.checkpoint import Checkpoint, StateFile
    from actorstream.checkpoint.state_writer import StateWriter
    from actorstream.control.link import ControlLink
    from actorstream.runtime.ending import TwoPhase
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.unit import Unit


class Barriers:
    """Starts barriers and hands snapshots to the coordinator.

    Args:
        process: which worker. control: link to the coordinator; None when embedded, where nobody collects.
        sinks: what the worker's sinks have prepared. writer: keeps large states; None: there is no store."""

    def __init__(
        self, process: int, control: ControlLink | None, sinks: TwoPhase, writer: StateWriter | None = None
    ) -> None:
        self.process, self.control, self.sinks, self.writer = process, control, sinks, writer
        self.granted = 0
        """The barrier that a program may start when it wants a checkpoint (`Program.checkpoint`)."""
        self._asked: list[int] = []
        self._units: list[Unit] = []

    def ask(self, barrier: int) -> None:
        """Every source of this worker starts `barrier`, as soon as units run; what has ended keeps its last state."""
        self._asked.append(barrier)
        for unit in self._units:
            self._start(unit, barrier)

    def open(self, units: list[Unit]) -> None:
        """Units run from now on."""
        self._units = units
        for barrier in self._asked:
            for unit in units:
                self._start(unit, barrier)

    def _start(self, unit: Unit, barrier: int) -> None:
        if unit.done:
            self._keep(unit, barrier)
        else:
            unit.start_barrier(barrier)

    def unit_done(self, unit: Unit) -> None:
        """A unit ended before some barriers reached it: no barrier will come any more."""
        for barrier in self._asked:
            self._keep(unit, barrier)

    def _keep(self, unit: Unit, barrier: int) -> None:
        if unit.barrier < barrier:
            unit.barrier = barrier
            for replica in unit.members:
                self.snapshot(replica, barrier)

    def begin(self, barrier: int) -> None:
        """A program starts the barrier that it was granted: the coordinator tells all sources."""
        if self.control is not None:
            self.control.send(Begun(self.process, barrier))

    def snapshot(self, replica: Replica, barrier: int, unit_state: Any = None) -> None:
        """Takes what a replica wants to keep at `barrier`; a sink also prepares what it has written so far.

        unit_state: what its unit keeps with it, if it has gathered that before."""
        token = self.sinks.prepare(replica, barrier) if replica.is_sink else None
        with HookOf(replica):
            state = {"state": replica.actor.snapshot(), "ended": replica.ended}
            if type(replica.actor).role == "source":
                state.update(replica.actor.kept_position(), share=list(replica.actor.share))  # type: ignore[attr-defined]
            if unit_state is not None:
                state["unit"] = unit_state
            elif replica.unit is not None:
                state["unit"] = replica.unit.snapshot(replica)
            if replica.stamp is not None and (sent := replica.stamp.snapshot()) is not None:
                state["sent"] = sent
            pieces = [b"", msgspec.msgpack.encode(state)] if self.writer is None else pieces_of(state)
            encoded = msgspec.msgpack.encode(token) if replica.is_sink else None
        if self.control is None:
            return
        if self.writer is None or sum(map(len, pieces)) < LARGE:
            self.control.send(Snapshot(self.process, replica.id, barrier, bytes(pieces[1]), encoded))
        else:
            self.writer.write(
                barrier, replica.id, pieces, partial(self._written, replica.id, barrier, encoded)
            )

    def _written(self, replica: int, barrier: int, token: bytes | None, file: StateFile) -> None:
        if self.control is not None:
            self.control.send(Snapshot(self.process, replica, barrier, b"", token, file))

    async def wait_written(self) -> None:
        """Until the coordinator has been told of every state that was taken."""
        if self.writer is not None:
            await self.writer.wait_idle()


def restore_replicas(checkpoint: Checkpoint, replicas: Iterable[Replica]) -> None:
    """Gives each replica, and the unit whose head it is, what was kept. Sources, which are open, go to where they were.

    A sink commits what it had prepared, which it may have done already.

    Raises:
        OperatorError: a hook raised; it names the actor.
    """
    by_replica = {(each.actor, each.index): each for each in checkpoint.replicas}
    for replica in replicas:
        if replica.name in checkpoint.programs:
            continue  # as a whole: runtime/dependency/checkpoint.py
        mine = by_replica[replica.name, replica.replica]
        values = values_of(mine)
        with HookOf(replica):
            _restore(replica, values)
            if mine.token is not None and (token := msgspec.msgpack.decode(mine.token)) is not None:
                replica.actor.commit(token)  # type: ignore[attr-defined]


def _restore(replica: Replica, state: dict[str, Any]) -> None:
    replica.ended = state["ended"]
    if "positions" in state:
        check_share(state["share"], replica.actor.share, ended=replica.ended)  # type: ignore[attr-defined]
        replica.actor.take_back(state)  # type: ignore[attr-defined]
    if state["state"] is not None:
        replica.actor.restore(state["state"])
    if replica.stamp is not None and "sent" in state:
        replica.stamp.restore(state["sent"])
    unit: Any = replica.unit
    if unit is not None and unit.head is replica and state.get("unit") is not None:
        unit.restore(state["unit"])
