"""The local model of one stream: which itemsets it knows, and which of its connections look like outliers (Reloaded)."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import msgspec
import numpy as np

Itemset = tuple[tuple[int, str], ...]
"""(Categorical feature, value) pairs."""


class Parameters(NamedTuple):
    """The keys of the detector that a model needs."""

    support: int
    level: int
    tau: float
    delta: float
    factor: float
    window: int


class Candidate(msgspec.Struct):
    """A local outlier: what a joined model needs to judge it."""

    ts: int
    itemsets: list[Itemset]
    violated: list[bool]
    """Of each of them whether the point's covariance is."""
    threshold: float
    """What its score has to exceed."""


class Sums(msgspec.Struct):
    """Running sums of itemsets, a row each: of the continuous features, of the products of each two of them, of the
    points' covariances, and of their squares.

    Features that were 0 in every connection so far have no columns: all that concerns them is 0. Pairs are in the order
    (0, 0), (1, 0), (1, 1), (2, 0), ..., so that another feature's columns come behind. There may be more rows than are
    in use.
    """

    features: np.ndarray
    products: np.ndarray
    covariances: np.ndarray
    squares: np.ndarray
    used: list[int] = []
    """The features that have columns."""

    @classmethod
    def empty(cls) -> Sums:
        return cls(*(np.zeros((0, 0)) for _ in range(4)))

    def reserve(self, rows: int, numbers: np.ndarray) -> np.ndarray:
        """Makes place for so many rows, and for a point's features. Answers those that have columns."""
        self.used += [at for at in np.flatnonzero(numbers).tolist() if at not in self.used]
        count = len(self.used)
        if rows > len(self.features) or count > self.features.shape[1]:
            rows = rows if rows <= len(self.features) else 2 * rows
            self.features = _grown(self.features, rows, count)
            for name in ("products", "covariances", "squares"):
                setattr(self, name, _grown(getattr(self, name), rows, count * (count + 1) // 2))
        return numbers[self.used]


def _grown(array: np.ndarray, rows: int, columns: int) -> np.ndarray:
    found = np.zeros((max(rows, len(array)), columns))
    found[: len(array), : array.shape[1]] = array
    return found


class Model(msgspec.Struct):
    """One stream's."""

    sums: Sums
    slots: dict[Itemset, int] = {}
    """Itemset -> its row in the sums."""
    supports: list[int] = []
    """By row."""
    times: list[list[int]] = []
    """By row: when the itemset came first, as many times as make it frequent."""
    scores: list[float] = []
    """The last ones of connections that were no local outliers."""
    candidates: list[Candidate] = []
    """Local outliers that no check has judged yet."""

    def add(self, ts: int, items: list[str], numbers: list[float], own: Parameters) -> None:
        """Takes a connection by time, categorical and continuous features."""
        pairs = list(enumerate(items))
        itemsets = [each for size in range(own.level) for each in combinations(pairs, size + 1)]
        slots = [self._slot(itemset, ts, own.support) for itemset in itemsets]
        supports = np.array([self.supports[slot] for slot in slots])
        violated = self._violated(np.array(slots), supports, np.array(numbers), own).tolist()
        score = 0.0
        for itemset, slot, bad in zip(itemsets, slots, violated):
            if bad or self.supports[slot] < own.support:
                score += 1 / len(itemset)
        threshold = own.factor * sum(self.scores) / len(self.scores) if self.scores else 0.0
        if score > threshold:
            self.candidates.append(Candidate(ts, itemsets, violated, threshold))
        else:
            self.scores.append(score)
            del self.scores[: -own.window]

    def occurrences(self, itemset: Itemset, ts: int) -> int:
        """How often an itemset came up to a time; beyond the support that makes it frequent it is not counted on."""
        slot = self.slots.get(itemset)
        return 0 if slot is None else sum(time <= ts for time in self.times[slot])

    def _slot(self, itemset: Itemset, ts: int, support: int) -> int:
        slot = self.slots.get(itemset)
        if slot is None:
            slot = self.slots[itemset] = len(self.supports)
            self.supports.append(0)
            self.times.append([])
        self.supports[slot] += 1
        if len(self.times[slot]) < support:
            self.times[slot].append(ts)
        return slot

    def _violated(
        self, slots: np.ndarray, supports: np.ndarray, numbers: np.ndarray, own: Parameters
    ) -> np.ndarray:
        """Of which itemsets the point's covariance deviates too much in too many pairs of features."""
        sums, allowed = self.sums, own.delta * len(numbers) ** 2
        numbers = sums.reserve(len(self.supports), numbers)
        first, second, weights = _pairs(len(numbers))
        sums.features[slots] += numbers
        sums.products[slots] += numbers[first] * numbers[second]
        totals, n = sums.features[slots], supports[:, None].astype(np.float64)
        off = numbers - totals / n
        point = off[:, first] * off[:, second]
        sums.covariances[slots] += point
        sums.squares[slots] += point * point
        rest = np.maximum(n - 1, 1)  # of a first point nothing deviates: its own covariance is 0
        mean = sums.products[slots] / rest - totals[:, first] * totals[:, second] / (n * rest)
        variance = (sums.squares[slots] - 2 * mean * sums.covariances[slots] + n * mean * mean) / rest
        deviates = (np.abs(point - mean) > own.tau * np.sqrt(np.maximum(variance, 0))) & (variance > 0)
        return (deviates @ weights > allowed) & (supports > 1)


_PAIRS: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}


def _pairs(features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each two features, a feature with itself too, and how often the pair stands in the whole matrix."""
    if features not in _PAIRS:
        first, second = np.tril_indices(features)
        _PAIRS[features] = first, second, np.where(first == second, 1, 2)
    return _PAIRS[features]
