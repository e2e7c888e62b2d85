"""spark-sink: results as a folder of Parquet files, or a Delta table, that Spark reads, visible from checkpoint to checkpoint.
Needs neither Spark nor Java: the files are Arrow's."""

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
from actorstream.spark.delta_log import FOLDER, DeltaLog, delta_schema
from actorstream.spark.partitioned import PartitionedFiles, StagedPart
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

STAGING = "_actorstream"
"""The folder of files that are not visible yet, in the table's; Spark passes over names that begin so."""
Mode = Literal["error", "append", "overwrite"]


class SparkSink(Sink):
    """Writes a folder of Parquet files, in folders `field=value` if there are partition fields.

    Args:
        path: the folder.
        format: "parquet", or "delta": a log in the folder names the files, so that those of a commit are visible at once.
        partition_by: fields whose values name the folders, outermost first.
        mode: what happens to files that are there when a run begins anew: "error", "append" (they stay) or "overwrite"
            (they are removed with the first commit; a Delta table keeps them for its versions before). A run that is resumed
            goes on with its own.
        compression: of the column chunks.

    `prepare` ends the files so far and keeps them in a staging folder; `commit` moves them to their places. A token names
    all files that were prepared and may not have been moved, so that the token of the latest checkpoint is enough.
    """

    contract: ClassVar[Contract] = Contract(one_stream=True, file_format="parquet", keeps_by_keys=True)
    input_schema: Schema | None = None

    def __init__(
        self,
        path: Path,
        *,
        format: Literal["parquet", "delta"] = "parquet",
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
        self.format = format
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
        self._log: DeltaLog | None = None

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
        if self.format == "delta" and (before or (self.path / FOLDER).exists()):
            before = self._table_before()
        self._replaced = before if self.mode == "overwrite" else []
        self._clean_up()

    def _table_before(self) -> list[str]:
        """The files of the Delta table that is there. ConfigurationError: rows cannot be added to it."""
        log = DeltaLog(self.path)
        problems = [] if self.input_schema is None else log.check(self._delta_schema(), self.partition_by)
        if log.version < 0:
            problems.append(
                Problem("path", f"{str(self.path)!r} is no Delta table", "one, or an empty folder")
            )
        elif self.mode == "error":
            problems.append(
                Problem("path", f"{str(self.path)!r} is a Delta table", 'mode = "append" or "overwrite"')
            )
        elif self.mode == "overwrite" and log.begins:
            what = f"is 'overwrite', and the log of {str(self.path)!r} begins at version {log.begins}"
            problems.append(
                Problem("mode", what, "append, or another folder", "old versions have been removed")
            )
        if problems:
            raise ConfigurationError(problems)
        return list(log.active)

    def _delta_schema(self) -> str:
        assert self.input_schema is not None
        return delta_schema(arrow_schema(self.input_schema))

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
            prefix = f"{self._prefix}{self._run}-"
            self._files = PartitionedFiles(
                self.path / STAGING, prefix, schema, self.partition_by, compression, self._next
            )
        return self._files

    @property
    def _prefix(self) -> str:
        """Of the names of all files of this replica."""
        return f"part-{self._context.replica if self._context is not None else 0:05d}-"

    # -- two phases

    def prepare(self, barrier: int) -> dict[str, Any]:
        self._write()
        schema, is_delta = self.input_schema, self.format == "delta"
        if (
            barrier == END
            and not self._wrote
            and not self.partition_by
            and schema is not None
            and not is_delta
        ):
            self._partitioned(parquet_sink.file_schema(schema)).write_empty()
            self._wrote = True
        if self._files is not None:
            self._waiting += self._files.end()
            self._next = self._files.number
        self._prepared = {
            **{"path": str(self.path), "end": barrier == END, "kept": self._kept, "wrote": self._wrote},
            **{"run": self._run, "next": self._next},
            **{"files": [list(part) for part in self._waiting], "replaced": list(self._replaced)},
            "delta": [self._delta_schema(), self.partition_by] if is_delta and schema is not None else None,
        }
        self._kept = self._kept or barrier != END
        return self._prepared  # type: ignore[no-any-return]

    def commit(self, token: dict[str, Any]) -> None:
        """Moves the files of the token to their places. RunError: one of them is gone."""
        path, parts = Path(token["path"]), [StagedPart(*each) for each in token["files"]]
        for old in token["replaced"] if token["delta"] is None else ():
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
        if token["delta"] is not None:
            self._log = self._log or DeltaLog(path)
            schema, fields = token["delta"]
            self._log.commit(schema, fields, parts, token["replaced"])
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
            moved = []  # by a checkpoint after this one, which cannot be read
            for path in visible(self.path):
                number = path.stem.removeprefix(f"{self._prefix}{self._run}-")
                if number.isdigit() and int(number) >= self._next:
                    moved.append(path)
            if moved and snapshot["delta"] is not None:
                gone = [str(path.relative_to(self.path)) for path in moved]
                schema, fields = snapshot["delta"]
                DeltaLog(self.path).commit(schema, fields, [], gone)
            for path in moved:
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
