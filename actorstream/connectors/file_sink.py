"""FileSink: what all sinks that write files share: parts, gathering of small batches, and the two-phase
commit.

A subclass says what its rows are as bytes; `staged_file.py` keeps the file hidden until it is whole.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.contract import Contract
from actorstream.connectors.blocks import CODECS
from actorstream.connectors.direct_file import DirectFile, behind_links, is_direct
from actorstream.connectors.sink import END, Sink
from actorstream.connectors.staged_file import StagedFile, clean_up, discard, make_folder, publish
from actorstream.errors import Problem, RunError

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

Bytes = bytes | memoryview

GATHERED_ROWS = 4096
"""Smaller batches are gathered until they have so many rows, because formatting a batch costs about 50 us however few rows it
has."""
GATHERED_BYTES = 4 << 20
"""Gathered batches are formatted once they have so many bytes, even if they have few rows."""
WRITE_BYTES = 1 << 20
"""Text is written to the file in pieces of about this size."""


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, 6, mtime=0),
    ".bz2": bz2.compress,
}
"""Maps the ending of a file name to a function that compresses bytes into a whole stream. Several such streams, one after the
other, are a valid file."""


class FileSink(Sink):
    """Writes one file, or with `replicas` a folder of parts, `part-00000` and so on.

    Until the commit the rows are in a temporary file beside the final one; whatever happens before,
    nothing partial is ever seen under the final name. A link is followed, so that what it leads to is written.
    A pipe, a device or /dev/stdout gets the rows at once. The folder is made. A path that ends in .gz or .bz2
    is compressed. Temporary files that dead processes left behind are removed when the next file of that
    name is begun.

    Args:
        path: the file, or the folder of parts.

    `prepare` under a barrier before the end makes the rows so far safe; `restore` with the token it
    answered goes on after them in another process.
    """

    extension: ClassVar[str] = ""
    """Of the names of parts."""
    writes_pipes: ClassVar[bool] = True
    """Whether the format can be written into a pipe."""
    contract: ClassVar[Contract] = Contract(one_stream=True, keeps_by_keys=True)
    input_schema: Schema | None = None
    """The schema of the rows, set by the runtime; a file of no rows needs it for its header."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._staged: StagedFile | DirectFile | None = None
        self._direct: bool | None = None
        """Whether rows go into the file at once; None: not known yet."""
        self._gathered: list[Batch] = []
        self._gathered_rows = self._gathered_bytes = 0
        self._text: list[Bytes] = []
        self._text_bytes = 0
        self._kept = False
        """Whether it has prepared under a barrier before the end: a later run may go on from there, so that the
        temporary file stays, whatever becomes of this one."""

    # -- what a format says -------------------------------------------------------------------------------

    def begin(self, schema: Schema | None) -> Bytes:
        """What comes before the first row."""
        return b""

    def rows(self, batch: Batch) -> Bytes:
        """The rows as bytes, to be written one batch after the other."""
        raise NotImplementedError

    # -- rows in ------------------------------------------------------------------------------------------

    def on_batch(self, batch: Batch) -> None:
        if self._direct is None:
            self._direct = is_direct(self.final)
        if self._direct:
            self._take(batch)
            self._flush()
            return
        if batch.rows >= GATHERED_ROWS and not self._gathered:
            self._take(batch)
            return
        own = batch.compact()  # it must not keep the memory of its jumbo tuple
        self._gathered.append(own)
        self._gathered_rows += own.rows
        self._gathered_bytes += own.nbytes
        if self._gathered_rows >= GATHERED_ROWS or self._gathered_bytes >= GATHERED_BYTES:
            self._take_gathered()

    def _take_gathered(self) -> None:
        from actorstream.events.batch import Batch

        gathered, self._gathered = self._gathered, []
        self._gathered_rows = self._gathered_bytes = 0
        if gathered:
            self._take(Batch.concat(gathered))

    def _take(self, batch: Batch) -> None:
        if self._staged is None:
            self._start(batch.schema)
        self._put(self.rows(batch))

    def _put(self, data: Bytes) -> None:
        self._text.append(data)
        self._text_bytes += memoryview(data).nbytes
        if self._text_bytes >= WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._text_bytes:
            return
        data: Bytes = b"".join(self._text) if len(self._text) > 1 else self._text[0]
        self._text, self._text_bytes = [], 0
        assert self._staged is not None
        compress = COMPRESS.get(self._staged.final.suffix.lower())
        self._staged.write(data if compress is None else compress(bytes(data)))

    # -- files --------------------------------------------------------------------------------------------

    @property
    def final(self) -> Path:
        """The file that this replica writes."""
        if self._replicas() == 1:
            return behind_links(self.path)
        return behind_links(self.path / _part(self._context.replica, self.extension))  # type: ignore[union-attr]

    def _replicas(self) -> int:
        return self._context.replicas if self._context is not None else 1

    def _start(self, schema: Schema | None) -> None:
        if self._replicas() == 1 and self.path.is_dir():
            raise RunError(
                f"{str(self.path)!r} is a directory; allowed: the name of a file (or set `replicas`)"
            )
        final = self.final
        if is_direct(final):
            if not self.writes_pipes:
                raise RunError(_no_stream(final))
            self._staged = DirectFile(final)
        else:
            make_folder(final.parent)
            clean_up(final)
            self._staged = StagedFile(final)
        self._staged.open()
        self._put(self.begin(schema))

    # -- two-phase commit ---------------------------------------------------------------------------------

    def prepare(self, barrier: int) -> dict[str, Any]:
        self._take_gathered()
        if self._staged is None:
            self._start(self.input_schema)
        self._flush()
        assert self._staged is not None
        if barrier == END:
            self.finish()
            self._end_stream()
        token = {
            **self._staged.secure(),
            "end": barrier == END,
            "replicas": self._replicas(),
            "kept": self._kept,
        }
        if barrier == END:
            self._staged.close()
        self._kept = self._kept or barrier != END
        self._prepared = token
        return token

    def finish(self) -> None:
        """Writes what comes after the last row."""

    def _end_stream(self) -> None:
        """Makes a compressed file to which nothing was written a stream of no bytes, which no bytes are not."""
        assert self._staged is not None
        compress = COMPRESS.get(self._staged.final.suffix.lower())
        if compress is not None and isinstance(self._staged, StagedFile) and self._staged.size() == 0:
            self._staged.write(compress(b""))

    def commit(self, token: dict[str, Any] | None) -> None:
        if token is None or not token["end"] or "direct" in token:
            return
        publish(token)
        final = Path(token["final"])
        if token["replicas"] > 1 and final.name.startswith("part-00000"):
            _remove_other_parts(final, token["replicas"])

    def abort(self, token: dict[str, Any] | None) -> None:
        if token is not None:
            if "direct" not in token and token["end"] and not token["kept"]:
                discard(token)
        elif self._staged is not None and self._kept:
            self._staged.close()
        elif self._staged is not None:
            self._staged.drop()

    def snapshot(self) -> dict[str, Any] | None:
        """The token of the latest `prepare`."""
        prepared: dict[str, Any] | None = self._prepared
        return prepared

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        if snapshot is not None and "direct" not in snapshot:
            self._kept = True
            self._staged = StagedFile(snapshot["final"])
            self._staged.reopen(snapshot)

    @classmethod
    def files_written(cls, keys: dict[str, Any], replicas: int) -> list[str]:
        """The files that a sink with these keys writes or removes, so that nobody in its topology uses one of them."""
        path = Path(keys["path"])
        if replicas == 1:
            return [str(path)]
        parts = {path / _part(number, cls.extension) for number in range(replicas)}
        return sorted(map(str, parts | set(path.glob(f"part-*{cls.extension}"))))

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = []
        if len({schema.user.fingerprint for schema in inputs}) > 1:
            problems.append(_unlike(inputs))
        if "path" in keys:
            above = (base / keys["path"]).parent
            blocking = next((each for each in (above, *above.parents) if each.exists()), above)
            if not blocking.is_dir():
                problems.append(Problem("path", f"{str(blocking)!r} is a file", "a path below a directory"))
            if not cls.writes_pipes and is_direct(base / keys["path"]):
                problems.append(Problem("path", _no_stream(base / keys["path"]), "a file"))
            ending = Path(keys["path"]).suffix
            if ending.lower() in CODECS and ending.lower() not in COMPRESS:
                problems.append(
                    Problem("path", f"ends in {ending!r}, which is only read", ", ".join(COMPRESS))
                )
        return problems


