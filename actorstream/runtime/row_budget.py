"""RowBudget: how many rows a unit takes in at once, by the bytes of what its replicas made of those before. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.runtime.replica import Replica

BYTES = 4 << 20
"""What a unit makes of the rows that it takes in at once should have no more bytes."""
GROWS = 8
"""A portion grows by this factor at most, since the next rows may be larger."""


class RowBudget:
    """Of a unit with these members, whose `made_bytes` it takes: the first portion is one row."""

    __slots__ = ("_members", "rows")

    def __init__(self, members: Sequence[Replica]) -> None:
        self._members = members
        self.rows = 1
        """Rows to take in next."""

    def took(self, rows: int) -> None:
        """So many rows were taken in, and what the members made of them was sent."""
        made = 0
        for each in self._members:
            made += each.made_bytes
            each.made_bytes = 0
        fitting = BYTES * rows // max(made, 1)
        self.rows = max(1, min(fitting, GROWS * max(rows, 1)))


def row_budget_of(members: Sequence[Replica]) -> RowBudget | None:
    """The row budget of a unit; None: its outputs are all of fixed width, so it takes in as many rows as there are."""
    return RowBudget(members) if any(map(_is_wide, members)) else None


def _is_wide(replica: Replica) -> bool:
    """Whether it sends rows that may be of any size; dead letters are not."""
    return any(
        not replica.schemas[output].bounded
        for output, edges in replica.edges.items()
        if edges and output != "dead"
    )
