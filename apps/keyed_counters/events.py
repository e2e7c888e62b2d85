"""What flows through the keyed counters. Times in any unit, as long as it is one."""

from __future__ import annotations

from typing import Literal

from actorstream import Event


class Operation(Event, event_time="ts"):
    """An increment ("i") of a key, or a read-reset ("r")."""

    ts: int
    seq: int
    op: Literal["i", "r"]
    key: str


class Read(Event):
    """What a read-reset found: the increments of its key since the one before."""

    key: str
    ts: int
    seq: int
    count: int
