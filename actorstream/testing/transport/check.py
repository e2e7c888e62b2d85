"""A check: channels, and for each worker the role that it plays. Roles talk to each other through the channels only.

So the same check runs with all workers in one process, in forked processes, or one rank each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from actorstream.testing.transport.side import Side
from actorstream.transports.base import Channel, Transport

Role = Callable[[Side], Awaitable[None]]


class Check(msgspec.Struct, frozen=True):
    """One rule that a transport keeps.

    `roles[w]` is what worker w does. `dies`: workers that end by SIGKILL on purpose, so the check needs processes of
    their own. `applies` says to which transports the rule applies.
    """

    name: str
    roles: tuple[Role, ...]
    channels: tuple[Channel, ...]
    dies: frozenset[int] = frozenset()
    applies: Callable[[type[Transport]], bool] = lambda transport: True

    @property
    def workers(self) -> int:
        return len(self.roles)


def pipes(
    *ends: tuple[int, int], slots: int = 256, budget: int = 4 << 20, frontiers: int = 1
) -> list[Channel]:
    """Channels between the given (sender, receiver) workers, each end with a doorbell bit of its own."""
    used: dict[int, int] = {}

    def bit(worker: int) -> int:
        used[worker] = used.get(worker, -1) + 1
        return used[worker]

    return [
        Channel(number, sender, receiver, bit(sender), bit(receiver), slots, budget, frontiers)
        for number, (sender, receiver) in enumerate(ends)
    ]


def check(
    *ends: tuple[int, int],
    roles: Iterable[Role],
    name: str,
    slots: int = 256,
    budget: int = 4 << 20,
    frontiers: int = 1,
    answers: Iterable[tuple[int, int]] = (),
    dies: Iterable[int] = (),
    applies: Callable[[type[Transport]], bool] = lambda transport: True,
) -> Check:
    """A check over channels `ends` with the given size, followed by roomy channels `answers` for signals."""
    tested = pipes(*ends, *answers, frontiers=frontiers)
    sized = [
        Channel(c.id, c.sender, c.receiver, c.send_bit, c.receive_bit, slots, budget, frontiers)
        for c in tested[: len(ends)]
    ]
    return Check(name, tuple(roles), (*sized, *tested[len(ends) :]), frozenset(dies), applies)
