"""OneGroup: aggregates of all rows that come, as one group in one pane, whatever the rows' event times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.native.panes import Panes, PanesStep
from actorstream.operators.aggregation.inputs import AggregateInputs
from actorstream.operators.aggregation.layout import CellLayout
from actorstream.operators.aggregation.paned import PaneReader
from actorstream.operators.aggregation.results import Results
from actorstream.operators.aggregation.saved_panes import restore_panes, save_panes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.events.batch import Batch
    from actorstream.events.column import Column
    from actorstream.events.schema import Schema
    from actorstream.operators.aggregation.outputs import AggregateOutput
    from actorstream.operators.chain import LinkedRows, Linking


class OneGroup:
    """The group of one replica. `first` and `last` go by the order in which rows come.

    Args:
        outputs: its aggregates. schema: of the rows that come.
    """

    def __init__(self, outputs: Sequence[AggregateOutput], schema: Schema) -> None:
        self._layout = CellLayout(outputs, timed=False)
        self._inputs = AggregateInputs(schema, (), self._layout.values, timed=False, orders=0)
        self._panes = Panes((), self._layout.program)

    def add(self, batch: Batch) -> None:
        """RowErrors: a value cannot be computed, and nothing was taken."""
        self._panes.add(self._inputs.fill(batch), batch.rows, 0)

    def link(self, chain: Linking, rows: LinkedRows) -> PanesStep:
        """`add` as the last step of a chain. UnlinkedError: it is none."""
        step = PanesStep(self._panes, self._inputs.operands)
        chain.add(rows, self._inputs.link(chain, rows), step)
        return step

    def result(self) -> list[Column] | None:
        """A column of one value for each aggregate; None: no row has come. RowError: a value does not fit."""
        if not self._panes.open(0, 1, 0):
            return None
        groups, own = np.empty(1, np.uint32), np.empty((1, self._panes.words), np.uint64)
        self._panes.take(groups, own)
        columns, failed = Results(self._layout, PaneReader(self._panes)).columns(own, groups)
        for _, error in failed.errors():
            raise error
        return columns

    def snapshot(self) -> Any:
        return save_panes(self._panes, ())

    def restore(self, snapshot: Any) -> None:
        """Before any row."""
        restore_panes(self._panes, (), snapshot, marking=False)
