"""The actions that a coordinator wants its host to carry out, in the order in which it returns them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actorstream.control.messages import Message, Snapshot


class Send(msgspec.Struct, frozen=True):
    """A message to one worker, or to all that are not gone (None)."""

    message: Message
    worker: int | None = None


class WriteCheckpoint(msgspec.Struct, frozen=True):
    """All replicas have passed a barrier: their states are to be written. The coordinator waits for `written`."""

    number: int
    taken: Mapping[int, Snapshot]
    """By replica."""


class WriteEnd(msgspec.Struct, frozen=True):
    """The decision to commit: all sinks have prepared, and their tokens are to be written. The coordinator waits for
    `written`."""

    number: int
    tokens: Mapping[int, bytes]
    """By replica; sinks only."""


class Kill(msgspec.Struct, frozen=True):
    """The workers that are not gone have had their time."""


class Finish(msgspec.Struct, frozen=True):
    """The run is over, and no worker is left. `outcome`: what is to be raised; None: all has been committed."""

    outcome: BaseException | None


Action = Send | WriteCheckpoint | WriteEnd | Kill | Finish
