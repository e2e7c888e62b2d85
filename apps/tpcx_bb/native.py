"""What the operators with a state in C have in common."""

from __future__ import annotations

from typing import Any

from actorstream import Actor, Contract
from apps.tpcx_bb.kernel import State


class Native(Actor):
    """An operator whose time is spent in C, without the interpreter's lock: any thread of a pool may run it, one at a
    time."""

    kept: State
    """Made at the latest in `on_start`, since some need to know their input."""
    saved: Any = None
    """What a checkpoint kept of it; None: the run does not go on from one."""

    contract = Contract(pool_limit=1)

    def on_start(self) -> None:
        if self.saved is not None:
            self.kept.load(self.saved)

    def snapshot(self) -> Any:
        return self.kept.save()

    def restore(self, snapshot: Any) -> None:
        self.saved = snapshot
