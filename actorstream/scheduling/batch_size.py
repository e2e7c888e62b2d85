"""How many rows a source takes at once: a number that somebody has set, or one that follows from what batches have cost.
Pure: times are arguments.

A batch of n rows costs F + r·n: a fixed part, and a part for each row, which grows where a batch is larger than a cache.
At full load the best size has the least cost a row. At a lower load smaller batches are sooner done, as long as their
fixed parts leave enough time."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol

from actorstream.scheduling.size_search import MOST, SAMPLE_NS, SizeSearch, level_above, level_within, rows_at

PRESSED, RELAXED = 8, 64
"""Batches between two looks at whether consumers keep up, while they do not and while they do."""
FIRST_BATCHES = 3
"""Not measured: the first batch of a source may open files and import modules."""
DECAY = 0.95
"""What a batch's cost still counts once another one was measured."""
WINDOW_NS, WORTH_NS = 50_000_000, 2_000_000
"""FoundSize looks once in such a window whether its source is held up; a batch then gives the pipeline so much to do at least."""
UTILISED = 0.8
"""The most of the time that batches may take at a paced source, if it is to have little latency."""
LONG_NS = 1 << 61
"""Longer than any turn."""
SMALL = 0.02
"""What part of a batch's cost a fixed part is that does not matter."""
HARDLY_LESS = 0.98
"""A larger batch must have so much of the latency to be worth it."""
DRAWN = 12
"""Sizes that are drawn have fewer bits."""


class BatchSize(Protocol):
    """How many rows are taken at once.

    Attributes:
        rows: to be taken next.
        follows_cost: whether `took` is to be called. follows_load: whether `behind` is.
        turn_ns: how long batches of this size may be taken without being asked for another size; 0: for one batch."""

    rows: int
    follows_cost: bool
    follows_load: bool
    turn_ns: int

    def took(self, rows: int, began: int, ended: int, batches: int = 1) -> None:
        """So many batches with so many rows were read and sent between two times, in ns."""

    def rested(self) -> None:
        """There was nothing to read."""

    def waited(self, ns: int) -> None:
        """The thread slept for so long because the source waited for a consumer."""

    def behind(self, *, behind: bool) -> None:
        """Whether the consumers had anything left to do when a batch was to be sent to them."""


class FixedSize:
    """A number of rows that somebody has set."""

    __slots__ = ("rows",)
    follows_cost = follows_load = False
    turn_ns = LONG_NS

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def took(self, rows: int, began: int, ended: int, batches: int = 1) -> None:
        """It does not matter."""

    def rested(self) -> None:
        """It does not matter."""

    def waited(self, ns: int) -> None:
        """It does not matter."""

    def behind(self, *, behind: bool) -> None:
        """It does not matter."""


class DrawnSize:
    """Another size for each batch, from 1 to 4095 rows, for tests: no result may depend on it."""

    __slots__ = ("_dice", "rows")
    follows_cost, follows_load = True, False
    turn_ns = 0

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self.rested()

    def took(self, rows: int, began: int, ended: int, batches: int = 1) -> None:
        self.rested()

    def rested(self) -> None:
        bits = self._dice.randrange(1, DRAWN + 1)
        self.rows = self._dice.randrange(1 << bits - 1, 1 << bits)

    def waited(self, ns: int) -> None:
        """It does not matter."""

    def behind(self, *, behind: bool) -> None:
        """It does not matter."""


class FoundSize:
    """The size with the least cost a row, of a source that is read as fast as possible. A batch costs the time since
    the last one was sent, so that what its worker's other units and its consumers take counts as much as they hold the source up.

    Consumers work in turns, on batches that were sent long before, so the search does not see what a small batch costs them.
    A source is held up if a quarter of all time or more passes between its batches. Its batches then have rows for WORTH_NS
    of the pipeline's time at least, so that what each batch costs on its way, whatever its rows, is a small part.

    Args:
        most: rows that a batch may have. busy_ns: the clock of `SizeSearch`.
        near: being held up makes no batch larger than so many rows."""

    __slots__ = ("_ended", "_near", "_search", "_window", "rows", "turn_ns", "waited")
    follows_cost, follows_load = True, False

    def __init__(self, most: int, busy_ns: Callable[[], int], near: int = MOST) -> None:
        self._search = SizeSearch(busy_ns, level_within(most))
        self._near = near
        self._window = (0, 0, 0)
        """Of the window that has begun: rows, ns, and how many of these ns passed between batches."""
        self.waited = self._search.waited
        self._ended = 0
        """When the last batch was sent; 0: the source has rested since."""
        self.rows, self.turn_ns = self._search.rows, SAMPLE_NS

    def took(self, rows: int, began: int, ended: int, batches: int = 1) -> None:
        if self._ended:
            search = self._search
            search.took(rows, ended - self._ended, batches)
            self._look(rows, ended - self._ended, began - self._ended)
            self.rows, self.turn_ns = search.rows, SAMPLE_NS if search.hurries else LONG_NS
        self._ended = ended

    def _look(self, rows: int, ns: int, between: int) -> None:
        """So many rows took so long, of which some time passed before they were read."""
        all_rows, passed, apart = self._window
        all_rows, passed, apart = all_rows + rows, passed + ns, apart + between
        if passed < WINDOW_NS:
            self._window = all_rows, passed, apart
            return
        self._window = 0, 0, 0
        worth = all_rows * WORTH_NS // passed if apart * 4 > passed else 0
        self._search.keep_above(level_within(min(worth, self._near)))

    def rested(self) -> None:
        self._search.interrupted()
        self._ended, self._window = 0, (0, 0, 0)

    def behind(self, *, behind: bool) -> None:
        """The time until the next batch says it."""


