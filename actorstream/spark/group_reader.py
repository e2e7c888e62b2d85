"""Reads the row groups that a Spark task was dealt, by Arrow: the rows of each by time. Runs in the task's Python process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from actorstream.errors import DataError
from actorstream.spark.lanes import times_of
from actorstream.spark.row_groups import RowGroup


def group_batches(groups: Sequence[RowGroup], fields: Any, event_time: str, batch_rows: int) -> Iterator[Any]:
    """Record batches of the schema `fields` with at most so many rows. A group whose rows do not come by time is read whole
    and sorted; equal times stay as they were. DataError: a footer says other times than the rows have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [field.name for field in fields]
    for group in groups:
        with pq.ParquetFile(group.path) as file:
            column = file.read_row_group(group.number, columns=[event_time], use_threads=False).column(0)
            times = times_of(column)
            if (len(times), int(times.min()), int(times.max())) != group[2:]:
                what = f"row group {group.number} has {len(times)} rows with times from {times.min()} to {times.max()}, "
                raise DataError(
                    f"{what}and the footer says {group.rows} from {group.least} to {group.greatest}: the file has "
                    "changed since it was opened, or is damaged",
                    file=group.path,
                )
            batches: Iterator[Any]
            if bool(np.all(times[1:] >= times[:-1])):
                batches = file.iter_batches(
                    batch_rows, row_groups=[group.number], columns=names, use_threads=False
                )
            else:
                whole = file.read_row_group(group.number, columns=names, use_threads=False).combine_chunks()
                order = pa.array(np.argsort(times, kind="stable"))
                batches = iter(whole.take(order).to_batches(batch_rows))
            for batch in batches:
                columns = [with_zeros(batch.column(field.name).cast(field.type)) for field in fields]
                yield pa.RecordBatch.from_arrays(columns, schema=fields)


def with_zeros(column: Any) -> Any:
    """The column with zeros below its nulls, so that equal rows give equal bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not column.null_count or pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return column
    return pc.take(column, pa.array(np.arange(len(column))))  # type: ignore[attr-defined]
