"""What the operators with a state in C have in common."""

from __future__ import annotations

from typing import Any

from actorstream import Actor
from apps.tpcx_bb.kernel import State


class Native(Actor):
    """An operator whose time is spent in C, without the interpreter's lock: any thread of a pool may run it, one at a
    time."""

    kept: State

    @classmethod
    def pool_limit(cls, keys: dict[str, Any]) -> float:
        """Threads that may be in it at once."""
        return 1

    def snapshot(self) -> Any:
        return self.kept.save()

    def restore(self, snapshot: Any) -> None:
        self.kept.load(snapshot)
