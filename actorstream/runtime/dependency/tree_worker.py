"""A worker of a plan in this process, with its lanes and its links to neighbours. It carries nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.transports.base import FRONTIER_MIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.dgs.ticks import Ticks
    from actorstream.dgs.worker import WorkerProtocol
    from actorstream.plan.program_channels import StreamWords
    from actorstream.runtime.dependency.calls import ProgramCalls
    from actorstream.runtime.dependency.links import TreeReceiver, TreeSender
    from actorstream.runtime.dependency.tag_rows import TagRows
    from actorstream.runtime.ports import Promising
    from actorstream.runtime.send_lane import SendLane

EVERYTHING = 1 << 62
"""More bytes than any budget: a channel admits so many once everything before was consumed, and rings the doorbell then."""


class TreeWorker:
    """One worker of the plan here: its protocol, its lanes, and where its neighbours are.

    A neighbour is another TreeWorker of this unit, or the two ends of a link to another process."""

    def __init__(self, number: int, calls: ProgramCalls, protocol: WorkerProtocol) -> None:
        self.number, self.calls, self.protocol = number, calls, protocol
        self.replica = calls.replica
        self.lanes: list[TagRows] = []
        self.lanes_of: dict[int, list[tuple[TagRows, int]]] = {}
        """Tags that come on several lanes, and the frontier words that promise for them on each."""
        self.parent: TreeWorker | None = None
        self.which = 0
        """The number of this worker among its parent's children."""
        self.below: list[int] = []
        """The numbers of its children."""
        self.children: list[TreeWorker | None] = []
        self.up: TreeSender | None = None
        self.down: list[TreeSender | None] = []
        self.receivers: list[tuple[TreeReceiver, int]] = []
        """Links that bring messages, each with the number of the child, or -1 for the parent."""
        self.ticks: dict[int, Ticks] = {}
        """Tags of the ticks that this worker is responsible for."""
        self.tick_streams: list[tuple[TagRows, int, StreamWords]] = []
        """Frontier words that tell how far each stream is, if this worker is responsible for ticks."""
        self.sources: list[Promising] = []
        """The sources in this process that bring its rows."""
        self.outputs: list[SendLane] = []
        """Lanes on which its outputs have an order with those of other workers."""
        self.awaited: list[SendLane] = []
        """Those of them whose transport may deliver what follows from an output before the output itself."""
        self.queued = False
        self.promised = FRONTIER_MIN

    def put_out(self) -> bool:
        """Sends the worker's outputs where they must go before any message about its state; returns whether this is done: there
        was room for all of them, and their consumer has those that it might see too late."""
        self.calls.hand_on()
        cleared = [lane.clear() for lane in self.outputs]
        return all(cleared) and all(lane.channel.admits(EVERYTHING) for lane in self.awaited)

    def senders(self) -> list[TreeSender]:
        return [each for each in (self.up, *self.down) if each is not None]

    def neighbours(self) -> Iterator[tuple[TreeSender, TreeReceiver]]:
        """The two ends of each link to another process."""
        receivers = {child: receiver for receiver, child in self.receivers}
        for child, sender in enumerate((self.up, *self.down), -1):
            if sender is not None:
                yield sender, receivers[child]


def connect(workers: list[TreeWorker], parents: dict[int, int], children: dict[int, list[int]]) -> None:
    """Connects neighbours that are in this unit."""
    here: dict[int, Any] = {each.number: each for each in workers}
    for each in workers:
        below = each.below = children[each.number]
        each.children = [here.get(number) for number in below]
        each.down = [None] * len(below)
        if each.number in parents:
            above = parents[each.number]
            each.parent = here.get(above)
            each.which = children[above].index(each.number)
