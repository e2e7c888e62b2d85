"""Tumbling and sliding windows as arithmetic over event times: which windows a time is in, and when they close.

Windows are numbered: window k is [offset + k*slide, offset + k*slide + size). A pane is the longest run of time that
no window divides (gcd of size and slide), so a row is aggregated once, however much windows overlap. Pure; works on
integers and on int64 arrays of event times from 0 to 2^62.
"""

from __future__ import annotations

from math import gcd
from typing import TypeVar

import numpy as np

from actorstream.windows.spec import WindowSpec
from actorstream.windows.watermark import NOTHING

Times = TypeVar("Times", int, np.ndarray)

GREATEST_TIME = 1 << 62
"""Event times are below this, so that no window end passes 64 bits."""


class SlidingWindows:
    """The windows of a tumbling or sliding `WindowSpec`.

    Attributes:
        size, slide, lateness: of the windows, in units of event time.
        width: of a pane.
        origin: start of pane 0, 0 or below: every valid event time lies in a pane numbered 0 or above.
        window_panes, slide_panes: panes in a window, and from one window's start to the next one's.
    """

    def __init__(self, spec: WindowSpec) -> None:
        self.size, self.slide, self.offset, self.lateness = spec.size, spec.slide, spec.offset, spec.lateness
        self.width = gcd(self.size, self.slide)
        within = self.offset % self.width
        self.origin = within - self.width if within else 0
        self.window_panes = self.size // self.width
        self.slide_panes = self.slide // self.width

    # -- windows ----

    def start(self, window: Times) -> Times:
        return self.offset + window * self.slide

    def end(self, window: Times) -> Times:
        return self.offset + window * self.slide + self.size

    def first(self, time: Times) -> Times:
        """The first window that `time` is in; above `last` if slide > size and it is in none."""
        return (time - self.offset - self.size) // self.slide + 1

    def last(self, time: Times) -> Times:
        """The last window that `time` is in."""
        return (time - self.offset) // self.slide

    def closed(self, watermark: Times) -> Times:
        """The last window that is over at `watermark`: its end + lateness <= watermark."""
        return (watermark - self.lateness - self.size - self.offset) // self.slide

    def ended(self, watermark: Times) -> Times:
        """The last window with an end <= watermark, whatever lateness is allowed."""
        return (watermark - self.size - self.offset) // self.slide

    # -- panes ----

    def pane(self, time: Times) -> Times:
        return (time - self.origin) // self.width

    def pane_start(self, pane: Times) -> Times:
        return self.origin + pane * self.width

    def first_pane(self, window: Times) -> Times:
        """The first pane of a window; it has `window_panes` of them."""
        return (self.start(window) - self.origin) // self.width

    def open_pane(self, closed: int) -> int:
        """The first pane of the first window behind `closed`: no pane below it is needed any more."""
        return self.first_pane(closed + 1)

    def windows_of(self, panes: np.ndarray, low: int, high: int) -> np.ndarray:
        """The windows numbered low + 1 .. high that have at least one of `panes` (pane numbers), ascending."""
        if len(panes) == 0 or high <= low:
            return np.empty(0, np.int64)
        starts = self.pane_start(np.unique(np.asarray(panes, np.int64)))
        last = np.minimum(self.last(starts), high)
        first = np.maximum(self.first(starts), low + 1)
        first[1:] = np.maximum(first[1:], last[:-1] + 1)  # those of the pane before are there already
        counts = np.maximum(last - first + 1, 0)
        if not counts.any():
            return np.empty(0, np.int64)
        ends = np.cumsum(counts)
        steps = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
        return np.repeat(first, counts) + steps

    # -- lateness of rows that are behind ----

    def admitted(self, times: np.ndarray, watermarks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which windows still take each row, given the watermark of its partition before it (NOTHING: not behind).

        Answers (late, first): whether a row is late for every window it is in, and the first window that takes it;
        first is NOTHING where all its windows do."""
        behind = watermarks > NOTHING
        closed = self.closed(np.where(behind, watermarks, 0))
        late = behind & (self.last(times) <= closed)
        narrowed = behind & ~late & (self.first(times) <= closed)
        return late, np.where(narrowed, closed + 1, NOTHING)
