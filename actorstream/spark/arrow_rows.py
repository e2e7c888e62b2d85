"""Rows of actors as Arrow batches of types that Spark has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.connectors import parquet_sink

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema


def arrow_schema(schema: Schema) -> Any:
    """The Arrow schema of rows as `arrow_rows` gives them."""
    return spark_types(parquet_sink.file_schema(schema))


def arrow_rows(batch: Batch) -> Any:
    """The rows as a RecordBatch."""
    return as_spark_has(parquet_sink.arrow_rows(batch))


def as_spark_has(rows: Any) -> Any:
    """A RecordBatch with the types that Spark has."""
    import pyarrow as pa

    schema = spark_types(rows.schema)
    columns = [column.cast(field.type) for column, field in zip(rows.columns, schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def spark_types(schema: Any) -> Any:
    """An Arrow schema with the types that Spark has: numbers without a sign are wider ones, categories are text."""
    import pyarrow as pa

    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    fields = []
    for field in schema:
        kind = pa.string() if pa.types.is_dictionary(field.type) else wider.get(field.type, field.type)
        fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields)
