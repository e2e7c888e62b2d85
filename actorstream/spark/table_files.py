"""TableFiles: which Parquet files are the rows of a table whose format has versions. A sink adds files to it and removes some,
and no file comes twice."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Protocol

from actorstream.errors import NotInstalledError, Problem, RunError
from actorstream.spark.partitioned import StagedPart

PACKAGES = {"delta": "deltalake", "iceberg": "pyiceberg"}
"""Format -> the package that writes and reads its versions; the extra has the name of the format."""
_ATTEMPTS = 50
_PAUSE_S = 0.02


class TableFiles(Protocol):
    """A table, which need not be there yet, as `read` has found it.

    A writer is a replica of a run. Its files are numbered, and a version says up to which number it has them."""

    def read(self) -> None:
        """Looks at its latest version."""

    @property
    def exists(self) -> bool:
        """Whether there is a table."""

    def problems(self, fields: Sequence[str]) -> list[Problem]:
        """The reasons why rows cannot be added to the table; `fields`: those that partition it."""

    def files(self) -> list[str]:
        """The names of its files, as `commit` takes them."""

    def committed(self, writer: str) -> int:
        """The number behind the last file of a writer that a version knows."""

    def commit(
        self,
        added: Sequence[StagedPart],
        removed: Sequence[str],
        marks: dict[str, int],
        fields: Sequence[str],
    ) -> bool:
        """Makes the version behind the one that was read, and the table if there is none. `marks`: what `committed` says from
        then on. False: another writer was faster, read again."""


def add_files(
    table: TableFiles,
    parts: Iterable[StagedPart],
    removed: Iterable[str],
    writer: str,
    number: int,
    fields: Sequence[str],
) -> None:
    """Adds the files of a writer that no version knows yet, up to `number`, and removes others that are still there. RunError:
    other writers were always faster."""
    parts, removed = list(parts), list(removed)
    for attempt in range(_ATTEMPTS):
        table.read()
        known = table.committed(writer)
        new = [part for part in parts if number_of(part.name) >= known]
        gone = sorted(set(removed) & set(table.files())) if removed else []
        if table.exists and not new and not gone:
            return
        if table.commit(new, gone, {writer: max(number, known)}, fields):
            return
        time.sleep(_PAUSE_S * min(attempt, 10) * random.random())
    raise RunError(f"a version of {table} cannot be written: {_ATTEMPTS} times, another writer was faster")


def take_back(
    table: TableFiles, prefix: str, there: Iterable[str], number: int, fields: Sequence[str]
) -> int:
    """Removes what versions have of a writer from `number` on, after which a run goes on from an older checkpoint. `there`: the
    names of such files that the storage has. Returns the number of the next file. RunError: some of their rows are in other
    files by now."""
    writer, back = prefix, f"{prefix}back"
    while True:
        table.read()
        known, gone_before = table.committed(writer), table.committed(back)
        if known <= number:
            return number
        wanted = [path for path in table.files() if name_of(path).startswith(prefix)]
        wanted = [path for path in wanted if number_of(name_of(path)) >= number]
        known_names = {name_of(path) for path in wanted}
        for name in there:
            if gone_before <= number_of(name) < known and name not in known_names:
                raise RunError(
                    f"{table} has the rows of {name!r} in another file: it was compacted after the checkpoint from which this "
                    "run goes on; restore an older version of it, or begin anew"
                )
        if not wanted or table.commit([], wanted, {back: known}, fields):
            return known


def unlike(
    key: str, table: str, theirs: Sequence[tuple[str, str]], ours: Sequence[tuple[str, str]]
) -> list[Problem]:
    """A problem of `key` if a table has other fields than the rows. Each field: its name and its type."""
    if theirs == ours:
        return []
    named = [", ".join(f"{name} {kind}" for name, kind in fields) for fields in (theirs, ours)]
    return [
        Problem(key, f"{table!r} is a table of {named[0]}, and the rows have {named[1]}", "the same fields")
    ]


def other_partition(theirs: Sequence[str], ours: Sequence[str]) -> list[Problem]:
    """A problem if a table is partitioned by other fields than the sink."""
    if list(theirs) == list(ours):
        return []
    return [Problem("partition_by", f"is {list(ours)}, and the table's is {list(theirs)}", "the same")]


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def number_of(name: str) -> int:
    """The number of a file among those of its writer."""
    return int(name.rpartition("-")[2].partition(".")[0])


def installed(what: str, format: str) -> list[Problem]:
    """A problem if the package of a format is missing."""
    if find_spec(PACKAGES[format]) is not None:
        return []
    return [Problem("format", str(NotInstalledError(f"{what} with format = {format!r}", format)))]
