"""How many rows a builder gathers for a consumer that has something to do. Pure: times are arguments.

A jumbo tuple costs both sides something whatever its size. So it should have the rows that come while a builder takes that
cost a few dozen times: then the fixed costs take a small part of the time, and rows wait no longer than that."""

from __future__ import annotations

from random import Random
from typing import Protocol

from actorstream.scheduling.batch_size import DRAWN, CostFit
from actorstream.scheduling.size_search import LEAST, MOST

TIMES = 64
"""Rows are gathered for so many times the fixed cost of sending a jumbo tuple."""
FIRST = 1024
"""Rows that are enough while nothing was measured."""
WHOLE = 16
"""A batch that need not be copied goes by itself from a part of `enough` on."""
NEW = 0.2
"""The part of the last gap in the mean time between rows."""
LONGEST_NS = 10_000_000
"""A gap between two jumbo tuples counts as this much at most."""


class GatheredSize(Protocol):
    """How large the jumbo tuples of one builder are.

    Attributes:
        most: rows of a jumbo tuple at most.
        enough: rows with which one is sent, even if its consumer has something to do.
        passing: rows with which a batch that need not be copied is sent by itself."""

    most: int
    enough: int
    passing: int

    def sent(self, rows: int, began: int, ended: int) -> None:
        """So many rows were made jumbo tuples and sent between two times."""


class FlowSize:
    """The size that follows from what sending costs and how fast rows come. `most`: rows that fit a budget or a cache."""

    __slots__ = ("_each", "_fit", "_last", "_room", "enough", "most", "passing")

    def __init__(self, room: int) -> None:
        self._fit = CostFit()
        self._room = max(LEAST, min(room, MOST))
        self._last, self._each = 0, 0.0
        """When rows were last sent, and the mean ns from row to row."""
        self.most = MOST
        self._use(FIRST)

    def sent(self, rows: int, began: int, ended: int) -> None:
        self._fit.took(rows, ended - began)
        if self._last:
            each = min(ended - self._last, LONGEST_NS) / rows
            self._each += NEW * (each - self._each) if self._each else each
            self._use(int(TIMES * self._fit.fixed / max(self._each, 1e-3)))
        self._last = ended

    def _use(self, rows: int) -> None:
        self.enough = max(LEAST, min(rows, self._room))
        self.passing = self.enough // WHOLE + 1


class DrawnFlow:
    """Other sizes for each jumbo tuple, for tests: no result may depend on them."""

    __slots__ = ("_dice", "enough", "most", "passing")

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self.sent(0, 0, 0)

    def sent(self, rows: int, began: int, ended: int) -> None:
        self.most = self._dice.randrange(1, 1 << self._dice.randrange(1, DRAWN + 1))
        self.enough = self._dice.randint(1, self.most)
        self.passing = self._dice.randint(1, self.most)
