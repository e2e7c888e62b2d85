"""Cost and selectivity of an operator as measured while it runs, smoothed. Reads no clock: durations are arguments."""

from __future__ import annotations

from operator import add

KEEP = 0.9
"""What a turn leaves of the weight of those before it: half of it is gone after seven turns."""
PRIOR_COST = 100.0
"""Nanoseconds a tuple while nothing is known."""


class Statistics:
    """Decaying sums of what the turns of one operator took and gave; their quotients are its cost and selectivity.

    Sums rather than a mean of quotients, so that a turn counts by its tuples. They change under the scheduler's lock."""

    __slots__ = (
        "_first",
        "_in",
        "_late",
        "_ns",
        "_out",
        "cost",
        "kernel_ns",
        "pooled_ns",
        "rows_in",
        "rows_out",
        "selectivity",
        "total_ns",
        "turns",
    )

    def __init__(self) -> None:
        self._in = self._out = self._ns = 0.0
        self.cost = PRIOR_COST
        """Nanoseconds a tuple."""
        self.selectivity = 1.0
        """Outputs a tuple."""
        self._first = (0, 0)
        """Nanoseconds and tuples of the first turn, which makes tables and compiles."""
        self._late = (0, 0, 0, 0)
        """Tuples answered, and nanoseconds as `add` has them, of turns that took none: of tuples that were taken before."""
        self.turns = self.rows_in = self.rows_out = self.total_ns = 0
        self.kernel_ns = self.pooled_ns = 0

    @property
    def mean_cost(self) -> float:
        """Nanoseconds a tuple, over all turns so far but the first."""
        ns, rows = self._first
        if self.rows_in > rows:
            return (self.total_ns - ns) / (self.rows_in - rows)
        return self.total_ns / self.rows_in if self.rows_in else self.cost

    @property
    def mean_kernel(self) -> float:
        """Of `mean_cost` what kernels take, over all turns but the first."""
        return self.kernel_ns / max(self.rows_in - self._first[1], 1)

    @property
    def mean_pooled(self) -> float:
        """Of `mean_kernel` what the event loop has left to threads, over all turns but the first."""
        return self.pooled_ns / max(self.rows_in - self._first[1], 1)

    @property
    def mean_selectivity(self) -> float:
        """Outputs a tuple, over all turns so far."""
        return self.rows_out / self.rows_in if self.rows_in else self.selectivity

    def add(
        self,
        rows_in: int,
        rows_out: int,
        took_ns: int,
        kernel_ns: int = 0,
        pooled_ns: int = 0,
    ) -> None:
        """One turn: tuples taken, tuples answered, nanoseconds; of these in kernels, and in kernels that were left to
        threads. One that took none says nothing about a tuple, unless it answers some, or kernels have come back, of
        tuples that were taken before: then it counts with the next."""
        spent = rows_out, took_ns, kernel_ns, pooled_ns
        if rows_in <= 0:
            if rows_out or pooled_ns:
                self._late = tuple(map(add, self._late, spent))  # type: ignore[assignment]
            return
        if self._late[1]:
            rows_out, took_ns, kernel_ns, pooled_ns = map(add, self._late, spent)
            self._late = (0, 0, 0, 0)
        if not self.turns:
            self._first = took_ns, rows_in
        else:
            self.kernel_ns += kernel_ns
            self.pooled_ns += pooled_ns
        self.turns += 1
        self.rows_in += rows_in
        self.rows_out += rows_out
        self.total_ns += took_ns
        self._in = self._in * KEEP + rows_in
        self._out = self._out * KEEP + rows_out
        self._ns = self._ns * KEEP + took_ns
        self.cost = self._ns / self._in
        self.selectivity = self._out / self._in
