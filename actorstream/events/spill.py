"""Spill: batches that wait in a file for their turn, first in, first out. The file is made for the first of them. It has no
name, and is gone with its process."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from actorstream.errors import ResourceError
from actorstream.events.saved import SavedRows, save_rows, saved_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema


class _Place(NamedTuple):
    """Where a batch lies, and what is not in its bytes."""

    first: int
    nbytes: int
    system: tuple[str, ...]
    schema: Schema
    times: tuple[int, int, int]
    """entry_min, entry_max, began."""


class Spill:
    """A queue of batches in a temporary file.

    Args:
        what: which rows they are, for the error.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.nbytes = 0
        """Of what is in here."""
        self._places: deque[_Place] = deque()
        self._file: IO[bytes] | None = None
        self._end = 0

    def __len__(self) -> int:
        """Batches."""
        return len(self._places)

    def put(self, batch: Batch) -> None:
        """Adds the rows at the end. ResourceError: there is no room for them."""
        system, data = save_rows(batch)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="actorstream-spill-", buffering=0)  # noqa: SIM115
            written = 0
            while written < len(data):
                written += os.pwrite(self._file.fileno(), memoryview(data)[written:], self._end + written)
        except OSError as error:
            raise ResourceError(
                f"{self.what} take more memory than is allowed, and "
                f"{self.nbytes + len(data)} bytes of them cannot be spilled to {tempfile.gettempdir()!r}: {error}; make room "
                "there, or set TMPDIR to a folder that has some"
            ) from error
        times = (batch.entry_min, batch.entry_max, batch.began)
        self._places.append(_Place(self._end, len(data), tuple(system), batch.schema, times))
        self._end += len(data)
        self.nbytes += len(data)

    def take(self) -> Batch:
        """The first of the batches, which is not in here any more."""
        place = self._places.popleft()
        batch = saved_rows(place.schema, self._read(place))
        batch.entry_min, batch.entry_max, batch.began = place.times
        self.nbytes -= place.nbytes
        if not self._places:
            self.close()
        return batch

    def saved(self) -> Iterator[SavedRows]:
        """All batches, as a checkpoint keeps them; they stay in here."""
        return map(self._read, self._places)

    def close(self) -> None:
        """Forgets everything."""
        self._places.clear()
        self.nbytes = self._end = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self, place: _Place) -> SavedRows:
        assert self._file is not None
        data = os.pread(self._file.fileno(), place.nbytes, place.first)
        if len(data) < place.nbytes:
            raise ResourceError(
                f"{self.what}: {place.nbytes} bytes that were spilled to {tempfile.gettempdir()!r} cannot be read back, only "
                f"{len(data)} are there"
            )
        return place.system, data
