"""The events of card fraud."""

from __future__ import annotations

from actorstream import Event, Int8


class Transaction(Event):
    """A line of the input. `state` is what kind of transaction it is, as the model names it: amount (L, M, H), whether an
    expensive item was bought (N, H), time since the last transaction (L, N, S)."""

    customer: str
    transaction: str
    state: str


class Score(Event):
    """How unlikely the last transactions of the customer are, 0 to 1; outlier: 1 if that is more than the threshold."""

    customer: str
    transaction: str
    score: float
    outlier: Int8
