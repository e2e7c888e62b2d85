"""Reading: one partition while a source reads it: the pass, the piece, the place in it, and the bad rows
on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from actorstream.errors import DataError

if TYPE_CHECKING:
    from actorstream.connectors.dead_rows import BadRow
    from actorstream.connectors.partition import Partition, Piece
    from actorstream.events.batch import Batch


class PartitionReader:
    """Reads a partition, over all its passes.

    Args:
        open_file: opens the partition at its beginning.
        name, size: of it as it is stored.
        start: records to pass over first. repeat: passes, 0: without end. wanted: records to read in all.
        on_bad: is told of each record that did not parse, when its turn has come; may raise. Returns whether there were
            so many that they should be handed on before more is read.

    Attributes:
        position: records read so far, over all passes, bad ones included.
    """

    def __init__(
        self,
        open_file: Callable[[], Partition],
        name: str,
        size: int,
        *,
        start: int,
        repeat: int,
        wanted: int,
        on_bad: Callable[[BadRow], bool],
    ) -> None:
        self.position = 0
        self._open, self._name, self.size = open_file, name, size
        self._repeat, self._wanted, self._on_bad = repeat, wanted, on_bad
        self._passes = 0
        self._pass_began = 0
        self._file: Partition | None = open_file()
        self._piece: Piece | None = None
        self._at = self._bad = 0
        self._skip(min(start, wanted))

    @property
    def done(self) -> int:
        """Bytes read so far, over all passes, as they are stored."""
        return self._passes * self.size + (self._piece.done if self._piece is not None else 0)

    def rows(self, max_rows: int) -> tuple[int, Batch] | None:
        """The next rows that lie one after the other, or none yet, and the position of the first; None at the end."""
        while self.position < self._wanted:
            piece = self._piece
            if piece is None or self._at >= piece.records:
                if not self._next_piece():
                    return None
                continue
            bad = piece.bad[self._bad] if self._bad < len(piece.bad) else None
            end = piece.records if bad is None else bad.record
            count = min(end - self._at, max_rows, self._wanted - self.position)
            position = self.position
            if count:
                self.position += count
                self._at += count
                first = self._at - count - self._bad  # as many rows as records, less the bad ones before
                return position, piece.batch.slice(first, count)
            assert bad is not None  # a run of no rows ends at a bad one
            self.position += 1
            self._at += 1
            self._bad += 1
            if self._on_bad(bad):
                return self.position, piece.batch.slice(0, 0)
        return None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._piece = None

    def _take(self, piece: Piece | None) -> None:
        self._piece = piece
        self._at = 0 if piece is None else piece.first
        self._bad = 0 if piece is None else sum(bad.record < piece.first for bad in piece.bad)

    def _next_piece(self) -> bool:
        """Goes on to the next piece, of the next pass if need be; whether there is one."""
        while self._file is not None:
            piece = self._file.next()
            if piece is not None:
                self._take(piece)
                return True
            self._end_pass(self.position - self._pass_began)
        return False

    def _end_pass(self, records: int) -> None:
        self.close()
        self._take(None)
        self._passes += 1
        self._pass_began = self.position
        if records and (self._repeat == 0 or self._passes < self._repeat):
            self._file = self._open()

    def _skip(self, left: int) -> None:
        while left and self._file is not None:
            skipped = self._file.skip(left)
            left -= skipped
            self.position += skipped
            if left:
                whole = left // skipped if skipped else 0
                if self._repeat:
                    whole = min(whole, self._repeat - self._passes - 1)
                self._passes += whole
                self.position += whole * skipped
                left -= whole * skipped
                self._end_pass(skipped)
        if left:
            raise DataError(
                f"has fewer rows than were read of it before the restart: {self.position}, not {self.position + left}; "
                "go on with the input as it was, or start without --resume",
                file=self._name,
            )
