"""What flows between the operators, where its fields are not those of the source's rows."""

from __future__ import annotations

from actorstream import Event


class Session(Event):
    """A user's session: the distinct items, as they were first viewed, 8 bytes each (int64)."""

    user: int
    items: bytes


class ItemPair(Event):
    """Two items of one session."""

    item_1: int
    item_2: int


class Visit(Event):
    """A user's session, as pages: how many, and the number (from 1; 0: none) of the last of two kinds."""

    user: int
    pages: int
    last_dynamic: int
    last_order: int


class Purchase(Event):
    """A purchase, and one of the items that its user had come across before."""

    purchased_item: int
    lastviewed_item: int


class Trend(Event):
    """The line through a category's sales by day."""

    cat: int
    slope: float
    intercept: float
