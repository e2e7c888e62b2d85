"""Gives what a hook emits the system columns of the rows it descends from, where an edge downstream needs them.

Events are run one by one then, so that it is known which input row each output comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.event import Event
from actorstream.runtime.portions import BYTES

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.hooks import EventCall, Outbox


def dropped(batch: Batch, what: str, consumer: str) -> SchemaError:
    """The error of a hook that has emitted rows without what they should descend with. consumer: what needs it."""
    return SchemaError(
        f"rows of {batch.schema.name} carry no {what}: on_batch dropped their lineage, which {consumer} downstream needs; use "
        "batch.take(...), batch.with_columns(...) or Batch.of(..., origin=rows)"
    )


class Descent:
    """The descent of one replica's output from the batch it works on."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.source: Batch | None = None
        self._origins: dict[str, np.ndarray] = {}

    def portions(self, call: EventCall, events: Iterable[Any], first: int) -> Iterator[None]:
        """Calls an event hook for events that are rows `first` and following of `source`. Yields whenever the outbox should
        be emptied."""
        if not call.in_portions:
            self._run(call, events, first)
            return
        ends: dict[str, list[int]] = {name: [] for name in self.outbox.events}
        room, row = BYTES, first
        for event in events:
            for _ in call.portions([event], room):
                self._count(ends)
                self._settle(ends, first)
                yield
                ends, first = {name: [] for name in self.outbox.events}, row
            room = max(call.left, 1)
            self._count(ends)
            row += 1
        self._settle(ends, first)

    def _run(self, call: EventCall, events: Iterable[Any], first: int) -> None:
        """The same for a hook that makes little: one loop, since each event passes it."""
        lists, hook, collect = self.outbox.events, call.hook, call.collect
        ends: dict[str, list[int]] = {name: [] for name in lists}
        own, others = ends["default"], [(name, each) for name, each in ends.items() if name != "default"]
        for event in events:
            try:
                result = hook(event)
                if isinstance(result, Event) and result:
                    lists["default"].append(result)
                elif result is not None:
                    collect(lists["default"], (result,))
            except Exception as error:
                call.failures.failed(event, error)
            own.append(len(lists["default"]))
            for name, lengths in others:
                lengths.append(len(lists[name]))
        self._settle(ends, first)

    async def run_async(self, call: EventCall, events: list, first: int) -> None:  # type: ignore[type-arg]
        """The same for a hook that awaits."""
        ends: dict[str, list[int]] = {name: [] for name in self.outbox.events}
        for event in events:
            await call.run_async([event])
            self._count(ends)
        self._settle(ends, first)

    def _count(self, ends: dict[str, list[int]]) -> None:
        for name, items in self.outbox.events.items():
            ends[name].append(len(items))

    def _settle(self, ends: dict[str, list[int]], first: int) -> None:
        for name, lengths in ends.items():
            if not lengths[-1]:
                continue
            counts = np.diff(lengths, prepend=0)
            if counts.min() >= 0:  # fewer than before: a batch was emitted in between
                rows = np.arange(first, first + len(lengths), dtype=np.uint32)
                self._origins[name] = np.repeat(rows, counts)

    def give(self, output: str, batch: Batch) -> None:
        """Gives a batch that was emitted to `output` its lineage, unless it has one already."""
        if self.source is None:
            return
        origins = self._origins.pop(output, None)
        known = origins is not None and len(origins) == batch.rows
        batch.inherit(self.source, origins if known else None)
