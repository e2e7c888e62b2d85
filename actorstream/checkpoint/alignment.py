"""Barrier alignment: which lanes wait until a barrier has come in on all of them. Pure decision, no I/O, no clock.

A barrier splits a run into what belongs to a checkpoint and what does not (dgs-flumina appendix D.2; between
operators as in asynchronous barrier snapshots). A replica passes a barrier on once every lane has
delivered it or ended.
"""

from __future__ import annotations

from typing import Any

from actorstream.errors import BrokenError


class Alignment:
    """The barriers of one replica's lanes. `lanes` have an attribute `held`, which alignment owns."""

    def __init__(self, lanes: list[Any]) -> None:
        self.lanes = lanes
        self.barrier: int | None = None
        self._delivered: set[int] = set()

    def deliver(self, lane: Any, barrier: int) -> int | None:
        """Lane `lane` delivered `barrier`. Answers the barrier once all lanes have (and lets them go on), else None.

        BrokenError: a barrier overtook another, which a FIFO channel cannot do."""
        if self.barrier is None:
            self.barrier = barrier
        elif barrier != self.barrier:
            raise BrokenError(
                f"lane {lane.index} delivered barrier {barrier} while barrier {self.barrier} is being aligned; "
                "barriers must arrive in the same order on every channel"
            )
        lane.held = True
        self._delivered.add(lane.index)
        return self._complete()

    def ended(self, lane: Any) -> int | None:
        """Lane `lane` ended, so it delivers no more barriers; may complete the one that is being aligned."""
        return self._complete() if self.barrier is not None else None

    def _complete(self) -> int | None:
        if any(not lane.ended and lane.index not in self._delivered for lane in self.lanes):
            return None
        barrier, self.barrier = self.barrier, None
        self._delivered.clear()
        for lane in self.lanes:
            lane.held = False
        return barrier
