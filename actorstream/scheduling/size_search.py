"""SizeSearch: finds the batch size with the least cost a row by trying sizes. Pure: the clocks are arguments.

Sizes are powers of two, `LEVELS` of them. The search first doubles the size as long as that pays. Then it keeps the smallest
size that costs hardly more than the best, and now and then compares it with one of its two neighbours: both are used in turns,
the longer the less they differ, so that neither a load that comes and goes nor a change of the work misleads it for long."""

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
TURNS, CLEAR = 8, 0.2
"""A comparison has at most so many turns of both sizes. It ends after the first if they differ by more than CLEAR, after the
fourth by half of it, and so on."""
MUCH_WORSE = 1.3
"""A neighbour that costs so many times what the chosen size costs is seldom tried again."""
PAYS, NEAR = 0.97, 1.03
"""A larger size is taken if it costs less than PAYS of what the smaller one costs, a smaller one if it costs less than NEAR of
what the larger one does."""
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


def level_within(rows: int) -> int:
    """The greatest level with at most so many rows; 0 where none has so few."""
    return min(LEVELS, max(0, rows.bit_length() - LEAST.bit_length()))


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
        "_cost",
        "_found",
        "_grown",
        "_held",
        "_least",
        "_level",
        "_long",
        "_most",
        "_neighbour",
        "_ns",
        "_rows",
        "_samples",
        "_settled",
        "_skips",
        "_strange",
        "_up",
        "_waited",
        "rows",
    )

    def __init__(self, busy_ns: Callable[[], int], most: int = LEVELS) -> None:
        self._clock, self._most, self._least = busy_ns, most, 0
        self._busy = 0
        self._settled = 0
        """The level that was chosen."""
        self._begin(min(FIRST, most))

    def _begin(self, level: int) -> None:
        """Begins to grow from a level, with nothing known."""
        self._cost: dict[int, float] = {}
        """Level -> ns a row, of all levels that were tried, as of when the chosen one cost what it says."""
        self._grown, self._held = False, HELD
        self._up = False
        self._neighbour = -1
        """The level that the chosen one is being compared with; -1: none."""
        self._found: tuple[list[float], list[float]] = ([], [])
        """The measurements of a comparison: first those of the chosen level, then those of its neighbour."""
        self._strange = self._long = 0
        self._use(max(level, self._least))

    def keep_above(self, level: int) -> None:
        """From now on no batch has fewer rows than this level."""
        self._least = least = min(level, self._most)
        if not self._grown:
            if self._level < least:
                self._use(least)
        elif min(self._level, self._settled) < least:
            self._settled, self._neighbour = max(self._settled, least), -1
            self._use(self._settled)

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
        elif self._neighbour < 0:
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
        self._settled = max(settled, self._least)
        self._use(self._settled)

    # -- keeping a size

    def _hold(self, took: float) -> None:
        """A measurement of the level that was chosen."""
        if len(self._samples) < self._held:
            return
        if self._is_other(_low(self._samples)):
            self._begin(max(0, self._settled - 2))
            return
        self._up = not self._up
        self._neighbour = self._next(took)
        if self._neighbour < 0:
            self._held = min(2 * self._held, LONGEST_HELD)
            self._samples = []
        else:
            self._found = (self._samples[-SAMPLES:], [])
            self._use(self._neighbour)

    def _next(self, took: float) -> int:
        """The level to compare with next, on the side whose turn it is if it can be used; -1: there is none."""
        bad = MUCH_WORSE * self._cost.get(self._settled, float("inf"))
        for side in (1, -1) if self._up else (-1, 1):
            level = self._settled + side
            fits = self._least <= level <= self._most and (side < 0 or 2 * took < LONGEST_NS)
            if fits and (self._held == LONGEST_HELD or self._cost.get(level, 0.0) <= bad):
                return level
        return -1

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
        """One of the two levels of a comparison was measured."""
        chosen, neighbour = self._settled, self._neighbour
        before, found = self._found
        if self._level == chosen:
            before += self._samples
            self._use(neighbour)
            return
        found += self._samples
        ratio, turns = _low(found) / _low(before), len(found) // SAMPLES
        if turns < TURNS and abs(ratio - 1) < CLEAR / turns**0.5:
            self._use(chosen)
            return
        self._neighbour = -1
        self._cost[neighbour] = ratio * self._cost.setdefault(chosen, _low(before))
        if ratio < (PAYS if neighbour > chosen else NEAR):
            self._settled, self._held = neighbour, HELD
        else:
            self._held = min(2 * self._held, LONGEST_HELD)
        self._use(self._settled)


def _low(samples: list[float]) -> float:
    """The lower quartile."""
    return sorted(samples)[(len(samples) - 1) // 4]


def _best_below(cost: dict[int, float], level: int) -> float:
    """What the best of all smaller levels costs."""
    return min((each for at, each in cost.items() if at < level), default=float("inf"))
