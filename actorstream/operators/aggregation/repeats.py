"""Repeats: whether aggregating before the exchange is worth its while, told from how many rows share a cell (AIR section
4.3). Pure: rows are its clock."""

from __future__ import annotations

OFF_FROM = 0.8
"""Cells a row from which on rows are passed on: what is saved in the exchange no longer pays for finding the groups."""
ON_BELOW = 0.5
"""Cells a row below which they are aggregated again."""
LOOK_ROWS = 1 << 18
"""Rows in cells that were sent, before their number says something."""
FIRST_PAUSE, LAST_PAUSE = 1 << 22, 1 << 28
"""Rows that are passed on until the next try; twice as many each time that it was in vain."""


class Repeats:
    """One replica's decision. Starts with aggregating.

    Attributes:
        on: whether rows are to be aggregated; else each is passed on as a cell of its own.
        passed: rows that were.
    """

    def __init__(self) -> None:
        self.on = True
        self.passed = 0
        self._rows = self._cells = 0
        self._trying = False
        self._pause, self._left = FIRST_PAUSE, 0

    def sent(self, rows: int, cells: int) -> None:
        """So many cells were sent, which say what so many rows did."""
        self._rows += rows
        self._cells += cells
        if self._rows < LOOK_ROWS or not self.on:
            return
        share = self._cells / self._rows
        self._rows = self._cells = 0
        if share >= (ON_BELOW if self._trying else OFF_FROM):
            self.on = False
            self._left = self._pause
            self._pause = min(2 * self._pause, LAST_PAUSE)
        else:
            self._pause = FIRST_PAUSE
        self._trying = False

    def pass_on(self, rows: int) -> None:
        """So many rows were passed on. After enough of them it is tried again whether keys repeat."""
        self.passed += rows
        self._left -= rows
        if self._left <= 0:
            self.on = self._trying = True
            self._rows = self._cells = 0
