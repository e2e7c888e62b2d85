"""DeltaLog: the log of a Delta table in a folder: which files are its rows, version by version. Writes no rows, and needs
neither Spark nor a package of Delta's.

A version is a file of JSON lines that appears as a whole and never changes, so whoever reads the table sees all files of a
commit or none. The versions written here need readers of protocol version 1 and writers of version 2, as all are."""

from __future__ import annotations

import json
import os
import secrets
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from actorstream.connectors.staged_file import make_folder, sync_folder
from actorstream.errors import Problem, RunError
from actorstream.spark.partitioned import NULL, StagedPart

FOLDER = "_delta_log"
ENGINE = "actorstream"
READER, WRITER = 1, 2
"""The versions of the protocol."""


class DeltaLog:
    """The log of the table in a folder, which need not be there yet.

    Args:
        table: the folder.

    Attributes:
        version: the latest one that was read; -1: there is none.
        active: the files of the table at that version, relative to the folder.
    """

    def __init__(self, table: Path) -> None:
        self.table = table
        self.version = -1
        self.active: dict[str, None] = {}
        self.begins = 0
        """The first version that is there; engines may remove old ones."""
        self._added: set[str] = set()
        self._metadata: dict[str, Any] | None = None
        self._protocol: dict[str, Any] = {}
        found = sorted(int(path.stem) for path in (table / FOLDER).glob("*.json") if path.stem.isdigit())
        if found:
            self.begins = found[0]
            self.version = found[0] - 1
        self.read()

    def read(self) -> None:
        """Reads the versions that came since."""
        while (path := self._path(self.version + 1)).exists():
            for line in path.read_text().splitlines():
                self._take(json.loads(line))
            self.version += 1

    def check(self, schema: str, fields: Sequence[str]) -> list[Problem]:
        """Finds the reasons why rows of a schema cannot be added to the table."""
        problems = []
        needs = int(self._protocol.get("minWriterVersion", WRITER))
        if needs > WRITER:
            hint = "turn the table's features off, or write elsewhere"
            what = f"{str(self.table)!r} is a Delta table for writers of version {needs}"
            problems.append(Problem("path", what, f"version {WRITER}", hint))
        known = self._metadata
        if known is not None and _fields(known["schemaString"]) != _fields(schema):
            what = f"{str(self.table)!r} is a table of {_told(known['schemaString'])}, and the rows have {_told(schema)}"
            problems.append(Problem("path", what, "the same fields"))
        if known is not None and known["partitionColumns"] != list(fields):
            what = f"is {list(fields)}, and the table's is {known['partitionColumns']}"
            problems.append(Problem("partition_by", what, "the same"))
        return problems

    def commit(
        self, schema: str, fields: Sequence[str], parts: Iterable[StagedPart], removed: Iterable[str] = ()
    ) -> None:
        """Makes a version in which these files are added, and others removed; the table too, if there is none. What an earlier
        call has done is not done again. RunError: the storage refuses it."""
        parts, removed = list(parts), list(removed)
        while True:
            self.read()
            actions = [] if self.version >= 0 else list(_created(schema, fields))
            actions += [self._add(part) for part in parts if path_of(part) not in self._added]
            actions += [_remove(path) for path in removed if path in self.active]
            if not actions or self._publish([_about(), *actions]):
                return

    def _take(self, action: dict[str, Any]) -> None:
        if "add" in action:
            path = unquote(action["add"]["path"])
            self.active[path] = None
            self._added.add(path)
        elif "remove" in action:
            path = unquote(action["remove"]["path"])
            self.active.pop(path, None)
            if (action["remove"].get("tags") or {}).get("by") == ENGINE:  # a file of its name may follow
                self._added.discard(path)
        self._metadata = action.get("metaData", self._metadata)
        self._protocol = action.get("protocol", self._protocol)

    def _publish(self, actions: list[dict[str, Any]]) -> bool:
        """Writes the next version. False: somebody else has."""
        final = self._path(self.version + 1)
        make_folder(final.parent)
        written = final.parent / f".{final.name}.{secrets.token_hex(6)}.tmp"
        try:
            with written.open("x") as file:
                file.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in actions)
                file.flush()
                os.fsync(file.fileno())
            os.link(written, final)  # fails if the version is there, as a rename would not
        except FileExistsError:
            return False
        except OSError as error:
            raise RunError(
                f"version {self.version + 1} of {str(self.table)!r} cannot be written: {error}"
            ) from error
        finally:
            written.unlink(missing_ok=True)
        sync_folder(final.parent)
        return True

    def _path(self, version: int) -> Path:
        return self.table / FOLDER / f"{version:020d}.json"

    def _add(self, part: StagedPart) -> dict[str, Any]:
        path = path_of(part)
        modified = (self.table / path).stat().st_mtime_ns // 1_000_000
        values = dict(_value(each) for each in part.folder.split("/") if each)
        return {
            "add": {
                **{"path": quote(path, safe="/="), "partitionValues": values, "size": part.bytes},
                **{"modificationTime": modified, "dataChange": True},
            }
        }


def path_of(part: StagedPart) -> str:
    """The place of a file, relative to the table's folder."""
    return f"{part.folder}/{part.name}" if part.folder else part.name


def delta_schema(schema: Any) -> str:
    """An Arrow schema of types that Spark has as Delta writes it down."""
    import pyarrow as pa

    names = {
        **{pa.bool_(): "boolean", pa.int8(): "byte", pa.int16(): "short", pa.int32(): "integer"},
        **{pa.int64(): "long", pa.float32(): "float", pa.float64(): "double", pa.binary(): "binary"},
        **{pa.string(): "string", pa.large_string(): "string", pa.large_binary(): "binary"},
    }
    fields = []
    for field in schema:
        if pa.types.is_decimal(field.type):
            kind = f"decimal({field.type.precision},{field.type.scale})"
        else:
            kind = "timestamp" if pa.types.is_timestamp(field.type) else names[field.type]
        fields.append({"name": field.name, "type": kind, "nullable": field.nullable, "metadata": {}})
    return json.dumps({"type": "struct", "fields": fields})


def _created(schema: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield {"protocol": {"minReaderVersion": READER, "minWriterVersion": WRITER}}
    yield {
        "metaData": {
            **{
                "id": str(uuid.uuid4()),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
            },
            **{"partitionColumns": list(fields), "configuration": {}, "createdTime": _now_ms()},
        }
    }


def _about() -> dict[str, Any]:
    return {"commitInfo": {"timestamp": _now_ms(), "operation": "WRITE", "engineInfo": ENGINE}}


def _remove(path: str) -> dict[str, Any]:
    about = {"deletionTimestamp": _now_ms(), "dataChange": True, "tags": {"by": ENGINE}}
    return {"remove": {"path": quote(path, safe="/="), **about}}


def _value(folder: str) -> tuple[str, str | None]:
    """A partition field and its value, from the name of a folder."""
    name, _, value = folder.partition("=")
    return unquote(name), None if value == NULL else unquote(value)


def _fields(schema: str) -> list[tuple[str, Any]]:
    return [(field["name"], field["type"]) for field in json.loads(schema)["fields"]]


def _told(schema: str) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in _fields(schema))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
