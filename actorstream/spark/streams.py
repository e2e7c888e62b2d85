"""Streams that a pipeline returns: what rows there are, and how they lie in files. Writing them is `write.py`'s.

A row is a function of its number (or of the block that it is made in) and of the seed, never of the partition of Spark that
happens to make it; so is the file that it lies in. The same options give the same bytes, however many tasks there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, Problem
from actorstream.spark.parts import MOST_FILES, FileFormat

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Make = Callable[[int], Iterable[Any]]
"""Number of a block -> its rows, as Arrow record batches or tables, in their order."""

READ_ROWS = 1 << 16
"""Rows that a generator is asked for at once."""


@dataclass(frozen=True)
class StreamBlocks:
    """A stream that is made block by block in the order of time: block n is file n. Nothing is shuffled.

    Args:
        name: its folder.
        make: called in a task.
        blocks: how many there are, at most 100,000. ConfigurationError: there are more.
        event_time: the field that is the event time; None: a table without one.
    """

    name: str
    make: Make
    blocks: int
    event_time: str | None = None
    how: FileFormat = field(default_factory=lambda: FileFormat("csv"))

    def __post_init__(self) -> None:
        if self.blocks > MOST_FILES:
            what = f"are {self.blocks:,}, each of them a file"
            why = "sources read files in the order of their names: make fewer and larger blocks"
            raise ConfigurationError(Problem(f"blocks of {self.name!r}", what, f"0 to {MOST_FILES:,}", why))


@dataclass(frozen=True)
class StreamRows:
    """A stream whose rows Spark sorts.

    Args:
        name: its folder.
        rows: the columns of the files, and those that `order` and `file` need.
        columns: of the files, in this order.
        order: columns that put the rows in a total order, the event time first.
        file: the number of the file that a row lies in; must not descend in that order.
        event_time: the field that is the event time; None: rows without one.
        valid: what is wrong -> a condition (SQL) that holds for every row; a row for which it does not is an error.
    """

    name: str
    rows: DataFrame
    columns: Sequence[str]
    order: Sequence[str]
    file: Column
    event_time: str | None = None
    how: FileFormat = field(default_factory=lambda: FileFormat("csv"))
    valid: Mapping[str, str] = field(default_factory=dict)


def from_blocks(spark: SparkSession, make: Make, blocks: int, schema: Any) -> DataFrame:
    """A DataFrame of blocks, with the columns `block` and `row` (its place in the block) behind those of `schema`, a
    pyarrow schema."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    whole = schema.append(pa.field("block", pa.int64())).append(pa.field("row", pa.int64()))

    def rows(numbers: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for block in _numbers(numbers):
            row = 0
            for batch in batches_of(make(block)):
                places = pa.array(range(row, row + batch.num_rows), pa.int64())
                columns = [batch.column(name).cast(schema.field(name).type) for name in schema.names]
                columns += [pa.array([block] * batch.num_rows, pa.int64()), places]
                yield pa.RecordBatch.from_arrays(columns, schema=whole)
                row += batch.num_rows

    return spark.range(0, blocks, 1, min(blocks, 1024)).mapInArrow(rows, from_arrow_schema(whole))


def generated(keys: Mapping[str, Any], block_rows: int) -> Make:
    """The blocks of `generator-source` with such keys (one shard): the same rows as a topology has from it."""

    def make(block: int) -> Iterator[Any]:
        import pyarrow as pa

        from actorstream.connectors.generator import GeneratorSource

        source = GeneratorSource(**keys)
        names = source.partitions()
        source.open(names)
        source.seek({names[0]: block * block_rows})
        left = block_rows
        while left and (batch := source.read(min(left, READ_ROWS))) is not None:
            left -= batch.rows
            rows = batch.arrow()
            yield pa.table({name: _plain(rows.column(name)) for name in batch.schema.names()})

    return make


def batches_of(made: Iterable[Any]) -> Iterator[Any]:
    """Record batches of what `make` gave."""
    for each in made:
        if hasattr(each, "to_batches"):
            yield from each.to_batches()
        else:
            yield each


def _plain(array: Any) -> Any:
    import pyarrow as pa

    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _numbers(batches: Iterator[Any]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
