"""The bounded mailbox of one actor: entries in order, credit in bytes. Pure: no clock, no event loop, no I/O.

An entry is `(message, size, reply, source)`. `source` is None for entries of this process, whose bytes are this
mailbox's credit; entries that came by a link carry the receive window that counts their bytes instead.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

import msgspec

Entry = tuple[Any, int, Any, Any]


class Waiter(Protocol):
    """Stands for a sender that waits for credit: a future that is resolved when its message is let in."""

    def done(self) -> bool:
        """It has given up: its message is not to be let in."""


class MailboxStatistics(msgspec.Struct, frozen=True):
    """What a mailbox holds and has done. Bytes are estimates of size in memory (`actorstream.actors.size`)."""

    messages: int
    """Entries that wait, those that came by links included."""
    bytes: int
    """Bytes of credit in use, the message being processed included."""
    capacity: int
    waiting: int
    """Senders that wait for credit."""
    peak_bytes: int
    """Greatest `bytes` seen at the start of a turn."""
    processed: int
    dropped: int
    """Messages that were left when the actor stopped."""


class Mailbox:
    """FIFO of entries. Credit is taken by `offer` and comes back by `release`, when the message has been processed.

    A message larger than the capacity is admitted alone. A sender that waits keeps its turn: while anyone waits,
    `offer` refuses, so nobody overtakes. Signals of the runtime use no credit and are never refused (`force`).
    """

    __slots__ = ("capacity", "closed", "dropped", "peak", "processed", "queue", "used", "waiting")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.queue: deque[Entry] = deque()
        self.waiting: deque[tuple[Entry, Waiter]] = deque()
        self.used = 0
        self.peak = 0
        self.processed = 0
        self.dropped = 0
        self.closed = False

    def offer(self, entry: Entry, size: int) -> bool:
        """Takes `size` bytes of credit and queues the entry; False, and nothing is changed, if there is no credit."""
        used = self.used
        total = used + size
        if (total > self.capacity and used) or self.waiting or self.closed:
            return False
        self.used = total
        self.queue.append(entry)
        return True

    def force(self, entry: Entry) -> None:
        """Queues an entry that takes no credit here."""
        self.queue.append(entry)

    def wait(self, entry: Entry, waiter: Waiter) -> None:
        """Puts a refused entry in line for credit. `admit` gives back `waiter` when the entry is queued."""
        self.waiting.append((entry, waiter))

    def withdraw(self, waiter: Waiter) -> bool:
        """Takes a waiting entry out of line; False if it has been admitted already. The caller calls `admit` next."""
        for place, (_, other) in enumerate(self.waiting):
            if other is waiter:
                del self.waiting[place]
                return True
        return False

    def release(self, size: int) -> None:
        """Gives credit back. The caller calls `admit` next if anyone waits."""
        self.used -= size

    def admit(self) -> list[Any]:
        """Queues what waits, in its order, while credit lasts. Returns those who waited."""
        admitted = []
        while self.waiting and not self.closed:
            entry, waiter = self.waiting[0]
            if waiter.done():
                self.waiting.popleft()
                continue
            total = self.used + entry[1]
            if total > self.capacity and self.used:
                break
            self.waiting.popleft()
            self.used = total
            self.queue.append(entry)
            admitted.append(waiter)
        return admitted

    def close(self) -> tuple[list[Entry], list[Any]]:
        """Refuses everything from now on. Returns the entries that were left, and those who waited."""
        self.closed = True
        left, waiters = list(self.queue), [waiter for _, waiter in self.waiting]
        self.queue.clear()
        self.waiting.clear()
        for _, size, _, source in left:
            if source is None:
                self.used -= size
        return left, waiters

    def statistics(self) -> MailboxStatistics:
        return MailboxStatistics(
            len(self.queue),
            self.used,
            self.capacity,
            len(self.waiting),
            max(self.peak, self.used),
            self.processed,
            self.dropped,
        )
