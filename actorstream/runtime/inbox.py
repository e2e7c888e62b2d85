"""The receiver's side of an order. An inbox decides which rows the head of a unit gets next, when a barrier is passed and how
far event time has got, and it says what a checkpoint keeps of the rows that wait. It reads no clock, runs no hook and never
waits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from actorstream.checkpoint.alignment import Alignment
from actorstream.transports.base import FRONTIER_MIN, FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.transports.base import Frame


class Step(IntEnum):
    """What an inbox has for its unit."""

    NOTHING = 0
    """Nothing to give until a lane brings something."""
    AGAIN = 1
    """The inbox took something in and may have more: call `next` again."""
    ROWS = 2
    """Rows for the head: `batch`, of the input `source`."""
    TIME = 3
    """Event time has reached `time`, behind the rows given so far."""
    BARRIER = 4
    """All rows before `barrier` have been given."""
    END = 5
    """All input has ended."""


class Ports(Protocol):
    """What an inbox tells its unit."""

    def tell_idle(self, count: int) -> None:
        """The input has become idle (odd `count`), or busy again (even)."""

    def late(self, batch: Batch) -> None:
        """Passes on rows that came too late to get their place."""


class Inbox(ABC):
    """The input of one unit.

    Attributes:
        lanes: the lanes of all inputs.
        batch, source, time, barrier: what the last step gave; `source` is the name of the input.
    """

    by_time: ClassVar[bool] = False
    """Whether event time matters whoever listens, since it decides the order."""
    by_number: ClassVar[bool] = False
    """Whether the outputs of some rows must be sent before the next rows are given."""
    passes_singles = False
    """Whether a single event may go to the hook at once, because no other row can have a place before it."""
    follows_while_blocked: ClassVar[bool] = False
    """Whether the unit goes on promising event time while an output is full."""

    batch: Batch
    source: str
    time = FRONTIER_MIN
    barrier = 0

    def __init__(self, lanes: list[Any]) -> None:
        self.lanes: list[Any] = lanes
        self.alignment = Alignment(lanes)
        self._due: deque[tuple[Step, int]] = deque()
        """Steps with their times or barriers, which are given before anything else, in this order."""

    @abstractmethod
    def next(self) -> Step:
        """Returns the next step; `batch` and `source`, `time` or `barrier` say what it gives."""

    def done(self) -> None:
        """The unit no longer needs the room of the rows that were given last; it may go back to their sender."""

    def admits(self, lane: Any) -> bool:
        """Whether rows for an empty lane may be given to the head at once, since nothing has a place before them."""
        return False

    def admitted(self, lane: Any, batch: Batch) -> Batch:
        """Rows that go to the head by this way, as they go on."""
        return batch

    def passed(self) -> None:
        """The unit has passed on the barrier that was given last."""

    def look(self) -> None:
        """Looks at what has come although an output is full, so that consumers still hear what it promises."""

    def follow(self, rest: tuple[Batch, int] | None, *, resting: bool) -> int | None:
        """Returns how far event time has got, or None if it has got no further.

        Args:
            rest: the batch whose events are being run, and how many of them have been; None: no batch is half done.
            resting: whether `next` has just returned NOTHING.
        """
        return None

    def snapshot(self) -> Any:
        """What a checkpoint keeps of the rows that wait here, as plain values; None: nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Restores what `snapshot` returned when the checkpoint was made."""

    # -- for orders

    def _give(self, batch: Batch, source: str) -> Step:
        self.batch, self.source = batch, source
        return Step.ROWS

    def _take_due(self) -> Step:
        """Returns the first step that is due; AGAIN if there is none."""
        if not self._due:
            return Step.AGAIN
        step, value = self._due.popleft()
        if step is Step.BARRIER:
            self.barrier = value
        elif step is Step.TIME:
            self.time = value
        return step

    def _complete(self, barrier: int | None) -> None:
        """Gives `barrier` next: all lanes have brought it. None: some lane has not."""
        if barrier is not None:
            self._due.append((Step.BARRIER, barrier))

    def _mark(self, lane: Any, frame: Frame) -> Step:
        """Takes a barrier or end mark off a lane, and returns the step that follows from it."""
        lane.consume()
        if frame.kind == FrameKind.BARRIER:
            self._complete(self.alignment.deliver(lane, frame.barrier))
        elif frame.kind == FrameKind.END:
            lane.ended = True
            self._complete(self.alignment.ended(lane))
            if self._has_ended():
                self._due.append((Step.END, 0))
        return self._take_due()

    def _has_ended(self) -> bool:
        """Whether all input has been given; asked when a lane ends."""
        return all(each.ended for each in self.lanes)