def _part(replica: int, extension: str) -> str:
    return f"part-{replica:05d}{extension}"


def _no_stream(path: Path) -> str:
    return f"{str(path)!r} is a pipe or a device, into which this format cannot be written (csv-sink and jsonl-sink can)"


def _unlike(inputs: list[Schema]) -> Problem:
    """The problem of inputs whose rows cannot stand in one file: how the first two of them differ that do."""
    first = inputs[0]
    other = next(schema for schema in inputs if schema.user.fingerprint != first.user.fingerprint)
    pair = (first, other)
    if first.names() != other.names():
        message = " and ".join(f"({', '.join(schema.names())})" for schema in pair)
        return Problem("inputs", f"have different fields: {message}", "inputs of one schema")
    if first.user.fields != other.user.fields:
        mine, yours = next(each for each in zip(first.user.fields, other.user.fields) if each[0] != each[1])
        return Problem("inputs", f"have a field of two types: {mine} and {yours}", "inputs of one schema")
    message = " and ".join(f"{schema.event_time!r} in {schema.time_unit}" for schema in pair)
    return Problem("inputs", f"have different event times: {message}", "inputs of one schema")


def _remove_other_parts(first: Path, replicas: int) -> None:
    """Removes the parts that a run with more replicas left in the folder."""
    for entry in first.parent.glob(f"part-*{first.name.removeprefix('part-00000')}"):
        number = entry.name.removeprefix("part-")[:5]
        if number.isdigit() and int(number) >= replicas:
            entry.unlink(missing_ok=True)
