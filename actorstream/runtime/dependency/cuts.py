"""Checkpoints of a program: the workers of a plan in one process take their share of a consistent cut. Nobody waits.

A cut begins where a barrier comes in first, from a source, a neighbour or the root itself, and goes through all workers
here at once: what they have is kept, and a mark goes to every neighbour behind what was said to it. Until its own
barrier or mark has come, what a source or a neighbour brings belongs to the checkpoint too (docs/dgs.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.dgs.checkpoint_state import KeptRows, KeptWorker
from actorstream.dgs.messages import StateDown, StateUp
from actorstream.events.batch import Batch
from actorstream.events.jumbo import to_bytes
from actorstream.metrics.counters import Counter
from actorstream.runtime.dependency.messages import Mark
from actorstream.runtime.dependency.share import Share
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.dgs.deployment import ProgramDeployment
    from actorstream.events.schema import Schema
    from actorstream.runtime.dependency.links import TreeReceiver
    from actorstream.runtime.dependency.messages import Message
    from actorstream.runtime.dependency.tag_rows import TagRows
    from actorstream.runtime.dependency.tree_worker import TreeWorker
    from actorstream.runtime.dependency.unit import ProgramUnit


class Cuts:
    """The checkpoints of one unit that are being made.

    Args:
        wires: by input, what its rows look like on the way.
    """

    def __init__(self, unit: ProgramUnit, deployment: ProgramDeployment, wires: Mapping[str, Schema]) -> None:
        self.unit, self.deployment, self.wires = unit, deployment, wires
        self._shares: dict[int, list[Share]] = {}

    def at_lane(self, lane: TagRows, barrier: int) -> None:
        """A source's barrier: all its rows before it have come."""
        self._begin(barrier)
        self._close(lane, barrier)

    def at_link(self, each: TreeWorker, receiver: TreeReceiver, child: int, message: Message) -> bool:
        """A neighbour's message; whether it is a mark, which is not for the worker itself."""
        if isinstance(message, Mark):
            self._begin(message.barrier)
            self._close(receiver, message.barrier)
            return True
        for share in receiver.shares:
            if isinstance(message, StateUp):
                share.state(each.below[child], message.state)
            elif isinstance(message, StateDown):
                share.state(each.number, message.state)
        return False

    def take(self, barrier: int) -> None:
        """The cut: between two steps of any worker here."""
        unit = self.unit
        unit.barrier = barrier
        for replica in unit.members:
            replica.dispatch()
        self._shares[barrier] = [self._share(each) for each in unit.workers]
        for each in unit.workers:
            for sender, receiver in each.neighbours():
                if not receiver.ended:
                    sender.say([Mark(barrier)])
        own = {each.replica for each in unit.workers}
        for replica in unit.members:
            replica.row[Counter.BARRIERS] += 1
            if replica not in own:
                unit.worker.barriers.snapshot(replica, barrier)
        unit.control(FrameKind.BARRIER, barrier)
        self.complete()

    def complete(self, *, over: bool = False) -> None:
        """Hands over what is whole. `over`: nothing follows any more, so all of it is."""
        for barrier, shares in list(self._shares.items()):
            for share in [each for each in shares if over or not each.open]:
                self.unit.worker.barriers.snapshot(share.each.replica, barrier, self._kept(share))
                shares.remove(share)
            if not shares:
                del self._shares[barrier]

    @property
    def open(self) -> bool:
        """Whether some checkpoint is not whole yet."""
        return bool(self._shares)

    def over(self, each: TreeWorker) -> KeptWorker:
        """What a worker keeps that has ended before a barrier came."""
        return self._kept(Share(each, each.replica.name))

    # -- inside

    def _begin(self, barrier: int) -> None:
        if barrier > self.unit.barrier:
            self.take(barrier)

    def _close(self, channel: TagRows | TreeReceiver, barrier: int) -> None:
        """Nothing more that a channel brings belongs to the checkpoint."""
        for share in self._shares.get(barrier, ()):
            if share in channel.shares:
                channel.shares.remove(share)
                share.close()
        self.complete()

    def _share(self, each: TreeWorker) -> Share:
        share = Share(each, f"{each.replica.name}, w{each.number}")
        for child, state in each.protocol.states():
            share.state(each.number if child < 0 else each.below[child], state)
        for tag, item in each.protocol.unfinished():
            share.add(tag, item.rest())
        channels: list[Any] = [lane for lane in each.lanes if not lane.closed]
        channels += [receiver for receiver, _ in each.receivers if not receiver.ended]
        for channel in channels:
            channel.shares.append(share)
        share.open = len(channels)
        return share

    def _kept(self, share: Share) -> KeptWorker:
        tags = self.deployment.tags
        return KeptWorker(
            share.done,
            share.states,
            tuple(self._rows(tag, batches) for tag, batches in share.rows.items()),
            {str(tags[tag]): ticks for tag, ticks in share.ticks.items()},
        )

    def _rows(self, tag: int, batches: list[Batch]) -> KeptRows:
        name = self.deployment.tags[tag]
        if name in self.deployment.ticks:
            return KeptRows(
                str(name),
                times=tuple(tick.time for batch in batches for tick in batch.events()),  # type: ignore[attr-defined]
            )
        stream = self.deployment.streams[self.deployment.ranks[name]]
        return KeptRows(str(name), to_bytes(batches, self.wires[stream.input]))
