"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.outlier_detection.reference CONNECTIONS [--checks CHECKS] [--streams 4]

prints the result file of topology.toml, or of checks.toml. Plain Python, some 10 ms a connection.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS = ("ts_ms", "score")
CATEGORICAL = (1, 2, 3, 6, 11, 20, 21)
"""Which of the 41 features are categorical; the others are continuous."""
FEATURES = 41

Itemset = tuple[tuple[int, str], ...]
Pairs = dict[tuple[int, int], float]


class Parameters(NamedTuple):
    """The keys of the detector."""

    streams: int = 4
    support: int = 10
    level: int = 2
    tau: float = 1.96
    delta: float = 0.3
    factor: float = 10.0
    window: int = 40


class Connection(NamedTuple):
    """One row, without its label."""

    ts: int
    items: tuple[tuple[int, str], ...]
    numbers: tuple[float, ...]


class Candidate(NamedTuple):
    """A local outlier: its itemsets, those whose covariance is violated, and what its score has to exceed."""

    ts: int
    itemsets: list[Itemset]
    violated: set[Itemset]
    threshold: float


class Itemsets:
    """What a stream knows of one itemset (Reloaded, section 3.2): support, sums of the continuous features and of their
    products, and of the points' covariances and their squares."""

    def __init__(self, features: int) -> None:
        self.support = 0
        self.sums = [0.0] * features
        self.pairs = [(i, j) for i in range(features) for j in range(i, features)]
        self.products = [0.0] * len(self.pairs)
        self.covariances = [0.0] * len(self.pairs)
        self.squares = [0.0] * len(self.pairs)

    def add(self, numbers: tuple[float, ...], tau: float) -> int:
        """Counts a point; of how many pairs of features, counted both ways round, its covariance is violated."""
        self.support = n = self.support + 1
        self.sums = sums = [total + number for total, number in zip(self.sums, numbers)]
        off = [number - total / n for total, number in zip(sums, numbers)]
        violated = 0
        for at, (i, j) in enumerate(self.pairs):
            product = self.products[at] = self.products[at] + numbers[i] * numbers[j]
            own = off[i] * off[j]
            total = self.covariances[at] = self.covariances[at] + own
            square = self.squares[at] = self.squares[at] + own * own
            if n > 1:
                mean = product / (n - 1) - sums[i] * sums[j] / (n * (n - 1))
                variance = (square - 2 * mean * total + n * mean * mean) / (n - 1)
                if variance > 0 and abs(own - mean) > tau * variance**0.5:
                    violated += 1 if i == j else 2
        return violated


class Stream:
    """The local model of one stream."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.known: dict[Itemset, Itemsets] = {}
        self.times: dict[Itemset, list[int]] = defaultdict(list)
        """When an itemset came."""
        self.scores: deque[float] = deque(maxlen=parameters.window)

    def add(self, connection: Connection) -> Candidate | None:
        own = self.parameters
        itemsets = [each for size in range(own.level) for each in combinations(connection.items, size + 1)]
        score, violated = 0.0, set()
        pairs = len(connection.numbers) ** 2
        for itemset in itemsets:
            if itemset not in self.known:
                self.known[itemset] = Itemsets(len(connection.numbers))
            self.times[itemset].append(connection.ts)
            if self.known[itemset].add(connection.numbers, own.tau) > own.delta * pairs:
                violated.add(itemset)
            if self.known[itemset].support < own.support or itemset in violated:
                score += 1 / len(itemset)
        threshold = own.factor * sum(self.scores) / len(self.scores) if self.scores else 0.0
        if score > threshold:
            return Candidate(connection.ts, itemsets, violated, threshold)
        self.scores.append(score)
        return None


def read(path: Path) -> Iterator[Connection]:
    """The rows of a csv file without a header; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        for row in csv.reader(file):
            features = row[1 : 1 + FEATURES]
            items = tuple((at, features[at]) for at in CATEGORICAL)
            numbers = (float(each) for at, each in enumerate(features) if at not in CATEGORICAL)
            yield Connection(int(row[0]), items, tuple(numbers))


def read_checks(path: Path) -> Iterator[int]:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            yield int(row["ts"])


def detect(
    connections: Iterable[Connection],
    checks: Iterable[int] | None = None,
    parameters: Parameters | None = None,
) -> Iterator[tuple[int, float]]:
    """Time and score of the connections that the joined model finds unusual as well, by the checks that find them.

    A check takes what came before its time, and at it. Without checks there is one at the end."""
    own = parameters or Parameters()
    streams = [Stream(own) for _ in range(own.streams)]
    candidates: list[Candidate] = []
    asked = None if checks is None else sorted(checks)
    for number, connection in enumerate(connections):
        while asked and asked[0] < connection.ts:
            asked.pop(0)
            yield from _joined(streams, candidates)
            candidates.clear()
        found = streams[number % own.streams].add(connection)
        if found is not None:
            candidates.append(found)
    if asked is None or asked:
        yield from _joined(streams, candidates)


def _joined(streams: list[Stream], candidates: list[Candidate]) -> Iterator[tuple[int, float]]:
    support = streams[0].parameters.support
    for each in candidates:
        score = 0.0
        for itemset in each.itemsets:
            times = (time for stream in streams for time in stream.times.get(itemset, ()))
            if itemset in each.violated or sum(time <= each.ts for time in times) < support:
                score += 1 / len(itemset)
        if score > each.threshold:
            yield each.ts, score


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Prints the result file of topology.toml, or of checks.toml."
    )
    parser.add_argument("connections", type=Path)
    parser.add_argument("--checks", type=Path)
    parser.add_argument("--streams", type=int, default=4)
    given = parser.parse_args()
    checks = None if given.checks is None else read_checks(given.checks)
    found = detect(read(given.connections), checks, Parameters(streams=given.streams))
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *found])


if __name__ == "__main__":
    main()
