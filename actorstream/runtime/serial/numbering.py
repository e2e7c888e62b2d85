"""The stamps of serial order: the numbering point gives serial numbers, the actors behind it keep them, and rows carry
their place within a number.

A number on the wire is hand-over x phases + phase. Rows that descend from the hand-over's rows have phase 0. Rows that an
actor fires at a heartbeat behind them have phase 1 + the actor's rank, so that rows fired further down come later. Rows that
actors emit at their end have a hand-over of their own behind all others.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.interleaved import cut
from actorstream.ordering.serial import NO_BOUND
from actorstream.plan.channels import SERIAL_WORD
from actorstream.runtime.lineage import dropped
from actorstream.runtime.stamp import REPLICA_SHIFT, Stamp
from actorstream.topology.serial import POSITION

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.routing import Router
    from actorstream.runtime.send_lane import SendLane
    from actorstream.topology.serial import Numbered

END_HAND_OVER = 1 << 46
"""The hand-over of rows that are emitted at the end; with up to 65,536 actors its numbers are positive int64."""
ASIDE_HOOKS = ("on_start", "on_timer", "on_message")
"""Hooks whose rows belong to no serial number of the input."""
MOST_ROWS, MOST_BATCHES, SHARE = 65_536, 16, 16
"""The bounds of a serial number: rows, full jumbo tuples, and the part of all rows so far (one in `SHARE`). The last one lets
replicas share a small input. A single jumbo tuple is always admitted."""
ASIDE = -(1 << 62)
"""Where the positions begin of rows that a timer brings: before the number's other rows."""


