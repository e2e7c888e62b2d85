"""A replica that is a worker of a plan: a program's instance, its outputs and counters. It has no input hooks."""

from __future__ import annotations

from typing import Any

from actorstream.events.batch import Batch
from actorstream.runtime.replica import Replica


class ProgramReplica(Replica):
    """Worker number `replica + 1` of an actor's plan."""

    def __init__(self, actor: Any, *, inputs: dict[str, Any], **options: Any) -> None:
        super().__init__(actor, inputs={}, **options)
        self.inputs = inputs
        self._plain = self.descent is None
        self.worked = False
        """Whether a hook may have put something out since the outbox was emptied."""

    def hand_on(self) -> None:
        """Pushes what the program has put out, if it may have."""
        if self.worked or self.outbox.touched:
            self.worked = False
            outbox = self.outbox
            events = outbox.events["default"]
            if len(outbox.events) > 1 or outbox.batches or not self._plain:
                self.dispatch()
                return
            outbox.touched = False
            if events:  # what `dispatch` would do with them
                outbox.events["default"] = []
                schema = self.schemas.get("default")
                if schema is None or schema.system or "default" in self.shared:
                    self.forward(self._batch_of("default", events))
                    return
                rows = len(events)
                batch = Batch(schema, rows, [None] * len(schema.fields), events)
                batch._unfit = self.unfit
                batch.entry_min, batch.entry_max, batch.began = self.entry_min, self.entry_max, self.began
                self.events_out += rows
                self._push(batch, "default")

    def take(self, result: Any) -> None:
        """Puts what a hook of the program answered into the outbox: events, batches, or several of them."""
        self._take(result)
