"""spark-sink: results as a folder of Parquet files, a Delta table or an Iceberg table that Spark reads, visible from checkpoint
to checkpoint. Needs neither Spark nor Java: the files are Arrow's."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from actorstream.actors.contract import Contract
from actorstream.connectors import parquet_sink
from actorstream.connectors.parquet_sink import GROUP_BYTES, GROUP_ROWS
from actorstream.connectors.sink import END, Sink
from actorstream.connectors.staged_file import make_folder, sync_folder
from actorstream.errors import ConfigurationError, Problem, RunError
from actorstream.events.fields import FLOATS, Kind
from actorstream.spark.arrow_rows import arrow_rows, arrow_schema
from actorstream.spark.delta_table import DeltaFiles
from actorstream.spark.iceberg_table import IcebergFiles
from actorstream.spark.partitioned import PartitionedFiles, StagedPart
from actorstream.spark.table_files import PACKAGES, TableFiles, add_files, installed, number_of, take_back
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

STAGING = "_actorstream"
"""The folder of files that are not visible yet, in the table's; Spark passes over names that begin so."""
Mode = Literal["error", "append", "overwrite"]
_ICEBERG = {
    "table": 'the name of a table with its namespace, such as "db.results"',
    "catalog": 'the properties of a catalog, such as { type = "rest", uri = "https://…" }',
}


