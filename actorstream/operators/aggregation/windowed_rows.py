"""Windowed rows: what an aggregation emits for some groups: the bounds of a window, the key, the aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.cuts import cuts
from actorstream.events.representation import shown_rows
from actorstream.operators.aggregation.keys import key_columns, key_sizes
from actorstream.operators.aggregation.results import Results
from actorstream.operators.failed_rows import fail_event
from actorstream.operators.joining.windowed import END, START, bound_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.actors.actor import Actor
    from actorstream.native.groups import Groups, Numbers
    from actorstream.operators.aggregation.definition import Definition
    from actorstream.operators.aggregation.results import Beside


class WindowedRows:
    """Makes rows of groups and their cells. A row that has no value is the actor's `on_error`'s."""

    def __init__(self, actor: Actor, definition: Definition, groups: Groups, beside: Beside) -> None:
        self._actor, self._groups = actor, groups
        self.schema = definition.result
        self._fields = definition.fields
        self._results = Results(definition.layout, beside)
        self._bounds = [
            (self.schema.field(name), name == END)
            for name in (START, END)
            if definition.window is not None and name not in definition.key
        ]

    def batches(
        self,
        groups: Numbers,
        which: Numbers,
        own: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray] | None,
        time: np.ndarray | None,
    ) -> Iterator[Batch]:
        """The rows of `groups`, whose cells are `own`, and that `which` names beside them, as batches that are bounded.

        bounds: start and end of the window of each, int64. time: the event time of each; None: there is none."""
        for first, rows in cuts(len(groups), self.schema.row_bytes, self._sizes(groups, own)):
            part = slice(first, first + rows)
            made = self._batch(
                groups[part],
                which[part],
                own[part],
                None if bounds is None else (bounds[0][part], bounds[1][part]),
                None if time is None else time[part],
            )
            if made is not None:
                yield made

    def _sizes(self, groups: Numbers, own: np.ndarray) -> np.ndarray | None:
        """Bytes of the texts in the row of each group; None: a row has no text."""
        if self.schema.fixed:
            return None
        keys, results = key_sizes(self._groups, self._fields, groups), self._results.sizes(own)
        return results if keys is None else keys if results is None else keys + results

    def _batch(
        self,
        groups: Numbers,
        which: Numbers,
        own: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray] | None,
        time: np.ndarray | None,
    ) -> Batch | None:
        columns: list[Column] = []
        for field, is_end in self._bounds:
            assert bounds is not None
            columns.append(bound_column(field, bounds[is_end]))
        columns += key_columns(self._groups, self._fields, groups)
        results, failed = self._results.columns(own, which)
        batch = Batch(self.schema, len(groups), [*columns, *results])
        if time is not None:
            batch = batch.with_system(_time=time)
        if not failed.rows.any():
            return batch
        errors = failed.errors()
        rows = np.array([row for row, _ in errors])
        for event, (_, error) in zip(shown_rows(batch.take(rows)), errors):
            fail_event(self._actor, event, error)
        left = batch.take(~failed.rows)
        return left if left.rows else None
