"""RowGroups: Parquet files whose row groups follow one another in time, so that their rows need no sort over the whole table.
Reads footers only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from actorstream.native.kernels import hash_bytes
from actorstream.spark.lanes import DAY_US

_LEGACY = b"org.apache.spark.legacy"
"""Begins names in the metadata of files whose dates Spark moves from one calendar to another."""


class RowGroup(NamedTuple):
    """A row group of a file, by what its footer says.

    Attributes:
        path, number: the file, and the place of the group in it.
        rows: how many.
        least, greatest: event times, as `lanes.times_of` has them.
    """

    path: str
    number: int
    rows: int
    least: int
    greatest: int


class RowGroups(NamedTuple):
    """All row groups of a table, by time.

    Attributes:
        groups: none of them begins before the one in front of it has ended.
        fields: the schema of the rows, as Arrow's.
        digest: of the footers, and of the sizes and dates of the files.
    """

    groups: list[RowGroup]
    fields: Any
    digest: int

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups)

    def bounds(self, range_rows: int) -> list[int]:
        """Numbers of the groups at which ranges of at least so many rows begin, but for the first range."""
        found, rows = [], 0
        for number, group in enumerate(self.groups):
            if rows >= range_rows:
                found.append(number)
                rows = 0
            rows += group.rows
        return found


def groups_in_order(path: Path, columns: Sequence[str], event_time: str) -> RowGroups | None:
    """The row groups of a file, of the files of a folder, or of a glob, by time. None: they overlap in time, or Arrow alone
    cannot tell which files and values Spark would find."""
    import pyarrow as pa

    found: list[RowGroup] = []
    noted, fields = [], None
    try:
        files = _files(path)
        for file in files or ():
            known = _groups_of(file, columns, event_time)
            if known is None or (fields is not None and fields != known[1]):
                return None
            groups, fields = known
            found += groups
            status = file.stat()
            noted.append((str(file), status.st_size, status.st_mtime_ns, [group[1:] for group in groups]))
    except (OSError, KeyError, ValueError, pa.ArrowException):
        return None  # Spark reads it, or says what is wrong
    found.sort(key=lambda group: group[3:] + group[:2])
    if not found or any(after.least < before.greatest for before, after in pairwise(found)):
        return None
    return RowGroups(found, fields, hash_bytes(repr(noted).encode()) % 2**31)


def dealt(groups: Sequence[RowGroup], bounds: Sequence[int], tasks: int) -> list[list[list[RowGroup]]]:
    """The groups of each task in each range: the tasks take turns, so that one reads ahead while another pushes."""
    edges = [0, *bounds, len(groups)]
    ranges = [groups[low:high] for low, high in pairwise(edges)]
    return [[list(part[task::tasks]) for task in range(tasks)] for part in ranges]


def _files(path: Path) -> list[Path] | None:
    """The files that Spark reads at a path. None: there are folders in it, whose names may be values of columns."""
    if path.is_file():
        return [path]
    found = path.iterdir() if path.is_dir() else path.parent.glob(path.name)
    shown = sorted(each for each in found if not each.name.startswith((".", "_")))
    return shown if all(each.is_file() for each in shown) else None


def _groups_of(path: Path, columns: Sequence[str], event_time: str) -> tuple[list[RowGroup], Any] | None:
    """The row groups of a file that have rows, and the schema of the columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        footer = file.metadata
        fields = pa.schema([_as_spark(file.schema_arrow.field(name)) for name in columns])
        if any(name.startswith(_LEGACY) for name in footer.metadata or ()):
            return None
        at = [column.path for column in file.schema].index(event_time)
        unit = DAY_US if pa.types.is_date(file.schema_arrow.field(event_time).type) else 1
        groups = []
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            if not group.num_rows:
                continue
            about = group.column(at).statistics
            if about is None or not about.has_min_max or not about.has_null_count or about.null_count:
                return None
            least, greatest = int(about.min_raw) * unit, int(about.max_raw) * unit
            groups.append(RowGroup(str(path), number, group.num_rows, least, greatest))
    return groups, fields


def _as_spark(field: Any) -> Any:
    """A field with the type that Spark gives it. ValueError: Spark may have other values for it than Arrow."""
    import pyarrow as pa

    kind = field.type
    kind = pa.string() if pa.types.is_large_string(kind) else kind
    kind = pa.binary() if pa.types.is_large_binary(kind) else kind
    times = (pa.timestamp("us"), pa.timestamp("us", "UTC"))
    same = (pa.bool_(), pa.date32(), pa.string(), pa.binary(), pa.float32(), pa.float64(), *times)
    if not pa.types.is_signed_integer(kind) and kind not in same:
        raise ValueError(f"{field.name} is {field.type}")
    return pa.field(field.name, kind)
