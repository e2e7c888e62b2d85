"""The Markov model: how likely it is that one kind of transaction follows another. Knows no customers and no actors."""

from __future__ import annotations

from pathlib import Path

WINDOW = 5
"""Transactions of a customer that its score depends on, the last one included."""
THRESHOLD = 0.96
"""A score above it makes a transaction an outlier."""
MOST_STATES = 255


class ModelError(ValueError):
    """A file is not a model, or a transaction has a state that the model does not know."""


class Model:
    """The states by name, and how unlikely each step from one to another is.

    Attributes:
        path: of the file.
        names: of the states, in the order of the file.
        codes: name -> number of the state.
        misses: [from][to] -> the probability that another state than `to` follows `from`.
    """

    def __init__(self, path: Path) -> None:
        """Reads a file: the names, then as many lines of as many probabilities, separated by commas. ModelError."""
        self.path = path
        try:
            head, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
        except OSError as error:
            raise ModelError(f"model {path}: cannot be read ({error.strerror}); name a file") from error
        self.names = head.split(",")
        self.codes = {name: code for code, name in enumerate(self.names)}
        size = len(self.names)
        if "" in self.codes or len(self.codes) != size or size > MOST_STATES:
            raise ModelError(
                f"model {path}, line 1: {head[:80]!r}; allowed: up to {MOST_STATES} different names of states, "
                "separated by commas"
            )
        rows = [_numbers(path, number, line, size) for number, line in enumerate(lines, 2) if line]
        if len(rows) != size:
            raise ModelError(
                f"model {path}: {len(rows)} lines of probabilities; allowed: one for each of its {size} states"
            )
        self.misses = [[_without(row, to) for to in range(size)] for row in rows]

    def code(self, name: str) -> int:
        """The number of a state; ModelError."""
        code = self.codes.get(name)
        if code is None:
            raise self.unknown(name)
        return code

    def unknown(self, name: str) -> ModelError:
        known = ", ".join(self.names)
        return ModelError(f"state {name!r} is not one of the model {self.path}; allowed: {known}")

    def score(self, window: list[int]) -> float:
        """Of the last states of a customer, the oldest first; 0 until there are WINDOW of them."""
        if len(window) < WINDOW:
            return 0.0
        misses, (first, second, third, fourth, last) = self.misses, window
        return (
            misses[first][second] + misses[second][third] + misses[third][fourth] + misses[fourth][last]
        ) / 4


def _numbers(path: Path, number: int, line: str, size: int) -> list[float]:
    try:
        found = [float(text) for text in line.split(",")]
    except ValueError:
        found = []
    if len(found) != size or not all(0.0 <= each <= 1.0 for each in found):
        raise ModelError(
            f"model {path}, line {number}: {line[:80]!r}; allowed: {size} probabilities from 0 to 1, separated by commas"
        )
    return found


def _without(row: list[float], to: int) -> float:
    """The sum of a row but for one, from left to right."""
    total = 0.0
    for other, probability in enumerate(row):
        if other != to:
            total += probability
    return total
