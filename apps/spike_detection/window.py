"""The last values of one mote and their mean, the same to the last bit however many values come at once. No actors here.

The values are taken in blocks as long as the window. A window is the end of one block and the beginning of the next: the sums
of all ends are made once when a block is over, that of the beginning grows by a value at a time. So nothing is ever
subtracted, no error adds up, and a value that is not a number is gone when its window is.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Window:
    """The last `size` values.

    Args:
        saved: what `save` returned.
    """

    __slots__ = ("full", "rest", "size", "total", "values")

    def __init__(self, size: int, saved: Any = None) -> None:
        self.size = size
        self.values: list[float] = []
        """Of this block."""
        self.rest: list[float] = []
        """The sums of the block before, from each of its values on, and 0."""
        self.full = False
        """Whether there was a block before."""
        self.total = 0.0
        """The sum of this block."""
        if saved is not None:
            self.values, self.rest, self.full = saved
        for value in self.values:
            self.total += value

    def save(self) -> Any:
        """Plain values, for the constructor."""
        return [list(self.values), list(self.rest), self.full]

    def add(self, value: float) -> float:
        """Takes in a value and returns the mean of the last ones, this one included."""
        values = self.values
        values.append(value)
        self.total += value
        at = len(values)
        mean = (self.rest[at] + self.total) / self.size if self.full else self.total / at
        if at == self.size:
            self._end_block()
        return mean

    def add_all(self, values: np.ndarray) -> np.ndarray:
        """The same for several values, one after the other (float64)."""
        means = np.empty(len(values))
        done = 0
        while done < len(values):
            at = len(self.values)
            part = values[done : done + self.size - at]
            sums = np.cumsum(np.append(self.total, part))[1:]
            self.values += part.tolist()
            self.total = float(sums[-1])
            end = at + len(part)
            if self.full:
                means[done : done + len(part)] = (np.array(self.rest[at + 1 : end + 1]) + sums) / self.size
            else:
                means[done : done + len(part)] = sums / np.arange(at + 1, end + 1)
            if end == self.size:
                self._end_block()
            done += len(part)
        return means

    def _end_block(self) -> None:
        rest = [0.0]
        for value in reversed(self.values):
            rest.append(rest[-1] + value)
        rest.reverse()
        self.rest, self.values, self.total, self.full = rest, [], 0.0, True
