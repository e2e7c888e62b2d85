"""What comes of one cause comes behind it: the outputs of a synchronization plan's workers at their consumer. No order of
its own name in a topology: inputs from a program have it.

Each hand-over bears the clock of its sender (Lamport): if one worker hands over, and then says something that makes another
hand over, the second bears a greater time. So the least head goes first. That nothing less is on its way on an empty lane
follows from the channels: what was handed over before can be seen before. So nobody waits for a promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CausalOrder:
    """Lanes of one group, workers of one program, go by the clock in `serial` of their heads; groups take turns.

    Args:
        groups: indices of lanes that belong together. Any other lane is a group by itself.
    """

    def __init__(self, lanes: list[Any], groups: Sequence[Sequence[int]]) -> None:
        together = {index for group in groups for index in group}
        alone = [[lane] for index, lane in enumerate(lanes) if index not in together]
        self._groups = alone + [[lanes[index] for index in group] for group in groups]
        self._turn = 0

    def next(self) -> Any | None:
        groups = self._groups
        for _ in groups:
            self._turn = (self._turn + 1) % len(groups)
            found = self._first(groups[self._turn])
            if found is not None:
                return found
        return None

    @staticmethod
    def _first(lanes: list[Any]) -> Any | None:
        """The lane with the least head. An empty lane is looked at again after each lesser head that was seen: what is
        before that one can be seen by then."""
        empty = [lane for lane in lanes if not (lane.held or lane.ended)]
        first, least = None, 0
        while True:
            before, rest = first, []
            for lane in empty:
                head = lane.head()
                if head is None:
                    rest.append(lane)
                elif first is None or head.serial < least:
                    first, least = lane, head.serial
            if first is before:
                return first
            empty = rest
