"""What the coordinator wants done: the host carries it out, in this order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from actorstream.control.messages import Message, Snapshot


@dataclass(frozen=True, slots=True)
class Send:
    """A message to one worker, or to all that are not gone (None)."""

    message: Message
    worker: int | None = None


@dataclass(frozen=True, slots=True)
class WriteCheckpoint:
    """All replicas have passed a barrier: their states are to be written. The coordinator waits for `written`."""

    number: int
    taken: Mapping[int, Snapshot]
    """By replica."""


@dataclass(frozen=True, slots=True)
class WriteEnd:
    """The decision to commit: all sinks have prepared, and their tokens are to be written. The coordinator waits for
    `written`."""

    number: int
    tokens: Mapping[int, bytes]
    """By replica; sinks only."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The workers that are not gone have had their time."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over, and no worker is left. `outcome`: what is to be raised; None: all has been committed."""

    outcome: BaseException | None


Action = Send | WriteCheckpoint | WriteEnd | Kill | Finish
