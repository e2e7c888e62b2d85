"""ChainEnd: an operator that takes in the rows of a native chain, and how many of them it takes without Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from actorstream.operators.chain import LinkedRows, Linking


class Admission(NamedTuple):
    """What the last operator of a chain takes now.

    Attributes:
        room: rows, before Python has to look; 0: none, its hook is to be called.
        low: the event time below which a row is late.
        due: the event time that the operator is to be told of when it is promised.
    """

    room: int
    low: int
    due: int


class ChainEnd(Protocol):
    """An operator that can be the last of a chain."""

    def link_end(self, chain: Linking, rows: LinkedRows) -> Any:
        """Adds the step that takes the rows in, and returns what they are added to. UnlinkedError: it is none."""

    def admits(self) -> Admission:
        """Asked for before each call of the chain."""

    def took(self, rows: int) -> None:
        """So many rows have come since `admits` was asked, and none is late."""
