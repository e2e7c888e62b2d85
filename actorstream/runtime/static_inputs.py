"""Static inputs of a unit's members: read whole before the unit takes its first event or reads its source.

Their rows are no part of the stream: they have no watermark, and a barrier in them says nothing, because what they
brought is complete before the first barrier of the stream can be taken.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING

from actorstream.errors import OperatorError
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.unit import Unit


class StaticInputs:
    """The channels of a unit's static inputs that have not ended yet."""

    def __init__(self) -> None:
        self.lanes: list[tuple[Replica, InLane]] = []

    def add(self, replica: Replica, lane: InLane) -> None:
        """Raises OperatorError for a hook that awaits."""
        if replica.calls[lane.input].is_async:
            message = f"its hook for the static input {lane.input!r} is async; allowed: a plain def"
            raise OperatorError(replica.name, replica.replica, message)
        self.lanes.append((replica, lane))

    def read(self, unit: Unit) -> bool | None:
        """Gives the hooks what waits, for one turn. True: all has been read; False: nothing waits; None: more waits,
        or an output is blocked."""
        deadline = monotonic_ns() + unit.worker.turn_ns
        for replica, lane in list(self.lanes):
            while (frame := lane.head()) is not None:
                if unit.blocked or monotonic_ns() > deadline:
                    return None
                if frame.kind == FrameKind.DATA:
                    replica.accept(lane.rows(frame), lane.input)
                lane.consume()
                if frame.kind == FrameKind.END:
                    self.lanes.remove((replica, lane))
                    break
        return not self.lanes
