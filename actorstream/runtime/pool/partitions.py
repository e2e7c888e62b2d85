"""The partitions of a pooled operator that have something to do, as a hybrid worklist hands them to threads
(ordered-multicore section 4.3). A partition is a replica with a state; how many there are has nothing to do with threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.native.worklist import Work, Worklist

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.runtime.pool.unit import PooledUnit


class Partitions:
    """Units of one operator, each with one thread at a time, in the order in which they got something to do.

    A unit waits in the list once, however much came for it: who gets it works off what is there, and who leaves it pushes
    it again if more is. All of it under the pool's lock.
    """

    def __init__(self, units: Sequence[PooledUnit]) -> None:
        self.units = units
        self.backlog = 0.0
        """Tuples at the inputs of those that wait here, about."""
        self._numbers = {id(unit): number for number, unit in enumerate(units)}
        # a unit may wait once more while it is worked on
        self._list = Worklist("hybrid", 1 << (2 * len(units) - 1).bit_length(), len(units))
        self._rows: list[float | None] = [None] * len(units)
        """Of the units that wait: what was counted at their inputs."""
        self._inside: dict[int, Work] = {}
        """Number of a unit -> what its thread got it by."""

    def push(self, unit: PooledUnit) -> None:
        """There is something to do for a unit; if it waits already, it is counted again."""
        number = self._numbers[id(unit)]
        before = self._rows[number]
        if before is None:
            self._list.push(number, number)
        self._rows[number] = rows = unit.count_waiting()
        self.backlog += rows - (before or 0.0)

    def pop(self) -> PooledUnit | None:
        """A unit that nobody works on, for the caller alone until he leaves it; None: there is none."""
        work = self._list.pop()
        return None if work is None else self._taken(work)

    def leave(self, unit: PooledUnit) -> None:
        """The thread has come out of a unit. What was delegated to it meanwhile must be pushed again."""
        work: Work | None = self._inside.pop(self._numbers[id(unit)])
        while work is not None and (work := self._list.done(work)) is not None:
            self._taken(work)
        self._inside.pop(self._numbers[id(unit)], None)

    def waiting(self) -> int:
        """Units that may be had now, about."""
        return self._list.ready()

    def _taken(self, work: Work) -> PooledUnit:
        self.backlog -= self._rows[work.partition] or 0.0
        self._rows[work.partition] = None
        self._inside[work.partition] = work
        return self.units[work.partition]
