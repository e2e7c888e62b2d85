"""DeltaFiles: the files of a Delta table in a folder, by the package `deltalake`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from actorstream.connectors.staged_file import sync_folder
from actorstream.errors import Problem, RunError
from actorstream.spark.partitioned import NULL, StagedPart, force
from actorstream.spark.table_files import other_partition, unlike


class DeltaFiles:
    """A Delta table.

    Args:
        folder: of the table.
        schema: of the rows, as Arrow's.
    """

    def __init__(self, folder: Path, schema: Any) -> None:
        self.folder, self._arrow = folder, schema
        self._table: Any = None
        """As it was read; None: there is none."""

    def __str__(self) -> str:
        return f"the Delta table {str(self.folder)!r}"

    def read(self) -> None:
        with self._failing():
            self._table = self._latest()

    def problems(self, fields: Sequence[str]) -> list[Problem]:
        if (table := self._table) is None:
            return []
        problems = unlike("path", str(self.folder), _fields(table.schema()), _fields(self._schema()))
        problems += other_partition(table.metadata().partition_columns, fields)
        mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
        if mapping != "none":
            what = f"{str(self.folder)!r} is a Delta table with column mapping ({mapping})"
            problems.append(Problem("path", what, "one whose files have the names of its columns"))
        return problems

    @property
    def exists(self) -> bool:
        return self._table is not None

    def files(self) -> list[str]:
        import pyarrow as pa

        if self._table is None:
            return []
        paths = pa.table(self._table.get_add_actions()).column("path").to_pylist()
        return [unquote(path) for path in paths]

    def committed(self, writer: str) -> int:
        return 0 if self._table is None else self._table.transaction_version(writer) or 0

    def commit(
        self,
        added: Sequence[StagedPart],
        removed: Sequence[str],
        marks: dict[str, int],
        fields: Sequence[str],
    ) -> bool:
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError, DeltaError
        from deltalake.transaction import RemoveAction, create_table_with_add_actions

        transactions = [Transaction(name, number) for name, number in marks.items()]
        # without retries of its own: whoever lost looks again at what was committed
        properties = CommitProperties(app_transactions=transactions, max_commit_retries=0)
        actions: list[Any] = [self._add(part) for part in added]
        with self._failing():
            if self._table is None:
                try:
                    create_table_with_add_actions(
                        *(str(self.folder), self._schema(), actions, "error", list(fields)),
                        commit_properties=properties,
                    )
                except DeltaError:
                    if self._latest() is not None:
                        return False
                    raise
                self._force(0)
                return True
            actions += [RemoveAction(path, True, time.time_ns() // 1_000_000) for path in removed]
            version = self._table.version()
            try:
                self._table.create_write_transaction(
                    actions, "append", self._schema(), list(fields), commit_properties=properties
                )
            except CommitFailedError:
                if self._latest().version() > version:
                    return False
                raise
            self._force(self._table.version())
        return True

    def _force(self, version: int) -> None:
        """A checkpoint relies on the version, which the package does not force onto the disk."""
        path = self.folder / "_delta_log" / f"{version:020d}.json"
        if path.exists():  # not if another engine has cleaned the log up meanwhile
            force(path)
            sync_folder(path.parent)

    def _latest(self) -> Any:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        if not (self.folder / "_delta_log").is_dir():
            return None
        try:
            return DeltaTable(self.folder)
        except TableNotFoundError:
            return None

    def _schema(self) -> Any:
        from deltalake import Schema

        return Schema.from_arrow(self._arrow)

    def _add(self, part: StagedPart) -> Any:
        import pyarrow.parquet as pq
        from deltalake.transaction import AddAction

        path = f"{part.folder}/{part.name}" if part.folder else part.name
        full = self.folder / path
        values = dict(_value(each) for each in part.folder.split("/") if each)
        about = json.dumps({"numRecords": pq.read_metadata(full).num_rows})
        return AddAction(path, part.bytes, values, full.stat().st_mtime_ns // 1_000_000, True, about)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError) as error:
            raise RunError(f"{self}: {' '.join(str(error).split())}") from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            hint = ""
            if "Forked process" in str(error):
                hint = (
                    "; this process has read or written a Delta table before it started the run, and the package `deltalake` "
                    "does not work in a process that is forked afterwards: start the run by `actorstream launch`, or in a "
                    "process of its own"
                )
            raise RunError(
                f"{self}: the package `deltalake` has panicked: {_first_sentence(error)}{hint}"
            ) from error


def _first_sentence(error: BaseException) -> str:
    return " ".join(str(error).split()).partition(". ")[0]


def _value(folder: str) -> tuple[str, str | None]:
    """A partition field and its value, from the name of a folder."""
    name, _, value = folder.partition("=")
    return unquote(name), None if value == NULL else unquote(value)


def _fields(schema: Any) -> list[tuple[str, str]]:
    fields = json.loads(schema.to_json())["fields"]
    return [(field["name"], str(field["type"])) for field in fields]