class PacedSize:
    """The size with the least latency at a rate: of a source that is read at a pace.

    With F and r fitted to what batches have cost, batches of n rows take S = F + r·n and keep the source busy for u = rate·S/n
    of the time. A row then takes about S·(1 + u/(2 - 2u)): as with a queue whose batches come at even intervals and take
    almost as long each. While consumers are behind, batches are larger, since each costs them something, too.

    Args:
        rate: rows a second. most: rows that a batch may have."""

    __slots__ = ("_batches", "_behind", "_fit", "_levels", "_most", "_rate", "rows")
    follows_cost = follows_load = True
    turn_ns = LONG_NS

    def __init__(self, rate: float, most: int) -> None:
        self._rate, self._most = rate / 1e9, level_within(most)
        self._fit = CostFit()
        self._levels = 0
        """How much larger batches are because consumers are behind."""
        self._batches = self._behind = 0
        self.rows = rows_at(0)

    def took(self, rows: int, began: int, ended: int, batches: int = 1) -> None:
        self._fit.took(rows // batches, (ended - began) // batches)
        self._batches += 1
        if self._batches % PRESSED:
            return
        if self._behind * 2 > PRESSED:
            self._levels = min(self._levels + 1, self._most)
            self._batches = 0
        elif self._batches >= RELAXED:
            self._levels = max(0, self._levels - 1)
            self._batches = 0
        self._behind = 0
        self.rows = rows_at(min(self._quickest() + self._levels, self._most))

    def rested(self) -> None:
        """Batches that are smaller than they may be cost what they cost."""

    def waited(self, ns: int) -> None:
        self._behind += 1

    def behind(self, *, behind: bool) -> None:
        self._behind += behind

    def _quickest(self) -> int:
        """The level of the least latency; if the source cannot keep up with any, the least with a small fixed part."""
        fixed, each = self._fit.fixed, self._fit.each
        best, least = -1, float("inf")
        for level in range(self._most + 1):
            rows = rows_at(level)
            takes = fixed + each * rows
            used = self._rate * takes / rows
            latency = takes * (1 + used / (2 - 2 * used)) if used < UTILISED else float("inf")
            if latency < HARDLY_LESS * least:
                best, least = level, latency
        return best if best >= 0 else min(self._most, level_above(int(fixed / max(SMALL * each, 1e-9))))


class CostFit:
    """A straight line through (rows, ns) of the last batches: what they cost whatever their size, and what each row does."""

    __slots__ = ("_n", "_x", "_xx", "_xy", "_y", "_young", "each", "fixed")

    def __init__(self) -> None:
        self._young = FIRST_BATCHES
        """Batches that are not measured yet."""
        self._n = self._x = self._y = self._xx = self._xy = 0.0
        self.fixed = self.each = 0.0

    def took(self, rows: int, ns: int) -> None:
        """A batch of so many rows has taken `ns`. What takes very much longer than expected, as where something else got the
        processor, counts as four times what was expected."""
        if self._young:
            self._young -= 1
            return
        if self._n > 2:
            ns = min(ns, int(4 * (self.fixed + self.each * rows)) + 1000)
        self._n = DECAY * self._n + 1
        self._x = DECAY * self._x + rows
        self._y = DECAY * self._y + ns
        self._xx = DECAY * self._xx + rows * rows
        self._xy = DECAY * self._xy + rows * ns
        spread = self._n * self._xx - self._x * self._x
        mean = self._y / self._n
        if spread > 0.01 * self._x * self._x:
            self.each = max(0.0, (self._n * self._xy - self._x * self._y) / spread)
        else:  # all of one size: what a row costs is as it was
            self.each = min(self.each, self._y / self._x if self._x else 0.0)
        self.fixed = max(0.0, mean - self.each * self._x / self._n)
