"""What can be wrong with an expression: before a run its text, during a run a row. Knows neither parser nor engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from actorstream.errors import ActorstreamError, ConfigurationError, Problem

if TYPE_CHECKING:
    import numpy as np

SHOWN = 72
"""Longest part of an expression that a message quotes around the place of the error."""


class ExpressionError(ConfigurationError):
    """An expression does not parse, or does not fit the schema it is for.

    Attributes:
        text: the expression. start, end: the characters of it that are wrong.
        message, allowed, hint: as in `Problem`.
    """

    def __init__(
        self, text: str, start: int, end: int, message: str, allowed: str = "", hint: str = ""
    ) -> None:
        self.text, self.start, self.end = text, start, end
        self.message, self.allowed, self.hint = message, allowed, hint
        super().__init__(self.problem("expression"))

    def problem(self, where: str) -> Problem:
        """The same as a problem of the key `where` of a topology."""
        line, caret = pointed(self.text, self.start, self.end)
        return Problem(where, f"{self.message}\n  {line}\n  {caret}", self.allowed, self.hint)


def pointed(text: str, start: int, end: int) -> tuple[str, str]:
    """The part of `text` around `start`, in one line, and a line with ^ under start .. end - 1."""
    shown = "".join(" " if each.isspace() else each for each in text)
    first = max(0, min(start - SHOWN // 2, len(shown) - SHOWN))
    last = min(len(shown), first + SHOWN)
    head, tail = "…" if first else "", "…" if last < len(shown) else ""
    width = max(1, min(end, last) - start)
    return f"{head}{shown[first:last]}{tail}", " " * (len(head) + start - first) + "^" * width


class RowError(ActorstreamError):
    """A row that an expression has no value for: an integer overflow, a division by zero, text that is no number."""


class RowErrors(ActorstreamError):
    """Rows of one batch that an expression has no value for; the others have one.

    Attributes:
        rows: their numbers in the batch, ascending, uint32.
    """

    def __init__(self, rows: np.ndarray, describe: Callable[[int], str]) -> None:
        self.rows = rows
        self._describe = describe
        others = f" (and {len(rows) - 1} other rows of the batch)" if len(rows) > 1 else ""
        super().__init__(describe(0) + others)

    def errors(self) -> Sequence[RowError]:
        """One error a row, in the order of `rows`."""
        return [RowError(self._describe(number)) for number in range(len(self.rows))]