class SparkSink(Sink):
    """Writes a folder of Parquet files, in folders `field=value` if there are partition fields.

    Args:
        path: the folder.
        format: "parquet"; or "delta" or "iceberg": a table whose versions name the files, so that those of a commit are
            visible at once.
        table, catalog: of iceberg: the table's name with its namespace, and the properties of its catalog as PyIceberg takes
            them, such as `{ type = "rest", uri = "https://…" }`.
        partition_by: fields whose values name the folders, outermost first.
        mode: what happens to files that are there when a run begins anew: "error", "append" (they stay) or "overwrite"
            (they are removed with the first commit; a table with versions keeps them for those before). A run that is
            resumed goes on with its own.
        compression: of the column chunks.

    `prepare` ends the files so far and keeps them in a staging folder; `commit` moves them to their places. A token names
    all files that were prepared and may not have been moved, so that the token of the latest checkpoint is enough.
    """

    contract: ClassVar[Contract] = Contract(
        one_stream=True, file_format="parquet", keeps_by_keys=True, free_keys=("catalog",)
    )
    input_schema: Schema | None = None

    def __init__(
        self,
        path: Path,
        *,
        format: Literal["parquet", "delta", "iceberg"] = "parquet",
        table: str | None = None,
        catalog: dict[str, str] | None = None,
        partition_by: list[str] | None = None,
        mode: Mode = "error",
        compression: Literal["snappy", "zstd", "gzip", "lz4", "none"] = "snappy",
    ) -> None:
        self.path, self.partition_by, self.mode, self.compression = (
            path,
            partition_by or [],
            mode,
            compression,
        )
        self.format, self._table_name, self._catalog = format, table or "", catalog or {}
        self._run = secrets.token_hex(6)
        self._files: PartitionedFiles | None = None
        self._gathered: list[Any] = []
        self._rows = self._bytes = 0
        self._waiting: list[StagedPart] = []
        """Prepared, and not known to be in their places."""
        self._replaced: list[str] = []
        """Files of earlier runs that go with the first commit."""
        self._next = 0
        """The number of the next file of this run."""
        self._resumed = self._kept = self._wrote = False
        self._opened: TableFiles | None = None

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = []
        if len({schema.user.fingerprint for schema in inputs}) > 1:
            problems.append(Problem("inputs", "have different fields", "inputs of one schema"))
        names = list(inputs[0].names()) if inputs else []
        chosen = keys.get("partition_by") or []
        for name in chosen if inputs else ():
            if name not in names:
                hint = did_you_mean(name, names)
                problems.append(Problem("partition_by", f"there is no field {name!r}", listed(names), hint))
            elif inputs[0].field(name).kind in FLOATS | {Kind.BYTES, Kind.MSGPACK}:
                kind = inputs[0].field(name).kind.value
                allowed = "fields of whole numbers, text, booleans and times"
                problems.append(Problem("partition_by", f"{name!r} is of the type {kind}", allowed))
        if len(set(chosen)) < len(chosen) or (names and not set(names) - set(chosen)):
            problems.append(
                Problem(
                    "partition_by", f"is {chosen}", "some of the fields, each once; the files have the others"
                )
            )
        format = keys.get("format", "parquet")
        if format in PACKAGES:
            problems += installed("spark-sink", format)
        for name in ("table", "catalog"):
            if bool(keys.get(name)) != (format == "iceberg"):
                what = "is missing" if format == "iceberg" else f"is given, and format is {format!r}"
                allowed = _ICEBERG[name] if format == "iceberg" else 'no such key, or format = "iceberg"'
                problems.append(Problem(name, what, allowed))
        if format == "iceberg" and "." not in str(keys.get("table") or "."):
            problems.append(Problem("table", f"is {keys['table']!r}", _ICEBERG["table"]))
        blocking = base / keys["path"] if "path" in keys else base
        blocking = next((each for each in (blocking, *blocking.parents) if each.exists()), blocking)
        if not blocking.is_dir():
            problems.append(Problem("path", f"{str(blocking)!r} is a file", "a folder, which may be new"))
        return problems

    @classmethod
    def files_written(cls, keys: dict[str, Any], replicas: int) -> list[str]:
        """The folder, so that nobody in its topology writes into it."""
        return [f"{keys['path']}/"]

    # -- rows in

    def on_start(self) -> None:
        if self._resumed:
            return
        before = [str(path) for path in visible(self.path)]
        if before and self.mode == "error":
            allowed = 'an empty folder, or mode = "append" or "overwrite"'
            what = f"{str(self.path)!r} has files of a run before, such as {before[0]!r}"
            raise ConfigurationError(
                Problem("path", what, allowed, "--resume goes on with an interrupted run")
            )
        if (table := self._table()) is not None:
            before = self._table_before(table, before)
        self._replaced = before if self.mode == "overwrite" else []
        self._clean_up()

    def _table_before(self, table: TableFiles, before: list[str]) -> list[str]:
        """The files of the table that is there. ConfigurationError: rows cannot be added to it."""
        table.read()
        problems = table.problems(self.partition_by)
        if before and not table.exists:
            what = f"{str(self.path)!r} has files such as {before[0]!r}, and there is no {self.format} table"
            problems.append(Problem("path", what, "a table, or an empty folder"))
        elif table.exists and self.mode == "error":
            what = f"is 'error', and {table} is there"
            problems.append(Problem("mode", what, '"append" or "overwrite", or another table'))
        if problems:
            raise ConfigurationError(problems)
        return table.files() if self.mode == "overwrite" else []

    def _table(self) -> TableFiles | None:
        """The table whose versions name the files; None: files are visible by their places alone."""
        if self._opened is None and self.format != "parquet" and self.input_schema is not None:
            schema = arrow_schema(self.input_schema)
            if self.format == "delta":
                self._opened = DeltaFiles(self.path, schema)
            else:
                self._opened = IcebergFiles(self._table_name, self._catalog, self.path, schema)
        return self._opened

    def on_batch(self, batch: Batch) -> None:
        own = batch.compact()  # what waits must not keep the memory of its jumbo tuple
        self._gathered.append(parquet_sink.arrow_rows(own) if self.format == "parquet" else arrow_rows(own))
        self._rows += own.rows
        self._bytes += own.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        if not self._gathered:
            return
        table = pa.Table.from_batches(self._gathered)
        self._gathered, self._rows, self._bytes = [], 0, 0
        self._partitioned(table.schema).write(table)
        self._wrote = True

    def _partitioned(self, schema: Any) -> PartitionedFiles:
        if self._files is None:
            compression = None if self.compression == "none" else self.compression
            prefix = self._writer
            self._files = PartitionedFiles(
                *(self.path / STAGING, prefix, schema, self.partition_by, compression, self._next),
                keep=self.format == "iceberg",
            )
        return self._files

    @property
    def _prefix(self) -> str:
        """Of the names of all files of this replica."""
        return f"part-{self._context.replica if self._context is not None else 0:05d}-"

    @property
    def _writer(self) -> str:
        """Begins the names of its files of this run."""
        return f"{self._prefix}{self._run}-"

    # -- two phases

    def prepare(self, barrier: int) -> dict[str, Any]:
        self._write()
        schema, is_plain = self.input_schema, self.format == "parquet"
        if barrier == END and not self._wrote and not self.partition_by and schema is not None and is_plain:
            self._partitioned(parquet_sink.file_schema(schema)).write_empty()
            self._wrote = True
        if self._files is not None:
            self._waiting += self._files.end()
            self._next = self._files.number
        self._prepared = {
            **{"path": str(self.path), "end": barrier == END, "kept": self._kept, "wrote": self._wrote},
            **{"run": self._run, "writer": self._writer, "next": self._next},
            **{"files": [list(part) for part in self._waiting], "replaced": list(self._replaced)},
        }
        self._kept = self._kept or barrier != END
        return self._prepared  # type: ignore[no-any-return]

    def commit(self, token: dict[str, Any]) -> None:
        """Moves the files of the token to their places, and makes a version of the table that has them. RunError: one of them
        is gone."""
        path, parts = Path(token["path"]), [StagedPart(*each) for each in token["files"]]
        table = self._table()
        for old in token["replaced"] if table is None else ():
            Path(old).unlink(missing_ok=True)
        changed = set()
        for part in parts:
            staged, final = path / STAGING / part.name, path / part.folder / part.name
            if staged.exists():
                make_folder(final.parent)
                staged.replace(final)
                changed.add(final.parent)
            elif not final.exists() or final.stat().st_size != part.bytes:
                raise RunError(f"{str(final)!r} cannot be committed: its staged file is gone; run again")
        for folder in changed:
            sync_folder(folder)
        if table is not None:
            add_files(table, parts, token["replaced"], token["writer"], token["next"], self.partition_by)
        moved = {part.name for part in parts}
        self._waiting = [part for part in self._waiting if part.name not in moved]
        self._replaced = [] if token["replaced"] else self._replaced
        if token["end"]:
            self._remove_staging()

    def abort(self, token: dict[str, Any] | None) -> None:
        if token is None:
            if self._files is not None:
                self._files.drop()
            self._gathered = []
        elif token["end"] and not token["kept"]:
            for part in (StagedPart(*each) for each in token["files"]):
                (Path(token["path"]) / STAGING / part.name).unlink(missing_ok=True)
        self._remove_staging()

    def snapshot(self) -> dict[str, Any] | None:
        """The token of the latest `prepare`."""
        prepared: dict[str, Any] | None = self._prepared
        return prepared

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        self._resumed = True
        if snapshot is not None:
            self._kept, self._wrote = True, snapshot["wrote"]
            self._waiting = [StagedPart(*each) for each in snapshot["files"]]
            self._replaced = list(snapshot["replaced"])
            self._run, self._next = snapshot["run"], snapshot["next"]
            names = (path for path in visible(self.path) if path.name.startswith(self._writer))
            moved = {  # by a checkpoint after this one, which cannot be read
                path.name: path for path in names if number_of(path.name) >= self._next
            }
            if (table := self._table()) is not None:
                self._next = take_back(table, self._writer, moved, self._next, self.partition_by)
            for path in moved.values():
                path.unlink()
        self._clean_up()

    def _clean_up(self) -> None:
        """Removes what processes before this one staged for this replica and no checkpoint names."""
        known = {part.name for part in self._waiting}
        for path in (self.path / STAGING).glob(f"{self._prefix}*"):
            if path.name not in known:
                path.unlink(missing_ok=True)

    def _remove_staging(self) -> None:
        try:
            (self.path / STAGING).rmdir()
        except OSError:
            pass  # other replicas have files in it, or it was never made


def visible(path: Path) -> Iterator[Path]:
    """The files below a folder that Spark reads: neither their names nor those of their folders begin with `_` or `.`."""
    for found in sorted(path.rglob("*")) if path.is_dir() else ():
        parts = found.relative_to(path).parts
        if found.is_file() and not any(part.startswith((".", "_")) for part in parts):
            yield found
