"""Delta and Iceberg tables as inputs where Spark has no such data source: a package says which Parquet files are the rows of a
version, and Spark reads them. What files alone do not say is an error. Runs in the driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from actorstream.errors import ActorstreamError, ConfigurationError, NotInstalledError, Problem
from actorstream.spark.failure import SparkError, cause
from actorstream.spark.partitioned import NULL
from actorstream.spark.table_files import PACKAGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_JARS = {
    "delta": 'spark."spark.jars.packages" = "io.delta:delta-spark_2.13:…"',
    "iceberg": 'spark."spark.jars.packages" = "org.apache.iceberg:iceberg-spark-runtime-…"',
}
_VERSION = {"delta": "versionAsOf", "iceberg": "snapshot-id"}
"""Format -> the option of Spark's reader that names a version."""
_DELTA_FEATURES = {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features of tables that the files of a version can be read with, if the first two are not used."""
_FOOTERS_AT_ONCE = 16


class TableVersion(NamedTuple):
    """A version of a table.

    Attributes:
        number: by which the table names it; None: the table is empty.
        schema: Spark's.
        files: the Parquet files.
        base: the folder below which names of folders are values of columns; None: files have all columns.
    """

    number: int | None
    schema: Any
    files: list[str]
    base: str | None = None


def has_source(error: Exception) -> bool:
    """Whether an error of Spark says something else than that it has no data source of the format."""
    return "DATA_SOURCE_NOT_FOUND" not in str(error)


def read_version(
    spark: SparkSession, keys: Mapping[str, Any], version: int | None
) -> tuple[DataFrame, int | None]:
    """The rows of a table of the format of the keys, and the number of the version: `version`, or else the one that the options
    name, or the latest. ConfigurationError: there is no such table or version, or Spark needs the format's own jar."""
    format = keys["format"]
    if find_spec(PACKAGES[format]) is None:
        raise NotInstalledError(f"spark-source with format = {format!r}, where Spark lacks its jar,", format)
    option = _VERSION[format]
    if others := sorted(set(keys["options"]) - {option}):
        what = f"{others[0]!r} is an option of Spark's own reader of {format}, which this session lacks"
        raise ConfigurationError(Problem("options", what, f"{option}, or {_JARS[format]}"))
    wanted = version if version is not None else keys["options"].get(option)
    try:
        number = None if wanted is None else int(wanted)
        found = (_delta if format == "delta" else _iceberg)(keys, number)
        reader = spark.read.schema(found.schema)
        if found.base is not None:
            reader = reader.option("basePath", found.base)
        return reader.parquet(*found.files), found.number
    except ActorstreamError:
        raise
    except Exception as error:
        if version is not None:
            what = f"version {version}, which the checkpoint names, cannot be read: {cause(error)}"
            raise ConfigurationError(
                Problem(
                    "table",
                    what,
                    "a version whose files are there",
                    "restore them, or begin without --resume",
                )
            ) from None
        raise SparkError(f"the {format} table {_name(keys)!r}: {cause(error)}") from None


def _name(keys: Mapping[str, Any]) -> str:
    return str(keys.get("table_name") or keys.get("path"))


def _needs_jar(keys: Mapping[str, Any], what: str) -> ConfigurationError:
    format = keys["format"]
    hint = f"Spark reads it itself with {_JARS[format]}, for its own version"
    return ConfigurationError(Problem("table", f"{_name(keys)!r} {what}", "a table without", hint))


def _delta(keys: Mapping[str, Any], version: int | None) -> TableVersion:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyspark.sql.types import StructType

    table = DeltaTable(keys["path"], version=version)
    about, features = table.metadata(), set(table.protocol().reader_features or ())
    mapping = about.configuration.get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise _needs_jar(keys, f"has column mapping ({mapping})")
    if unknown := sorted(features - _DELTA_FEATURES):
        raise _needs_jar(keys, f"has the feature {unknown[0]}")
    if "deletionVectors" in features and any(batch.num_rows for batch in table.deletion_vectors()):
        raise _needs_jar(keys, "has deletion vectors")
    files = table.file_uris()
    if about.partition_columns:
        actions = pa.table(table.get_add_actions())
        for path, values in zip(actions.column("path").to_pylist(), actions.column("partition").to_pylist()):
            if not _names_values(path, about.partition_columns, values):
                raise _needs_jar(keys, f"has files whose folders do not name their partition: {path!r}")
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    return TableVersion(
        table.version(), schema, [_of_spark(file) for file in files], _of_spark(table.table_uri)
    )


def _names_values(path: str, columns: Sequence[str], values: Mapping[str, Any]) -> bool:
    """Whether the folders of a path say the partition columns, and values as far as every writer writes them alike."""
    folders = [folder.partition("=") for folder in unquote(path).split("/")[:-1]]
    told = {unquote(name): None if value == NULL else unquote(value) for name, _, value in folders}
    alike = (str, int, bool, type(None))
    return list(told) == list(columns) and all(
        not isinstance(values[name], alike)
        or (value if value is None else value.lower()) == _as_text(values[name])
        for name, value in told.items()
    )


def _as_text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value).lower()


