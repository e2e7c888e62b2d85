"""Actors: what users subclass, and systems of control actors (tell, ask, supervision, links between processes).

Names are imported on first use, so that `import actorstream` touches no event loop.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import Actor, ActorContext

if TYPE_CHECKING:
    from actorstream.actors.clock import ManualClock, TimeSource
    from actorstream.actors.failure import RemoteError
    from actorstream.actors.mailbox import MailboxStatistics
    from actorstream.actors.ref import ActorRef
    from actorstream.actors.signals import Terminated
    from actorstream.actors.supervision import Supervision
    from actorstream.actors.system import System

__all__ = [
    "Actor",
    "ActorContext",
    "ActorRef",
    "MailboxStatistics",
    "ManualClock",
    "RemoteError",
    "Supervision",
    "System",
    "Terminated",
    "TimeSource",
]

_HOMES = {
    "ActorRef": "ref",
    "TimeSource": "clock",
    "MailboxStatistics": "mailbox",
    "ManualClock": "clock",
    "RemoteError": "failure",
    "Supervision": "supervision",
    "System": "system",
    "Terminated": "signals",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
