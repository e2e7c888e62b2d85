"""Delta and Iceberg tables as inputs: which files Spark is given, and what they alone do not say. Without a JVM."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.expressions import EqualTo
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestWriterV2
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

from actorstream.errors import ConfigurationError, NotInstalledError
from actorstream.spark import table_input
from actorstream.spark.failure import SparkError
from actorstream.spark.iceberg_table import open_catalog
from actorstream.spark.table_input import TableVersion, _delta, _iceberg, _of_spark, read_version
from tests.spark.inputs import catalog_in

B85 = f"{digits}{ascii_uppercase}{ascii_lowercase}!#$%&()*+-;<=>?@^_`{{|}}~"
Z85 = f"{digits}{ascii_lowercase}{ascii_uppercase}.-:+=^!/*?&<>()[]{{}}@%$#"
MAPPING = "delta.columnMapping"
ROWS = pa.table({"ts": [3, 1], "town": ["A/B", None]})


def delta(path: Path, version: int | None = None) -> TableVersion:
    return _delta({"format": "delta", "path": str(path)}, version)


def iceberg(folder: Path, version: int | None = None) -> TableVersion:
    keys = {"format": "iceberg", "table_name": "db.rows", "catalog": catalog_in(folder)}
    return _iceberg(keys, version)


def iceberg_table(folder: Path, rows: pa.Table = ROWS) -> Any:
    catalog = open_catalog(catalog_in(folder))
    catalog.create_namespace("db")
    made = catalog.create_table("db.rows", rows.schema, location=f"file://{folder}/rows")
    made.append(rows)
    return made


def changed(table: Path, **actions: dict[str, Any]) -> None:
    """Gives actions of the table's first version other values, as engines with more features write them."""
    log = table / "_delta_log/00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        for name, values in actions.items():
            line.get(name, {}).update(values)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_version_of_a_delta_table_stays_what_it_was(tmp_path: Path) -> None:
    write_deltalake(tmp_path, ROWS, partition_by=["town"])
    write_deltalake(tmp_path, ROWS, mode="overwrite")
    first, last = delta(tmp_path, 0), delta(tmp_path)
    assert (first.number, last.number) == (0, 1)
    assert first.schema.simpleString() == "struct<ts:bigint,town:string>"
    assert sorted(first.files) != sorted(last.files)
    assert all(Path(file).exists() for file in [*first.files, *last.files])


def test_a_snapshot_of_an_iceberg_table_stays_what_it_was(tmp_path: Path) -> None:
    made = iceberg_table(tmp_path)
    first = iceberg(tmp_path)
    made.overwrite(ROWS.slice(0, 1))
    assert iceberg(tmp_path, first.number) == first
    assert iceberg(tmp_path).files != first.files
    assert first.schema.simpleString() == "struct<ts:bigint,town:string>"


def test_a_table_without_rows_has_no_files(tmp_path: Path) -> None:
    catalog = open_catalog(catalog_in(tmp_path))
    catalog.create_namespace("db")
    catalog.create_table("db.rows", ROWS.schema, location=f"file://{tmp_path}/rows")
    assert iceberg(tmp_path)[0::2] == (None, [])


def test_what_files_of_a_delta_table_do_not_say_names_the_jar(tmp_path: Path) -> None:
    write_deltalake(tmp_path, ROWS)
    fields = json.loads(DeltaTable(tmp_path).schema().to_json())
    for number, field in enumerate(fields["fields"], 1):
        field["metadata"] = {f"{MAPPING}.id": number, f"{MAPPING}.physicalName": f"col-{number}"}
    changed(
        tmp_path,
        metaData={"schemaString": json.dumps(fields), "configuration": {f"{MAPPING}.mode": "name"}},
        protocol={"minReaderVersion": 2, "minWriterVersion": 5},
    )
    with pytest.raises(ConfigurationError, match=r"has column mapping \(name\).*io\.delta:delta-spark"):
        delta(tmp_path)


def test_deletion_vectors_name_the_jar(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"ts": range(30)}))
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    changed(tmp_path, protocol={"minReaderVersion": 3, "minWriterVersion": 7, **features})
    assert len(delta(tmp_path).files) == 1
    # the rows 3 and 4: Delta's number, one bitmap, its key; and the bitmap with one container of an array
    bitmap = struct.pack("<IQI IIHHI HH", 1681511377, 1, 0, 12346, 1, 0, 1, 16, 3, 4)
    text = base64.b85encode(bitmap).decode().translate(str.maketrans(B85, Z85))
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(bitmap), "cardinality": 2}
    changed(tmp_path, add={"deletionVector": vector})
    with pytest.raises(ConfigurationError, match="has deletion vectors"):
        delta(tmp_path)