def _iceberg(keys: Mapping[str, Any], version: int | None) -> TableVersion:
    from pyspark.sql.pandas.types import from_arrow_schema

    table = _iceberg_table(keys)
    snapshot = table.current_snapshot() if version is None else table.snapshot_by_id(version)
    if snapshot is None and version is not None:
        raise ValueError(f"there is no snapshot {version}")
    scan = table.scan(snapshot_id=version)  # the latest one with the columns that the table has now
    schema, tasks = scan.projection(), list(scan.plan_files())
    if any(task.delete_files for task in tasks):
        raise _needs_jar(keys, "has delete files")
    formats = {str(getattr(task.file.file_format, "value", task.file.file_format)).lower() for task in tasks}
    if others := sorted(formats - {"parquet"}):
        raise _needs_jar(keys, f"has files of the format {others[0]}")
    nested = [field.name for field in schema.fields if not field.field_type.is_primitive]
    has_evolved = len(table.schemas()) > 1
    if nested and has_evolved:
        raise _needs_jar(keys, f"has the nested column {nested[0]!r} and has had other columns")
    if has_evolved or any(spec.fields for spec in table.specs().values()):
        _check_footers(keys, table, schema, [task.file.file_path for task in tasks])
    files = [_of_spark(task.file.file_path) for task in tasks]
    found = from_arrow_schema(schema.as_arrow(), prefer_timestamp_ntz=True)
    return TableVersion(None if snapshot is None else snapshot.snapshot_id, found, files)


def _iceberg_table(keys: Mapping[str, Any]) -> Any:
    from pyiceberg.table import StaticTable

    from actorstream.spark.iceberg_table import open_catalog

    if keys.get("catalog"):
        return open_catalog(keys["catalog"]).load_table(keys["table_name"])
    return StaticTable.from_metadata(keys["path"])


def _check_footers(keys: Mapping[str, Any], table: Any, schema: Any, files: Sequence[str]) -> None:
    """Spark finds columns by name, Iceberg by number: ConfigurationError if a file has other columns under a name."""
    import pyarrow.parquet as pq

    mapping = table.name_mapping()
    mapped = {} if mapping is None else {name: each.field_id for each in mapping for name in each.names}
    partition = {field.source_id for spec in table.specs().values() for field in spec.fields}

    def wrong(path: str) -> str:
        with table.io.new_input(path).open() as file:
            footer = pq.read_schema(file)
        numbers = {}
        for field in footer:
            number = (field.metadata or {}).get(b"PARQUET:field_id")
            numbers[field.name] = mapped.get(field.name) if number is None else int(number)
        names = {number: name for name, number in numbers.items()}
        for field in schema.fields:
            if names.get(field.field_id, field.name) != field.name:
                return f"has renamed the column {field.name!r}, which was {names[field.field_id]!r}"
            if field.field_id in names:
                continue
            if field.name in numbers:
                return f"has had another column {field.name!r} before"
            if field.field_id in partition:
                return f"has files without the partition column {field.name!r}"
            if getattr(field, "initial_default", None) is not None:
                return f"has a default value for the column {field.name!r}, which older files lack"
        return ""

    check: Callable[[str], str] = wrong
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        for problem in pool.map(check, files):
            if problem:
                raise _needs_jar(keys, problem)


def _of_spark(url: str) -> str:
    """The URL of a file as Hadoop's file systems name it."""
    scheme, found, rest = url.partition("://")
    return f"s3a://{rest}" if found and scheme in ("s3", "s3n") else url
