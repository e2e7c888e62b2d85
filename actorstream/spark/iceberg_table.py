"""IcebergFiles: the files of an Iceberg table in a catalog, by the package `pyiceberg`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from actorstream.errors import Problem, RunError
from actorstream.spark.partitioned import StagedPart
from actorstream.spark.table_files import other_partition, unlike

_MARK = "actorstream.committed."
"""Begins the names of properties of a table that say up to which number it has a writer's files. A property stays when
snapshots expire, as what a snapshot says of itself does not."""


class IcebergFiles:
    """An Iceberg table.

    Args:
        name: of the table in the catalog, with its namespace: `db.results`.
        catalog: properties of the catalog, as PyIceberg takes them: `type`, `uri`, `warehouse`, …
        folder: where its files lie; the place of the table if it is made.
        schema: of the rows, as Arrow's.
    """

    def __init__(self, name: str, catalog: Mapping[str, str], folder: Path, schema: Any) -> None:
        self.name, self.folder = name, folder
        self._properties, self._arrow = dict(catalog), schema
        self._catalog: Any = None
        self._table: Any = None
        """As it was read; None: there is none."""

    def __str__(self) -> str:
        return f"the Iceberg table {self.name!r}"

    def read(self) -> None:
        from pyiceberg.exceptions import NoSuchTableError

        with self._failing():
            self._catalog = self._catalog or open_catalog(self._properties)
            try:
                self._table = self._catalog.load_table(self.name)
            except NoSuchTableError:
                self._table = None

    def problems(self, fields: Sequence[str]) -> list[Problem]:
        if (table := self._table) is None:
            return []
        ours = _fields(iceberg_schema(self._arrow))
        problems = unlike("table", self.name, _fields(table.schema()), ours)
        names = {field.field_id: field.name for field in table.schema().fields}
        columns = [
            names.get(each.source_id, each.name) if str(each.transform) == "identity" else str(each)
            for each in table.spec().fields
        ]
        return problems + other_partition(columns, fields)

    @property
    def exists(self) -> bool:
        return self._table is not None

    def files(self) -> list[str]:
        return [] if self._table is None else [file.file_path for file in _data_files(self._table)]

    def committed(self, writer: str) -> int:
        return 0 if self._table is None else int(self._table.properties.get(_MARK + writer, 0))

    def commit(
        self,
        added: Sequence[StagedPart],
        removed: Sequence[str],
        marks: dict[str, int],
        fields: Sequence[str],
    ) -> bool:
        from pyiceberg.exceptions import (
            CommitFailedException,
            CommitStateUnknownException,
            TableAlreadyExistsError,
            ValidationException,
        )

        paths = [self._uri(part) for part in added]
        with self._failing():
            try:
                table = self._table or self._create(fields)
                # Without retries of its own: they add the files again even if another process has added them meanwhile.
                table.metadata.properties["commit.retry.num-retries"] = "0"
                change = table.transaction()
                if removed:
                    with change.update_snapshot().overwrite() as overwriting:
                        for file in _data_files(table):
                            if file.file_path in set(removed):
                                overwriting.delete_data_file(file)
                if paths:
                    change.add_files(paths, check_duplicate_files=False)
                # Last, since the package copies all metadata for each look at a change that has begun.
                change.set_properties({_MARK + name: str(number) for name, number in marks.items()})
                change.commit_transaction()
            except (
                CommitFailedException,
                CommitStateUnknownException,
                TableAlreadyExistsError,
                ValidationException,
            ):
                return False
        return True

    def _create(self, fields: Sequence[str]) -> Any:
        from pyiceberg.partitioning import PartitionField, PartitionSpec
        from pyiceberg.transforms import IdentityTransform

        schema = iceberg_schema(self._arrow)
        parts = [
            PartitionField(schema.find_field(name).field_id, 1000 + number, IdentityTransform(), name)
            for number, name in enumerate(fields)
        ]
        self._catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        return self._catalog.create_table(
            self.name, schema, f"file://{self.folder.resolve()}", PartitionSpec(*parts)
        )

    def _uri(self, part: StagedPart) -> str:
        folder = f"{part.folder}/" if part.folder else ""
        return f"file://{self.folder.resolve()}/{folder}{part.name}"

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Whatever a catalog raises, of which there are many kinds, as an error of the table."""
        try:
            yield
        except RunError:
            raise
        except Exception as error:
            raise RunError(f"{self}: {' '.join(str(error).split())[:400]}") from error


def open_catalog(properties: Mapping[str, str]) -> Any:
    """The catalog with these properties, of which `name` is its name; unless set, `default`, as it is in PyIceberg."""
    from pyiceberg.catalog import load_catalog

    return load_catalog(properties.get("name", "default"), **properties)


def iceberg_schema(schema: Any) -> Any:
    """An Arrow schema of types that Spark has, as Iceberg's. KeyError: Spark has no such type."""
    import pyarrow as pa
    from pyiceberg import types
    from pyiceberg.schema import Schema

    names = {
        **{
            pa.bool_(): types.BooleanType(),
            pa.float32(): types.FloatType(),
            pa.float64(): types.DoubleType(),
        },
        **{pa.int8(): types.IntegerType(), pa.int16(): types.IntegerType(), pa.int32(): types.IntegerType()},
        **{pa.int64(): types.LongType(), pa.string(): types.StringType(), pa.binary(): types.BinaryType()},
        **{pa.large_string(): types.StringType(), pa.large_binary(): types.BinaryType()},
    }
    fields = []
    for number, field in enumerate(schema, 1):
        kind: Any
        if pa.types.is_decimal(field.type):
            kind = types.DecimalType(field.type.precision, field.type.scale)
        else:
            kind = types.TimestamptzType() if pa.types.is_timestamp(field.type) else names[field.type]
        fields.append(types.NestedField(number, field.name, kind, required=False))
    return Schema(*fields)


def _data_files(table: Any) -> list[Any]:
    return [task.file for task in table.scan().plan_files()]


def _fields(schema: Any) -> list[tuple[str, str]]:
    return [(field.name, str(field.field_type)) for field in schema.fields]
