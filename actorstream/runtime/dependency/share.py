"""What one worker of a plan keeps at a cut. It decides nothing: `cuts.py` says when something belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.dgs.state_bytes import packed

if TYPE_CHECKING:
    from actorstream.events.batch import Batch


class Share:
    """What one worker keeps at a cut, while there are channels on which more of it may come."""

    def __init__(self, each: Any, where: str) -> None:
        """`each`: the worker, a TreeWorker."""
        self.each, self.where = each, where
        self.open = 0
        """Channels whose barrier, mark or end has not come."""
        self.states: dict[int, bytes] = {}
        self.rows: dict[int, list[Batch]] = {}
        self.ticks = {tag: ticks.kept() for tag, ticks in each.ticks.items()}
        self.done = each.protocol.done

    def add(self, tag: int, batch: Batch) -> None:
        """Events of a tag that are not processed before the cut."""
        self.rows.setdefault(tag, []).append(batch)

    def state(self, worker: int, state: Any) -> None:
        """The state of all that a worker handles. At once: it will be changed."""
        self.states[worker] = packed(state, self.where)

    def close(self) -> None:
        self.open -= 1
