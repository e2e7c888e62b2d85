"""SizeSearch: finds the batch size with the least cost a row by trying sizes. Pure: the clocks are arguments.

Sizes are powers of two, `LEVELS` of them. The search first doubles the size as long as that pays. Then it keeps the smallest
size that costs hardly more than the best, and now and then compares it with its two neighbours, side by side in time, so
that neither a load that comes and goes nor a change of the work misleads it for long."""

from __future__ import annotations

from collections.abc import Callable

LEAST, MOST = 64, 262_144
"""Rows of a batch, at least and at most."""
LEVELS = (MOST // LEAST).bit_length() - 1
"""The greatest level: that of MOST rows. Level 0 has LEAST rows."""
FIRST = 2
"""The level of the first batches."""
SAMPLE_NS, SAMPLE_BATCHES = 400_000, 2
"""A measurement takes so long, and so many batches, at least."""
SAMPLES = 4
"""Measurements that are compared with as many others, by their lower quartiles: whatever disturbs them makes them greater."""
LONGEST_NS = 8_000_000
"""A batch that takes so long is not made larger: its fixed cost cannot matter."""
SKIPPED = 4
"""Batches after a change of size that are not measured, unless one of them takes as long as a measurement."""
UNLIKE = 1.3
"""A comparison whose result is so many times another than the last one takes its place."""
PAYS = 0.97
"""A larger size must cost less than this much of what the smaller one costs to count as better while the size grows."""
NEAR, STAYS = 1.03, 1.05
"""The smallest size is taken that costs less than NEAR times the best; it is kept while it costs less than STAYS."""
HELD, LONGEST_HELD = 16, 256
"""Measurements of the size taken between two comparisons with a neighbour: at first, and after many that changed nothing."""
OTHER = 2.0
"""A size that costs so many times more or less than before does other work: the search begins anew."""


def rows_at(level: int) -> int:
    """The rows of a level."""
    return LEAST << level


def level_above(rows: int) -> int:
    """The least level with as many rows; the greatest where none has."""
    return min(LEVELS, max(0, (max(rows, 1) - 1).bit_length() - LEAST.bit_length() + 1))


class SizeSearch:
    """The search of one source.

    Args:
        busy_ns: the processor time of the thread that does the work. That is what a batch costs, beside the time for which
            the source waited for a consumer; any other time a busy machine makes uncertain.
        most: the greatest level that may be tried.

    Attributes:
        rows: how many are to be taken next."""

    __slots__ = (
        "_batches",
        "_busy",
        "_clock",
        "_compared",
        "_cost",
        "_grown",
        "_held",
        "_level",
        "_long",
        "_most",
        "_ns",
        "_rows",
        "_samples",
        "_settled",
        "_skips",
        "_strange",
        "_up",
        "_waited",
        "_wished",
        "rows",
    )

    def __init__(self, busy_ns: Callable[[], int], most: int = LEVELS) -> None:
        self._clock, self._most = busy_ns, most
        self._busy = 0
        self._settled = 0
        """The level that was chosen."""
        self._begin(min(FIRST, most))

    def _begin(self, level: int) -> None:
        """Begins to grow from a level, with nothing known."""
        self._cost: dict[int, float] = {}
        """Level -> ns a row, of all levels that were tried, as of when the chosen one cost what it says."""
        self._grown, self._held = False, HELD
        self._compared: list[float] = []
        self._up = False
        self._wished = -1
        """A neighbour that was a little better when it was last compared."""
        self._strange = self._long = 0
        self._use(level)

    def _use(self, level: int) -> None:
        self._level = level
        self.rows = rows_at(level)
        self._samples: list[float] = []
        self._skips = SKIPPED  # what follows a change is partly of the size before, and its memory is new
        self._rows = self._ns = self._batches = 0
        self._waited = 0

    def waited(self, ns: int) -> None:
        """The thread slept for so long since the last batch, because the source waited for a consumer."""
        self._waited += ns

    def interrupted(self) -> None:
        """There was nothing to do: what was measured since the last measurement says nothing."""
        self._rows = self._ns = self._batches = 0
        self._skips, self._waited = max(self._skips, 1), 0

    @property
    def hurries(self) -> bool:
        """Whether the size still grows, so that measurements should be short."""
        return not self._grown

    def took(self, rows: int, ns: int, batches: int = 1) -> None:
        """So many batches with so many rows took `ns`, since those before them had been sent."""
        if self._skips:
            self._skips = max(0, self._skips - batches) if ns < SAMPLE_NS else 0
            if not self._skips:
                self._busy, self._waited = self._clock(), 0
            return
        self._rows += rows
        self._ns += ns
        self._batches += batches
        if self._ns < SAMPLE_NS or (self._batches < SAMPLE_BATCHES and self._ns < LONGEST_NS):
            return
        before, self._busy = self._busy, self._clock()
        spent = max(1, min(self._ns, self._busy - before + self._waited))
        self._waited = 0
        self._samples.append(spent / max(self._rows, 1))
        took = spent / self._batches
        self._rows = self._ns = self._batches = 0
        if took > 2 * LONGEST_NS and self._level:
            self._shrink(took)
        elif not self._grown:
            if len(self._samples) >= SAMPLES or took >= LONGEST_NS:
                cost = _low(self._samples)
                self._grow(cost, cost * self.rows)
        elif self._level == self._settled:
            self._hold(took)
        elif len(self._samples) >= SAMPLES:
            self._compare()

    def _shrink(self, took: float) -> None:
        """A batch takes far too long, for the second time: begins anew with one that does not."""
        self._long += 1
        if self._long > 1:
            self._begin(max(0, self._level - int(took / LONGEST_NS).bit_length()))

    # -- growing

    def _grow(self, cost: float, took: float) -> None:
        """A level was measured while the size grows: `cost` a row, `took` a batch, in ns."""
        level = self._level
        before = min(self._cost.values(), default=None)
        self._cost[level] = cost
        better = before is None or cost < PAYS * before
        ended = (
            not better
            and level - 1 in self._cost
            and self._cost[level - 1] > PAYS * _best_below(self._cost, level - 1)
        )
        if level < self._most and 2 * took < LONGEST_NS and not ended:
            halves = before is not None and cost < 0.7 * before
            self._use(min(level + (2 if halves else 1), self._most))
            return
        self._grown = True
        self._choose()

    def _choose(self) -> None:
        """Takes the smallest level that costs hardly more than the best."""
        best = min(self._cost.values())
        settled = min(level for level, cost in self._cost.items() if cost <= NEAR * best)
        self._settled = settled
        self._use(settled)

    # -- keeping a size

    def _hold(self, took: float) -> None:
        """A measurement of the level that was chosen."""
        if len(self._samples) < self._held:
            return
        self._compared = self._samples[-SAMPLES:]
        if self._is_other(_low(self._samples)):
            self._begin(max(0, self._settled - 2))
            return
        if self._wished < 0:
            self._up = not self._up
        neighbour = self._settled + (1 if self._up else -1)
        if self._up and (neighbour > self._most or 2 * took >= LONGEST_NS):
            neighbour = self._settled - 1
        if neighbour < 0:
            neighbour = 1 if self._most and 2 * took < LONGEST_NS else 0
        if neighbour == self._settled:
            self._samples = []
            return
        self._use(neighbour)

    def _is_other(self, cost: float) -> bool:
        """Whether the size costs something quite different than before, and not only for a moment."""
        known = self._cost.get(self._settled)
        if known is None or known / OTHER < cost < known * OTHER:
            self._strange = 0
            self._cost.setdefault(self._settled, cost)
            return False
        self._strange += 1
        return self._strange >= 2

    def _compare(self) -> None:
        """A neighbour was measured: what it costs beside the level that was chosen, measured just before."""
        level, chosen = self._level, self._settled
        ratio = _low(self._samples) / _low(self._compared)
        known = self._cost.get(chosen, 1.0)
        found = ratio * known
        said = self._cost.get(level, found)
        if said / UNLIKE < found < said * UNLIKE:
            found = (found * said) ** 0.5  # so that no single comparison decides what is almost equal
        self._cost[level] = found
        best = min(self._cost.values())
        smaller = level < chosen and found <= NEAR * best
        better = known > STAYS * best and found <= NEAR * best
        if not (smaller or better):
            self._wished = -1
            self._held = min(2 * self._held, LONGEST_HELD)
        elif self._wished == level or ratio * OTHER < 1:
            self._settled, self._wished, self._held = level, -1, HELD
        else:
            self._wished = level
        self._use(self._settled)


def _low(samples: list[float]) -> float:
    """The lower quartile."""
    return sorted(samples)[(len(samples) - 1) // 4]


def _best_below(cost: dict[int, float], level: int) -> float:
    """What the best of all smaller levels costs."""
    return min((each for at, each in cost.items() if at < level), default=float("inf"))
