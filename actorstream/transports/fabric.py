"""The part of a transport that all workers of a run share, and how a process gets it that did not inherit it. It opens no end of
a channel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from actorstream.errors import ConfigurationError


class HandedOver(msgspec.Struct, frozen=True):
    """A fabric on its way to a process that did not inherit it: what the transport says of it, and open descriptors."""

    description: bytes
    descriptors: Sequence[int]


class Fabric(ABC):
    """Shared by all workers of a run; made before they start, inherited by them or handed over."""

    def hand_over(self) -> HandedOver:
        """What a worker needs to have this fabric that is not a fork of this process, but runs on this host. The
        descriptors stay this process's; who is given them gets copies. ConfigurationError: not possible."""
        raise ConfigurationError(
            f"{type(self).__name__} cannot be handed to a worker that was not forked: its transport does not implement "
            "`hand_over`; start the workers by a fork"
        )

    @abstractmethod
    def close(self) -> None:
        """Frees this process's hold on it. Memory lives until its last user has left, whatever way he left."""