class Numbering:
    """The number that one unit works on, behind one numbering point, and the number that it has promised.

    Before rows of a number are sent on any lane, the number is promised on all lanes. So no consumer waits for a lane whose
    rows are held up behind another consumer that waits. All lanes count as promised 0 from the start.

    Attributes:
        number: of the rows that are being emitted.
        is_open: whether a number is being worked on. If not, emitted rows come from a timer and get the next number.
        promised: no lower number will be sent.
    """

    __slots__ = ("is_open", "lanes", "number", "phases", "promised")

    def __init__(self, phases: int) -> None:
        self.phases = phases
        self.number = self.promised = 0
        self.is_open = False
        self.lanes: list[SendLane] = []

    def open(self, number: int) -> None:
        """Rows that are emitted from now on are of this number."""
        self.number, self.is_open = number, True

    def promise(self, number: int) -> None:
        """Promises on every lane that no lower number follows. A lower promise changes nothing, and neither does `NO_BOUND`: the
        last rows are still to come."""
        if self.promised < number < NO_BOUND:
            self.promised = number
            for lane in self.lanes:
                lane.promise(SERIAL_WORD, number)

    def shuffle(self, consumers: int) -> Router:
        """The route `shuffle` of a serial edge: all rows of a number go to one consumer, the consumers in turn."""
        return lambda batch: [(self.number // self.phases % consumers, batch)]


class SerialStamp(Stamp):
    """Gives the rows that a replica emits into a serial region their place in it."""

    in_band = True

    def __init__(self, replica: Replica, numbering: Numbering, described: Numbered) -> None:
        super().__init__(replica)
        self.numbering, self.described = numbering, described
        self.settles = not described.numbers
        self.columns = described.columns
        own = bool(self.columns) and (described.places or described.ordinal != "")
        self.places_rows = described.numbers or own
        self.base = replica.replica << REPLICA_SHIFT
        self.own_phase = 1 + described.rank
        self.is_aside = False
        """Whether rows belong to no serial number of the input."""
        self._count = 0

    def forward(self, batch: Batch, output: str) -> None:
        try:
            self.give(batch.sealed(), output)  # type: ignore[arg-type]
        except SchemaError as error:
            raise self.replica.unfit(error) from error

    @abstractmethod
    def give(self, batch: Batch, output: str) -> None:
        """Sends the rows, while `numbering.number` is theirs."""

    def begins(self, hook: str) -> None:
        self.is_aside = hook in ASIDE_HOOKS

    def ends(self, hook: str) -> None:
        self.is_aside = False

    def _running(self, rows: int) -> np.ndarray:
        first = self._count
        self._count = first + rows
        return np.arange(first, first + rows)


class Numberer(SerialStamp):
    """The stamp of the numbering point. Batches that it emits in one turn share a serial number, as far as bounds allow.

    Each number passes every inbox behind the point by itself, which costs as much for one batch as for many.

    Args:
        batch_size: rows that a batch at most has; larger ones are cut.
        most_bytes: that the batches of a number have together, since inboxes hold the rows of a number that is not complete.
    """

    def __init__(
        self, replica: Replica, numbering: Numbering, described: Numbered, batch_size: int, most_bytes: int
    ) -> None:
        super().__init__(replica, numbering, described)
        self.batch_size, self.most_bytes = batch_size, most_bytes
        self._hand_over = 0
        self._rows = 0
        """Rows that the open number has; 0: no number is open."""
        self._bytes = self._emitted = 0
        """Bytes that the open number has, and rows that all numbers have."""
        self._ended = False

    def give(self, batch: Batch, output: str) -> None:
        limit = self.batch_size
        for first in range(0, batch.rows, limit):
            part = cut(batch, first, min(limit, batch.rows - first))
            nbytes = part.nbytes
            if self._rows and not self._admits(part.rows, nbytes):
                self.close()
            if not self._rows:
                self.numbering.open(self._hand_over * self.numbering.phases)
            at = self._rows
            self._rows += part.rows
            self._bytes += nbytes
            self._emitted += part.rows
            if self.columns:
                part = part.with_system(**{POSITION: np.arange(at, self._rows)})
            self.replica.send(part, output)
            if self._ended:
                self.close()

    def _admits(self, rows: int, nbytes: int) -> bool:
        """Whether the open number may have these rows too."""
        most = min(self._emitted // SHARE, self.batch_size * MOST_BATCHES, MOST_ROWS)
        return self._rows + rows <= most and self._bytes + nbytes <= self.most_bytes

    def promise(self, frontier: int) -> None:
        self.close()
        self.numbering.open(self._hand_over * self.numbering.phases + self.own_phase)
        super().promise(frontier)
        self._next()

    def end(self) -> None:
        self.close()
        self._ended = True

    def close(self) -> None:
        """No more rows get the open number, if there is one."""
        if self._rows:
            self._rows = self._bytes = 0
            self._next()

    def _next(self) -> None:
        self._hand_over += 1
        self.numbering.is_open = False
        self.numbering.promise(self._hand_over * self.numbering.phases)


class Follower(SerialStamp):
    """The stamp of actors behind the numbering point: rows keep the number of the rows that they descend from."""

    def __init__(self, replica: Replica, numbering: Numbering, described: Numbered) -> None:
        super().__init__(replica, numbering, described)
        self._number = -1

    def give(self, batch: Batch, output: str) -> None:
        numbering = self.numbering
        if not numbering.is_open:
            numbering.number = numbering.promised
        if numbering.number != self._number:
            self._number, self._count = numbering.number, 0
        self.replica.send(self._placed(batch) if self.columns else batch, output)

    def _placed(self, batch: Batch) -> Batch:
        described, rows = self.described, batch.rows
        phase = self._number % self.numbering.phases
        running = self._running(rows)
        system: dict[str, Any]
        if self.is_aside or not self.numbering.is_open or phase == self.own_phase:
            system = {name: np.zeros(rows, np.int64) for name in self.columns}
            if self.is_aside or not self.numbering.is_open:
                system[POSITION] = ASIDE + self.base + running
            else:
                times = batch.event_times()
                system[POSITION] = self.base + running if times is None else times
        elif described.places:
            system = {POSITION: self.base + running if phase else running}
        else:
            if POSITION not in batch.carried():
                raise dropped(batch, POSITION, "a serial edge")
            system = {}
        if described.ordinal:
            system[described.ordinal] = self.base + running
        return batch.with_system(**system) if system else batch

    def rises(self) -> None:
        numbering = self.numbering
        numbering.number += self.own_phase - numbering.number % numbering.phases
        numbering.promise(numbering.number)

    def end(self) -> None:
        numbering = self.numbering
        numbering.open(END_HAND_OVER * numbering.phases + self.own_phase)
        numbering.promise(numbering.number)
