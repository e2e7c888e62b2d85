"""Credit between two processes, in bytes, for one actor and one peer. Pure: no I/O, no clock.

The sender may have `limit` bytes outstanding; a message larger than that goes alone. The receiver returns credit in
quarters of the limit, so that a stream of small messages costs few frames and an idle link none.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from actorstream.actors.mailbox import Waiter

LEAST_WINDOW = 64 << 10
"""Bytes that a peer may send before it has heard how large the actor's mailbox is."""


class SendWindow:
    """The sending side. Those who wait for credit keep their order: nobody overtakes."""

    __slots__ = ("limit", "outstanding", "waiting")

    def __init__(self, limit: int = LEAST_WINDOW) -> None:
        self.limit = limit
        self.outstanding = 0
        self.waiting: deque[tuple[int, Waiter]] = deque()

    def take(self, size: int) -> bool:
        """Takes credit for a message of `size` bytes; False, and nothing is changed, if there is none."""
        outstanding = self.outstanding + size
        if (outstanding > self.limit and self.outstanding) or self.waiting:
            return False
        self.outstanding = outstanding
        return True

    def wait(self, size: int, waiter: Waiter) -> None:
        """Gets in line. The caller looks at `starved` next."""
        self.waiting.append((size, waiter))

    @property
    def starved(self) -> bool:
        """The first in line could wait for ever for what the receiver keeps back: it has to be asked for all credit.

        Looked at whenever someone became the first in line, or is it still after credit came: a receiver that was
        asked earlier may have kept something back again since."""
        return bool(self.waiting) and self.waiting[0][0] > self.limit - self.limit // 4

    def withdraw(self, waiter: Waiter) -> bool:
        """Gets out of line; False if it has been admitted already. The caller calls `admit` next."""
        for place, (_, other) in enumerate(self.waiting):
            if other is waiter:
                del self.waiting[place]
                return True
        return False

    def give(self, size: int) -> None:
        """Credit came back. The caller calls `admit` next."""
        self.outstanding = max(0, self.outstanding - size)

    def admit(self) -> list[Any]:
        """Takes credit for those who wait, in their order, while it lasts, and returns them."""
        admitted = []
        while self.waiting:
            size, waiter = self.waiting[0]
            if waiter.done():
                self.waiting.popleft()
                continue
            if self.outstanding and self.outstanding + size > self.limit:
                break
            self.waiting.popleft()
            self.outstanding += size
            admitted.append(waiter)
        return admitted

    def drain(self) -> list[Any]:
        """Nobody waits any more: the actor is dead or the link is lost. Returns those who did."""
        waiters = [waiter for _, waiter in self.waiting]
        self.waiting.clear()
        return waiters


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
        """The sender waits for all credit. True: return it now; else it is returned once nothing is outstanding."""
        self.needed = self.outstanding > 0
        return not self.needed and self.owed > 0

    def settle(self) -> int:
        """Returns what is owed, and owes nothing any more."""
        owed, self.owed = self.owed, 0
        if self.outstanding == 0:
            self.needed = False
        return owed
