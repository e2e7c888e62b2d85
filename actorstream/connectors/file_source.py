"""FileSource: what all sources that read files share: partitions, positions, passes, limits, and bad rows.

A subclass says how one file is opened as a `Partition`, and which schema files have that name no event class.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

from actorstream.connectors.checks import field_problems
from actorstream.connectors.dead_rows import MOST
from actorstream.connectors.declared import declared_schema, with_time
from actorstream.connectors.files import is_stream, list_files, stream_problem, total_bytes
from actorstream.connectors.partition_reader import PartitionReader
from actorstream.connectors.source import NO_MORE, Source
from actorstream.connectors.source_keys import SourceKeys
from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from actorstream.connectors.dead_rows import BadRow
    from actorstream.connectors.partition import Partition
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

EVERYTHING = 2**62
"""More records than any file has."""
"""The next step where a row that does not parse ends the run."""


class FileSource(Source):
    """Reads files one after the other, in name order. One file is one partition; its name is its path.

    Args:
        path: a file, a directory, or a glob; `.gz`, `.bz2`, `.zst` and `.lz4` files are decompressed while reading.
        event: the class of the rows; or
        schema: field name -> type ("int", "float32", "str?", ...; "?" allows nulls); or neither: the file says it.
        repeat: how often each file is read, 0: without end.
        count: rows in all, in the order of the input, whatever the number of replicas; rows that do not parse are
            counted.
    The other keys are those of `Source`.
    """

    reads_pipes: ClassVar[Literal["no", "declared", "yes"]] = "declared"
    """Whether a pipe can be read: only where `event` or `schema` says its fields, since it is not opened before the run."""

    def __init__(self, path: Path, **keys: Unpack[SourceKeys]) -> None:
        super().__init__(**keys)
        self.path = Path(path)
        self._files: list[str] | None = None
        self._turn: deque[str] = deque()
        self._wanted: dict[str, int] = {}
        self._done_rows: dict[str, int] = {}
        self._done_bytes = self._total_bytes = 0
        self._latest: dict[str, int] = {}
        self._bound: int | None = None
        self._current: PartitionReader | None = None
        self._name = ""

    # -- what a format says -------------------------------------------------------------------------------

    def open_file(self, path: str) -> Partition:
        """One file, to be read from its beginning. Raises DataError, SchemaError."""
        raise NotImplementedError

    @classmethod
    def file_schema(cls, path: str, keys: Mapping[str, Any]) -> Schema:
        """The schema of a file that nobody has declared one for. Raises DataError, SchemaError."""
        raise NotImplementedError

    @classmethod
    def import_readers(cls) -> None:
        """Imports what reading needs (some 50 ms), so that the first row does not wait for it."""

    @classmethod
    def check_file(cls, path: str, schema: Schema, keys: Mapping[str, Any]) -> None:
        """Raises DataError or SchemaError if it can be seen without reading all of it that `path` cannot
        be read."""

    # -- schema and checks --------------------------------------------------------------------------------

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default", *cls.outputs)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        """Declared by `event` or `schema`, else by the first file in name order."""
        found = declared_schema(keys)
        if found is None:
            first = list_files(keys["path"])[0]
            if cls.reads_pipes != "yes" and is_stream(first):
                what = f"{first!r} is a pipe or a device, which is not read before the run"
                raise ConfigurationError(
                    Problem("path", what, "with `event` or `schema`, which say its fields")
                )
            found, problems = with_time(cls.file_schema(first, keys), keys)
            if problems:
                raise ConfigurationError(problems)
        return {**cls.outputs, "default": found}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = super().check(keys, inputs, base)
        if "path" not in keys or problems:
            return problems
        keys = {**keys, "path": base / keys["path"]}
        try:
            files = list_files(keys["path"])
            schema = cls.output_types(keys, inputs)["default"]
            cls.import_readers()  # workers that are forked from here have them
            for file in files:
                if is_stream(file):
                    problems.extend(filter(None, [stream_problem(file)]))
                    if cls.reads_pipes == "no":
                        what = f"{file!r} is a pipe or a device, which this format cannot be read from"
                        problems.append(Problem("path", what, "a file"))
                    continue
                cls.check_file(file, schema, keys)  # type: ignore[arg-type]
            problems.extend(field_problems(keys, schema))  # type: ignore[arg-type]
        except ConfigurationError as error:
            problems.extend(error.problems)
        except ActorstreamError as error:
            problems.append(Problem("path", str(error)))
        return problems

    @classmethod
    def files_read(cls, keys: dict[str, Any]) -> list[str]:
        """The files that a source with these keys reads, so that nobody in its topology writes one of them."""
        try:
            return list_files(keys["path"])
        except ConfigurationError:
            return []

    # -- the source protocol ------------------------------------------------------------------------------

    def partitions(self) -> list[str]:
        if self._files is None:
            self._files = list_files(self.path)
        return self._files

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        self.import_readers()
        self._total_bytes = total_bytes(partitions) * max(self.repeat, 1)
        self._wanted = self._shares(partitions)
        self.seek({})

    def seek(self, positions: dict[str, int]) -> None:
        self.on_stop()
        self._done_bytes = 0
        self._latest.clear()
        self._bound = None
        self._turn = deque(self._opened or [])
        self._done_rows = {name: positions.get(name, 0) for name in self._turn}

    def read(self, max_rows: int) -> Batch | None:
        while True:
            if self._current is None:
                if not self._turn:
                    self._bound = NO_MORE
                    return None
                self._current = self._start(self._turn.popleft())
            found = self._current.rows(max_rows)
            if found is not None:
                self.row, batch = found
                self._promise(batch)
                return batch
            self._done_rows[self._name] = self._current.position
            self._done_bytes += self._current.size * max(self.repeat, 1)
            self._latest[self._name] = NO_MORE
            self._current.close()
            self._current = None

    def position(self) -> dict[str, int]:
        positions = dict(self._done_rows)
        if self._current is not None:
            positions[self._name] = self._current.position
        return positions

    def lower_bound(self, now_ns: int) -> int | None:
        """A partition promises its greatest event time so far - `max_out_of_orderness`; the source the
        least of them."""
        return self._bound

    def progress(self) -> tuple[int, int]:
        current = self._current.done if self._current is not None else 0
        return min(self._done_bytes + current, self._total_bytes), self._total_bytes

    def on_stop(self) -> Any:
        if self._current is not None:
            self._current.close()
            self._current = None

    def keys(self) -> dict[str, Any]:
        return {**super().keys(), "path": self.path}

    # -- inside -------------------------------------------------------------------------------------------

    def _start(self, name: str) -> PartitionReader:
        self._name = name
        self.origin = self.partitions().index(name) if name in self.partitions() else 0
        return PartitionReader(
            lambda: self.open_file(name),
            name,
            Path(name).stat().st_size,
            start=self._done_rows[name],
            repeat=self.repeat,
            wanted=self._wanted.get(name, EVERYTHING),
            on_bad=self._drop,
        )

    def _shares(self, partitions: list[str]) -> dict[str, int]:
        """Partition -> rows of it that are among the first `count` of the whole input."""
        if self.count is None:
            return {}
        shares, left = {}, self.count
        for name in self.partitions():
            if name in partitions:
                shares[name] = left
            if len(shares) == len(partitions):
                break
            file = self.open_file(name) if left else None
            if file is not None:
                try:
                    found = file.skip(left if self.repeat == 1 else EVERYTHING)
                finally:
                    file.close()
                left -= min(left, left if self.repeat == 0 and found else found * self.repeat)
        return shares

    def _drop(self, bad: BadRow) -> bool:
        self.leave_out(bad, self._name)
        return self.bad_rows % MOST == 0

    def _promise(self, batch: Batch) -> None:
        times = batch.time_range() if batch.schema.event_time is not None else None
        if times is None:
            return
        self._latest[self._name] = max(times[1], self._latest.get(self._name, times[1]))
        if len(self._latest) == len(self._opened or []):
            units = batch.schema.time_units_in(self.max_out_of_orderness or timedelta(0))
            least = min(self._latest.values())
            self._bound = least if least == NO_MORE else least - units
