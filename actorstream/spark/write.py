"""Writing the streams of a pipeline, and the manifest that says what was written. The manifest is the last file written,
so a folder that has one is complete."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, DataError, Problem
from actorstream.spark.failure import spark_error
from actorstream.spark.parts import Part, write_part
from actorstream.spark.streams import StreamBlocks, StreamRows, _numbers, batches_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANIFEST = "manifest.json"
PARTIAL = f".{MANIFEST}.tmp"
"""The manifest while it is written."""
_PART = "path string, rows long, least long, greatest long, size long, sha256 string"
_FILE = "_file"


def check_folder(out: Path) -> list[str]:
    """The streams of an earlier run that are in the folder, if it is there. Removes nothing. ConfigurationError: something is in
    it that no pipeline has written."""
    if not out.exists():
        return []
    if not out.is_dir():
        raise ConfigurationError(Problem("--out", f"{str(out)!r} is a file", "a folder"))
    is_whole = (out / MANIFEST).exists()
    streams = list(read_manifest(out)["streams"]) if is_whole else []
    others = sorted({each.name for each in out.iterdir()} - {MANIFEST, PARTIAL, *streams})
    if others:
        what = f"that are not in its {MANIFEST}" if is_whole else f"and no {MANIFEST}"
        raise ConfigurationError(
            Problem(
                "--out",
                f"{str(out)!r} has files {what}, such as {others[0]!r}",
                "a folder that is empty, or that has only the complete output of an earlier run",
            )
        )
    return streams


def prepare_folder(out: Path) -> None:
    """Makes the folder, or empties it of what an earlier run left there. ConfigurationError: as `check_folder`, and then nothing
    was removed."""
    streams = check_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MANIFEST).unlink(missing_ok=True)
    for name in streams:
        shutil.rmtree(out / name, ignore_errors=True)


def write_streams(
    spark: SparkSession,
    streams: Sequence[StreamBlocks | StreamRows],
    out: Path,
    about: Mapping[str, Any],
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Writes the streams into their folders in `out`, then the manifest, which is returned. `about`: what it says
    first, such as the pipeline's name and options."""
    manifest: dict[str, Any] = {**about, "streams": {}}
    for stream in streams:
        tell(f"writing {stream.name}")
        folder = str(out / stream.name)
        tasks = (
            _blocks_job(spark, stream, folder)
            if isinstance(stream, StreamBlocks)
            else _rows_job(stream, folder)
        )
        try:
            parts = [Part(**row.asDict()) for row in tasks.collect()]
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise spark_error(f"writing the stream {stream.name!r}", error) from None
        parts.sort(key=lambda part: part.path)
        manifest["streams"][stream.name] = _entry(stream, parts)
        tell(f"wrote {stream.name}: {sum(part.rows for part in parts):,} rows in {len(parts)} files")
    path = out / MANIFEST
    partial = out / PARTIAL
    partial.write_text(json.dumps(manifest, indent=2) + "\n")
    partial.replace(path)
    return manifest


def read_manifest(out: Path) -> dict[str, Any]:
    """Reads a manifest. DataError: there is none, or it is damaged."""
    path = out / MANIFEST
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        assert isinstance(found["streams"], dict)
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise DataError(f"is no manifest of a pipeline: {error}", file=str(path)) from None
    return found


def check_files(out: Path) -> list[str]:
    """Lists the differences between the files of a folder and its manifest: missing ones, further ones, changed ones."""
    wrong = []
    for name, stream in read_manifest(out)["streams"].items():
        listed = {part["path"] for part in stream["files"]}
        there = {f"{name}/{path.name}" for path in (out / name).glob("*")}
        wrong += [f"{path} is missing" for path in sorted(listed - there)]
        wrong += [f"{path} is not in the manifest" for path in sorted(there - listed)]
        for part in stream["files"]:
            path = out / part["path"]
            if part["path"] in there and _sha256(path) != part["sha256"]:
                wrong.append(f"{part['path']} has changed")
    return wrong


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _entry(stream: StreamBlocks | StreamRows, parts: Sequence[Part]) -> dict[str, Any]:
    for before, after in pairwise(parts):
        if stream.event_time and (after.least or 0) < (before.greatest or 0):
            raise DataError(
                f"begins at {after.least}, before the end of {before.path} ({before.greatest})",
                file=after.path,
            )
    times = [time for part in parts for time in (part.least, part.greatest) if time is not None]
    return {
        "format": stream.how.name,
        "event_time": stream.event_time,
        "rows": sum(part.rows for part in parts),
        "min": min(times, default=None),
        "max": max(times, default=None),
        "files": [asdict(part) for part in parts],
    }


def _blocks_job(spark: SparkSession, stream: StreamBlocks, folder: str) -> DataFrame:
    make, how, event_time = stream.make, stream.how, stream.event_time

    def write(numbers: Iterator[Any]) -> Iterator[Any]:
        for block in _numbers(numbers):
            yield from _batch(write_part(Path(folder), block, batches_of(make(block)), how, event_time))

    return spark.range(0, stream.blocks, 1, min(stream.blocks, 4096)).mapInArrow(write, _PART)


def _rows_job(stream: StreamRows, folder: str) -> DataFrame:
    from pyspark.sql import functions as f

    rows, columns, how, event_time = stream.rows, list(stream.columns), stream.how, stream.event_time
    for wrong, condition in stream.valid.items():
        check = f.assert_true(f.expr(condition), f.lit(f"{stream.name}: {wrong}")).isNull()
        rows = rows.filter(check)
    rows = rows.withColumn(_FILE, stream.file.cast("long"))
    rows = rows.repartition(_FILE).sortWithinPartitions(_FILE, *stream.order).select(_FILE, *columns)

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        runs = _Runs(batches, columns)
        while (number := runs.next()) is not None:
            yield from _batch(write_part(Path(folder), number, runs.batches(), how, event_time))

    return rows.mapInArrow(write, _PART)


class _Runs:
    """Batches of rows that are sorted by file, taken apart where another file begins."""

    def __init__(self, batches: Iterator[Any], columns: list[str]) -> None:
        self._batches, self._columns, self._rest = batches, columns, None

    def next(self) -> int | None:
        """The number of the next file; None: there is no more."""
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._batches, None)
            if self._rest is None:
                return None
        return int(self._rest.column(0)[0].as_py())

    def batches(self) -> Iterator[Any]:
        import numpy as np

        number = self.next()
        while self.next() == number:
            assert self._rest is not None
            files = self._rest.column(0).to_numpy()
            end = int(np.searchsorted(files, number, side="right"))
            yield self._rest.slice(0, end).select(self._columns)
            self._rest = self._rest.slice(end)


def _batch(part: Part | None) -> Iterator[Any]:
    import pyarrow as pa

    if part is not None:
        yield pa.RecordBatch.from_pylist([asdict(part)], schema=_part_schema())


def _part_schema() -> Any:
    import pyarrow as pa

    long, text = pa.int64(), pa.string()
    return pa.schema(
        [
            ("path", text),
            ("rows", long),
            ("least", long),
            ("greatest", long),
            ("size", long),
            ("sha256", text),
        ]
    )


def with_format(
    streams: Sequence[StreamBlocks | StreamRows], name: str | None, compress: bool
) -> list[StreamBlocks | StreamRows]:
    """The streams in another format than their own; tables keep theirs. `name`: None keeps it."""
    found: list[StreamBlocks | StreamRows] = []
    for stream in streams:
        how = replace(stream.how, compress=compress)
        found.append(replace(stream, how=replace(how, name=name) if name and stream.event_time else how))
    return found
