"""The stamp of timestamp order: it puts the rows of a replica in order before they are sent, and gives them the columns that
order tied rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import OperatorError
from actorstream.events.batch import unmarked
from actorstream.events.fields import WATERMARK
from actorstream.ordering.timestamp import (
    Ascending,
    Sorted,
    Unsorted,
    placed,
    repeated,
    times_of,
    ungathered_times,
)
from actorstream.plan.edge_schemas import TIME
from actorstream.runtime.lineage import dropped
from actorstream.runtime.stamp import REPLICA_SHIFT, Stamp
from actorstream.runtime.timestamp.ties import by_value
from actorstream.topology.serial import POSITION
from actorstream.topology.timestamp import ORIGIN
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN
from actorstream.windows.watermark import AT_END

if TYPE_CHECKING:
    from collections.abc import Collection

    from actorstream.events.batch import Batch
    from actorstream.runtime.replica import Replica
    from actorstream.topology.timestamp import Sequenced

CONSUMER = "an input in timestamp order"


class TimestampStamp(Stamp):
    """Puts the rows that a replica emits in order.

    Args:
        described: says how. sorts: whether the rows of a source come out of order."""

    by_time = True

    def __init__(self, replica: Replica, described: Sequenced, *, sorts: bool) -> None:
        super().__init__(replica)
        self.described, self.sorts = described, sorts
        kind = Sorted if sorts or described.fires else Ascending
        self._sequences = {output: kind() for output in sorted(described.outputs)}
        self._is_source = type(replica.actor).role == "source"
        self._counts = dict.fromkeys(described.outputs, 0)
        self._base = replica.replica << REPLICA_SHIFT
        self._hook = ""
        self._floor = FRONTIER_MIN

    def refuses(self, output: str) -> bool:
        """Whether rows that an output emits out of order are an error."""
        return type(self._sequences.get(output)) is Ascending

    def forward(self, batch: Batch, output: str) -> None:
        sequence = self._sequences.get(output)
        if sequence is None or not batch.rows:
            self.replica.send(batch, output)
            return
        batch = batch.sealed()  # type: ignore[assignment]
        if self._is_source:
            batch = self._of_source(batch)
            if not batch.rows:
                return
        carried = batch.carried()
        if WATERMARK in carried:  # rows in timestamp order are in time, whatever they descend from
            batch = unmarked(batch)
        if self.described.columns and not self.described.places:
            batch = self._descended(batch, output, carried)
        times, index = ungathered_times(batch)
        if times is None or (self._hook == "on_end" and not self._keeps_time(batch)):
            batch, times = self._timed(batch)
            index = None
        try:
            out = sequence.take(batch, times, index)
        except Unsorted as error:
            raise self._refused(error, batch, output) from None
        if out is not None:
            self._go(out, output)

    def _go(self, batch: Batch, output: str) -> None:
        if self.described.places and not self._is_source and self.described.columns:
            batch = batch.with_system(
                **{ORIGIN: repeated(0, batch.rows), POSITION: self._running(output, batch.rows)}
            )
        self.replica.send(batch, output)

    def _of_source(self, batch: Batch) -> Batch:
        """The rows of a source with their places; late rows are sent to the output `late`."""
        columns = self.described.columns
        if columns and ORIGIN not in batch.carried():
            source: Any = self.replica.actor
            batch = placed(batch, source.origin, source.row)
        if self.sorts and WATERMARK in batch.carried():
            late = batch.system[WATERMARK].data > FRONTIER_MIN
            rows = batch.take(late)
            self.replica.context.count_late(rows.rows)
            self.replica.send(rows, "late")
            batch = batch.take(~late)
        return batch

    def _descended(self, batch: Batch, output: str, carried: Collection[str]) -> Batch:
        """The rows of an operator, which carry some columns, with the places of the rows that they descend from."""
        described = self.described
        system: dict[str, Any] = {}
        if described.ordinal:
            system[described.ordinal] = self._base + self._running(output, batch.rows)
        missing = [name for name in described.columns if name != described.ordinal and name not in carried]
        if missing and ORIGIN not in missing and POSITION not in missing:  # ordinals of other inputs
            system.update({name: repeated(0, batch.rows) for name in missing})
            missing = []
        if missing and self._hook:
            system.update({name: repeated(-1, batch.rows) for name in missing})
        elif missing:
            raise self.replica.unfit(dropped(batch, missing[0], CONSUMER))
        return batch.with_system(**system) if system else batch

    def _running(self, output: str, rows: int) -> np.ndarray:
        first = self._counts[output]
        self._counts[output] = first + rows
        return np.arange(first, first + rows)

    def _keeps_time(self, batch: Batch) -> bool:
        """Whether rows emitted at the end keep their event time: it is a field of theirs, or that of rows held back. Any
        other time may or may not be below what was promised, depending on the run."""
        return self.replica.promises.holds_back or batch.schema.user.event_time is not None

    def _timed(self, batch: Batch) -> tuple[Batch, np.ndarray]:
        """Gives rows that descend from no row an event time: just below the heartbeat that fired them, or the last of all."""
        if not self._hook:
            raise self.replica.unfit(dropped(batch, "event time", CONSUMER))
        time = (
            max(self.replica.promises.frontier - 1, FRONTIER_MIN + 1)
            if self._hook == "on_heartbeat"
            else self.replica.promises.frontier
        )
        time = max(time, self._floor)
        if self._hook == "on_end":
            time = AT_END
        times = np.full(batch.rows, min(time, AT_END), np.int64)
        return batch.with_system(**{TIME: times}), times

    def _refused(self, error: Unsorted, batch: Batch, output: str) -> Exception:
        if self._is_source:
            source: Any = self.replica.actor
            names = source.partitions()
            where = names[source.origin] if source.origin < len(names) else ""
            return error.in_source(batch, source.row, where, f"source {self.replica.name!r}: ")
        row, after = error.told(batch)
        return OperatorError(
            self.replica.name,
            self.replica.replica,
            f"emitted {row!r} of event time {error.time} to output {output!r} after {after}; allowed: event times that "
            "do not descend, since it has a consumer in timestamp order (keep the event time of the input row, or "
            "override promise)",
        )

    def promise(self, frontier: int) -> None:
        if frontier > AT_END:
            return  # the last rows are still to come; the end is promised behind them
        promised = self.replica.promises.of(frontier)
        self._let_go(promised)
        self.replica.promises.send(promised)

    def _let_go(self, frontier: int) -> None:
        for output, sequence in self._sequences.items():
            out = sequence.release(frontier)
            if out is not None:
                if self.described.sorts_ties:
                    out = by_value(out, times_of(out), self.described.tie_fields)
                self._go(out, output)

    def begins(self, hook: str) -> None:
        self._hook = hook

    def ends(self, hook: str) -> None:
        self._hook = ""
        if hook == "on_end":
            self._let_go(FRONTIER_END)
            self.replica.promises.send(FRONTIER_END)

    # -- checkpoints

    def snapshot(self) -> Any:
        """The rows that wait for their place, how far each output has got, and how many rows were counted."""
        return {
            "sequences": {output: sequence.snapshot() for output, sequence in self._sequences.items()},
            "counts": self._counts,
        }

    def restore(self, snapshot: Any) -> None:
        for output, each in snapshot["sequences"].items():
            self._sequences[output].restore(each, self.replica.schemas[output])
        self._counts.update(snapshot["counts"])
        self._floor = max((each[0] for each in snapshot["sequences"].values()), default=FRONTIER_MIN)
