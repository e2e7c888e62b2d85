"""Blocks: a file as large pieces that end between two records, decompressed while reading.

Knows bytes and record ends only; what a record means is the format's business. Never holds more than one
block.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from actorstream.errors import DataError

BLOCK_BYTES = 1 << 19
"""Bytes read at once. Text on 2 cores: 256 KiB 700 MB/s, 512 KiB 850, 1 MiB 500, 2 MiB 350 (past the L2
cache, and malloc gives such blocks back to the system each time); csv: 410, 500, 550, 515."""
MAX_RECORD_BYTES = 1 << 30
"""A longer line or record is refused (Arrow counts the bytes of a column in 31 bits)."""
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""File name ending -> Arrow's name of the compression."""
BOM = b"\xef\xbb\xbf"

Boundary = Callable[[bytearray, int, int], int]
"""(data, start, stop) -> index just after the last record end in data[start:stop], or 0; data[:stop]
starts a record, and no record ends before `start`."""


class RecordBlock(NamedTuple):
    """Whole records of a file.

    data: their bytes, decompressed; starts at a record and ends at one (or at the end of the file).
    lines: newlines in the file before the block. ends: newlines in the block.
    done: bytes of the file, as it lies on disk, that were read to get here.
    final: nothing comes after it.
    """

    data: bytes
    lines: int
    ends: int
    done: int
    final: bool


def last_newline(data: bytearray, start: int, stop: int) -> int:
    """The boundary of formats whose records are lines."""
    return data.rfind(b"\n", start, stop) + 1


class BlockReader:
    """Reads one file block by block. Not thread-safe: one caller at a time.

    Args:
        path: the file; its ending says whether it is compressed (`CODECS`).
        boundary: finds where a block can be cut.
        block_bytes: how much is read at once, 0: `BLOCK_BYTES`; a longer record is read whole, by doubling.

    DataError: the file cannot be opened, its compression is broken, a record exceeds `MAX_RECORD_BYTES`, or the file has
    become shorter since it was opened.
    """

    def __init__(self, path: str, boundary: Boundary = last_newline, block_bytes: int = 0) -> None:
        self.path, self._boundary, self._block_bytes = path, boundary, block_bytes or BLOCK_BYTES
        self._buffer = bytearray(self._block_bytes)
        self._filled = self._searched = 0
        """So much of the buffer is in use; so much of it has no record end."""
        self._lines = 0
        self._started = self._ended = False
        try:
            self._raw: Any = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise DataError(f"cannot be opened: {error.strerror}", file=path) from error
        self._file = self._raw
        self._size = file_bytes(self._raw.fileno())
        codec = CODECS.get(Path(path).suffix.lower())
        if codec is not None:
            import pyarrow as pa

            if self._raw.seekable():
                self._raw.close()
                self._raw = pa.OSFile(path, "rb")
                # a file of no bytes is a valid empty input, though not a valid compressed stream
                self._file = pa.CompressedInputStream(self._raw, codec) if self._raw.size() else self._raw
            else:  # a pipe is opened once
                self._file = pa.CompressedInputStream(pa.PythonFile(self._raw, "r"), codec)

    def next(self) -> RecordBlock | None:
        """The next block, or None at the end of the file."""
        while not self._ended:
            if self._filled == len(self._buffer):
                self._grow()
            count = self._read(self._filled)
            if not count:
                self._ended = True
                return self._block(self._filled, True) if self._filled else None
            end = self._boundary(self._buffer, self._searched, self._filled + count)
            self._filled += count
            if end:
                block = self._block(end, False)
                rest = bytes(memoryview(self._buffer)[end : self._filled])
                self._buffer[: len(rest)] = rest
                self._filled = self._searched = len(rest)
                if not rest:  # whether this was the last block is seen by reading on
                    self._filled = self._read(0)
                    self._ended = not self._filled
                return block._replace(final=self._ended)
            self._searched = self._filled
        return None

    def _grow(self) -> None:
        if self._filled > MAX_RECORD_BYTES:
            raise DataError(
                f"a record is longer than {MAX_RECORD_BYTES >> 20} MiB, the limit; check the line ends"
                " and, in csv, the quotes",
                file=self.path,
                line=self._lines + 1,
            )
        self._buffer += bytes(len(self._buffer))

    def close(self) -> None:
        self._ended = True
        self._buffer = bytearray()
        self._file.close()
        self._raw.close()

    def _read(self, at: int) -> int:
        """Reads into the buffer from `at` on; how many bytes, 0 at the end."""
        try:
            count = int(self._file.readinto(memoryview(self._buffer)[at:]))
            while not self._started and 0 < count < len(BOM) and BOM.startswith(self._buffer[:count]):
                more = self._file.read(1)
                if not more:
                    break
                self._buffer[count : count + 1] = more
                count += 1
        except (OSError, ValueError) as error:
            raise DataError(f"cannot be read: {error}", file=self.path, line=self._lines + 1) from error
        if not count and self._done() < self._size:
            raise DataError(
                f"has become shorter while it was read: {self._done()} bytes, {self._size} when it was opened; "
                "let it be as it is until the run has ended",
                file=self.path,
                line=self._lines + 1,
            )
        if not self._started and count:
            self._started = True
            if self._buffer[:count].startswith(BOM):
                self._buffer[: count - len(BOM)] = self._buffer[len(BOM) : count]
                return count - len(BOM) or self._read(at)
        return count

    def _done(self) -> int:
        """Bytes of the file that were read; of a pipe, where nobody knows of how many, 0."""
        return int(self._raw.tell()) if self._size else 0

    def _block(self, end: int, final: bool) -> RecordBlock:
        data = bytes(memoryview(self._buffer)[:end])
        block = RecordBlock(data, self._lines, occurrences(data, b"\n"), self._done(), final)
        self._lines += block.ends
        return block


def file_bytes(descriptor: int) -> int:
    """Bytes of an open file; 0 where that is not known, as of a pipe."""
    found = os.fstat(descriptor)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def occurrences(data: bytes | memoryview, byte: bytes) -> int:
    """How often `byte` occurs. 0.1 ms for 1 MiB; bytes.count takes 0.5 where there are many."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == byte[0]))


def count_lines(data: bytes) -> int:
    """How many lines are not empty."""
    ends = np.frombuffer(data, np.uint8) == 10
    empty = int(np.count_nonzero(ends[1:] & ends[:-1])) + (data[:1] == b"\n")
    return int(np.count_nonzero(ends)) + (data[-1:] not in (b"", b"\n")) - empty
