"""Credit between two processes, in bytes, for one actor and one peer. Pure: no I/O, no clock.

The sender may have `limit` bytes outstanding; a message larger than that goes alone. The receiver returns credit in
quarters of the limit, so that a stream of small messages costs few frames and an idle link none.
"""

from __future__ import annotations

from collections import deque
from typing import Any

LEAST_WINDOW = 64 << 10
"""Bytes that a peer may send before it has heard how large the actor's mailbox is."""


class SendWindow:
    """The sending side. Those who wait for credit keep their order: nobody overtakes."""

    __slots__ = ("limit", "outstanding", "waiting")

    def __init__(self, limit: int = LEAST_WINDOW) -> None:
        self.limit = limit
        self.outstanding = 0
        self.waiting: deque[tuple[int, Any]] = deque()

    def take(self, size: int) -> bool:
        """Takes credit for a message of `size` bytes; False, and nothing is changed, if there is none."""
        outstanding = self.outstanding + size
        if (outstanding > self.limit and self.outstanding) or self.waiting:
            return False
        self.outstanding = outstanding
        return True

    def wait(self, size: int, token: Any) -> bool:
        """Gets in line. True if the receiver has to be asked for all credit: what it keeps back would be missing."""
        self.waiting.append((size, token))
        return size > self.limit - self.limit // 4

    def withdraw(self, token: Any) -> bool:
        for place, (_, waiter) in enumerate(self.waiting):
            if waiter is token:
                del self.waiting[place]
                return True
        return False

    def give(self, size: int) -> None:
        """Credit came back. The caller calls `admit` next."""
        self.outstanding = max(0, self.outstanding - size)

    def admit(self) -> list[Any]:
        """Takes credit for those who wait, in their order, while it lasts. Returns their tokens."""
        admitted = []
        while self.waiting:
            size, token = self.waiting[0]
            if self.outstanding and self.outstanding + size > self.limit:
                break
            self.waiting.popleft()
            self.outstanding += size
            admitted.append(token)
        return admitted

    def drain(self) -> list[Any]:
        """Nobody waits any more: the actor is dead or the link is lost. Returns the tokens."""
        tokens = [token for _, token in self.waiting]
        self.waiting.clear()
        return tokens


class ReceiveWindow:
    """The receiving side: what has arrived and is not processed (`outstanding`), and what is owed to the sender."""

    __slots__ = ("limit", "needed", "outstanding", "owed")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.outstanding = 0
        self.owed = 0
        self.needed = False

    def accept(self, size: int) -> bool:
        """Counts what arrived; False if the sender had no credit for it."""
        held = self.outstanding + self.owed
        self.outstanding += size
        return held == 0 or held + size <= self.limit

    def processed(self, size: int) -> bool:
        """True if the owed credit is to be returned now."""
        self.outstanding -= size
        self.owed += size
        return self.owed >= self.limit // 4 or (self.needed and self.outstanding == 0)

    def need(self) -> bool:
        """The sender waits for all credit. True if it can be returned now."""
        self.needed = True
        return self.outstanding == 0

    def settle(self) -> int:
        """Returns what is owed, and owes nothing any more."""
        owed, self.owed = self.owed, 0
        if self.outstanding == 0:
            self.needed = False
        return owed
