"""Partitions: one input as a sequence of pieces, each a batch of the rows that parsed and a list of those
that did not.

A format gives the pieces; how many rows of them are read when, and what happens to bad rows, is the
source's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

import msgspec

from actorstream.connectors.blocks import RecordBlock
from actorstream.connectors.read_ahead import ReadAhead

if TYPE_CHECKING:
    from actorstream.connectors.dead_rows import BadRow
    from actorstream.events.batch import Batch


class FilePiece(msgspec.Struct):
    """Some consecutive records of a partition.

    batch: the rows of those that parsed. records: how many there are, the bad ones included. done: bytes
    of the input that were read to get to the end of the piece. first: the record to begin with (the ones
    before it were read already, before a restart).
    """

    batch: Batch
    records: int
    done: int
    bad: list[BadRow] = []
    first: int = 0


class Partition(ABC):
    """An input that is read once, from its beginning or after `skip`."""

    @abstractmethod
    def skip(self, records: int) -> int:
        """Passes over so many records, or over all there are; how many. Before the first `next`."""

    @abstractmethod
    def next(self) -> FilePiece | None:
        """The next piece, of at least one record; None at the end. Raises DataError."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of the input."""


class Blocks(Protocol):
    """What `BlockReader` is to others."""

    def next(self) -> RecordBlock | None: ...
    def close(self) -> None: ...


class Preceded:
    """Blocks with one before them."""

    def __init__(self, first: RecordBlock, rest: Blocks) -> None:
        self._first: RecordBlock | None = first
        self._rest = rest

    def next(self) -> RecordBlock | None:
        first, self._first = self._first, None
        return first or self._rest.next()

    def close(self) -> None:
        self._first = None
        self._rest.close()


class Format(Protocol):
    """What the blocks of one file mean."""

    def parse(self, block: RecordBlock) -> FilePiece:
        """The records of a block; called by several threads at once. May be a piece of no records."""

    def count(self, block: RecordBlock) -> int | None:
        """How many records there are, where that can be told without parsing; else None."""


class BlockPartition(Partition):
    """A file that is cut into blocks, parsed ahead.

    Args:
        blocks: the file, at its first record.
        format: what its blocks mean.
    """

    def __init__(self, blocks: Blocks, format: Format) -> None:
        self._blocks, self._format = blocks, format
        self._first: FilePiece | None = None
        self._ahead: ReadAhead[FilePiece] = ReadAhead(blocks.next, format.parse, blocks.close)

    def skip(self, records: int) -> int:
        left = records
        while left > 0:
            block = self._blocks.next()
            if block is None:
                break
            count = self._format.count(block)
            if count is None or count > left:
                piece = self._format.parse(block)
                count = piece.records
                if count > left:
                    piece.first = left
                    self._first, left = piece, 0
                    break
            left -= count
        return records - left

    def next(self) -> FilePiece | None:
        piece, self._first = self._first, None
        while piece is None or not piece.records:
            piece = self._ahead.next()
            if piece is None:
                return None
        return piece

    def close(self) -> None:
        self._ahead.close()
