"""What an ordering is: it decides which waiting frame of an actor's inputs comes next. Pure: no clock, no I/O.

A gate looks at lanes (one for each producer replica of each input) and answers the lane whose head may go now. It sees
heads, frontiers and ends; it never touches rows, memory or channels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol


class Lane(Protocol):
    """One producer replica's channel as a gate sees it."""

    index: int
    input: str
    ended: bool
    """The end mark was consumed."""
    held: bool
    """Barrier alignment holds this lane back."""

    def head(self) -> Any | None:
        """The frame that waits first (`actorstream.transports.base.Frame`), or None."""

    def frontier(self) -> int:
        """What the producer promised as of the last look: nothing below will follow."""


class Gate(ABC):
    """The order in which one replica sees its input."""

    name: ClassVar[str]

    def __init__(self, lanes: list[Any]) -> None:
        self.lanes = lanes

    @abstractmethod
    def next(self) -> Any | None:
        """The lane whose head goes next, or None while nothing may. Lanes that are held or ended never go."""