def test_folders_of_a_delta_table_that_say_nothing_name_the_jar(tmp_path: Path) -> None:
    write_deltalake(tmp_path, ROWS.slice(0, 1), partition_by=["town"])
    (file,) = DeltaTable(tmp_path).file_uris()
    Path(file).rename(tmp_path / "plain.parquet")
    log = tmp_path / "_delta_log/00000000000000000000.json"
    log.write_text(log.read_text().replace(f"town=A%252FB/{Path(file).name}", "plain.parquet"))
    with pytest.raises(ConfigurationError, match="has files whose folders do not name their partition"):
        delta(tmp_path)


def test_a_column_of_an_iceberg_table_that_was_another_one_names_the_jar(tmp_path: Path) -> None:
    made = iceberg_table(tmp_path)
    with made.update_schema() as change:
        change.add_column("more", made.schema().find_type("ts"))
    assert iceberg(tmp_path).schema.names == ["ts", "town", "more"]  # files without it have nulls
    with made.update_schema() as change:
        change.rename_column("town", "city")
    with pytest.raises(
        ConfigurationError, match=r"renamed the column 'city', which was 'town'.*iceberg-spark"
    ):
        iceberg(tmp_path)
    with made.update_schema() as change:
        change.rename_column("city", "town").delete_column("ts")
    with made.update_schema() as change:
        change.add_column("ts", made.schema().find_type("more"))
    with pytest.raises(ConfigurationError, match="has had another column 'ts' before"):
        iceberg(tmp_path)


def test_files_without_their_partition_column_name_the_jar(tmp_path: Path) -> None:
    made = iceberg_table(tmp_path)
    pq.write_table(ROWS.select(["ts"]), tmp_path / "more.parquet")
    made.add_files([f"file://{tmp_path}/more.parquet"])
    with made.update_spec() as change:
        change.add_field("town", IdentityTransform(), "town")
    with pytest.raises(ConfigurationError, match="has files without the partition column 'town'"):
        iceberg(tmp_path)


def test_delete_files_name_the_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = iceberg_table(tmp_path)
    (file,) = iceberg(tmp_path).files
    pq.write_table(pa.table({"file_path": [file], "pos": [0]}), tmp_path / "deletes.parquet")
    deletes = {"file_path": f"file://{tmp_path}/deletes.parquet", "file_format": FileFormat.PARQUET}
    about = DataFile.from_args(
        **{**deletes, "content": DataFileContent.POSITION_DELETES, "partition": Record()},
        **{"record_count": 1, "file_size_in_bytes": (tmp_path / "deletes.parquet").stat().st_size},
    )
    about.spec_id = 0
    # PyIceberg writes none itself
    monkeypatch.setattr(ManifestWriterV2, "content", lambda self: ManifestContent.DELETES)
    with made.transaction() as change, change.update_snapshot().fast_append() as adding:
        adding.append_data_file(about)
    with pytest.raises(ConfigurationError, match="has delete files"):
        iceberg(tmp_path)


def test_rows_that_were_deleted_by_a_copy_are_gone(tmp_path: Path) -> None:
    made = iceberg_table(tmp_path)
    made.delete(EqualTo("ts", 3))
    (file,) = iceberg(tmp_path).files
    assert pq.read_table(file.removeprefix("file://")).column("ts").to_pylist() == [1]


@pytest.mark.parametrize(
    ("keys", "version", "error", "says"),
    [
        ({}, 7, ConfigurationError, "version 7, which the checkpoint names, cannot be read"),
        ({"path": "/nowhere"}, None, SparkError, "the delta table '/nowhere': "),
        (
            {"options": {"header": "true"}},
            None,
            ConfigurationError,
            "'header' is an option of Spark's own reader",
        ),
        ({"options": {"versionAsOf": "x"}}, None, SparkError, "invalid literal"),
        (
            {
                "format": "iceberg",
                "table_name": "db.none",
                "catalog": {"type": "sql", "uri": "sqlite:////no/a.db"},
            },
            *(None, SparkError, "the iceberg table 'db.none': .*unable to open database file"),
        ),
    ],
)
def test_a_version_that_is_not_there_is_one_message(
    tmp_path: Path, keys: dict[str, Any], version: int | None, error: type[Exception], says: str
) -> None:
    write_deltalake(tmp_path, ROWS)
    keys = {"format": "delta", "path": str(tmp_path), "options": {}, **keys}
    with pytest.raises(error, match=says) as raised:
        read_version(None, keys, version)  # type: ignore[arg-type]
    assert len(str(raised.value).splitlines()) <= 15


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table_input.PACKAGES, "iceberg", "pyiceberg_of_nobody")
    with pytest.raises(NotInstalledError, match=r"pip install 'actorstream\[iceberg\]'"):
        read_version(None, {"format": "iceberg"}, None)  # type: ignore[arg-type]


def test_storage_is_named_as_hadoop_names_it() -> None:
    assert _of_spark("s3://bucket/a.parquet") == "s3a://bucket/a.parquet"
    assert _of_spark("/a b.parquet") == "/a b.parquet"
