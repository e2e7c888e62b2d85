"""The merge of sorted lanes by readiness, as Python drives it; include/merge.h says what is ready. Knows addresses only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of

Tags = npt.NDArray[np.uint16]
MOST_TIES: int = lib.AS_MERGE_TIES
MOST_LANES: int = lib.AS_MERGE_LANES
#: What a lane promises that has ended.
ENDED = 2**63 - 1
#: What a lane promises that has promised nothing.
NOTHING = -(2**63)
_WORDS = ffi.typeof("uint64_t *")
_TAGS, _INT64, _MIXED = ffi.typeof("uint16_t *"), ffi.typeof("int64_t *"), lib.AS_MERGE_MIXED
_VOID = ffi.typeof("void *")
_cast, _ready, _gather = ffi.cast, lib.as_merge_ready, lib.as_merge_gather


class Merge:
    """Lanes, one for each source, and the order of their rows (viper-scalegate Definition 1, strict for ties).

    Args:
        ranks: of the lanes' inputs; among equal times the lower rank goes first.
        ties: how many int64 columns order rows of equal time and rank (origin, position, ordinals); at most `MOST_TIES`.

    Raises:
        ValueError: more lanes or tie columns than `MOST_LANES`, `MOST_TIES`.
    """

    __slots__ = ("_count", "_kept", "_lane", "_lanes", "_tags", "_ties")

    def __init__(self, ranks: Sequence[int], ties: int = 0) -> None:
        if len(ranks) > MOST_LANES or not 0 <= ties <= MOST_TIES:
            raise ValueError(
                f"merge: {len(ranks)} lanes with {ties} tie columns; allowed: up to {MOST_LANES} lanes, 0 to {MOST_TIES} "
                "tie columns"
            )
        self._count, self._ties = len(ranks), ties
        self._lanes = ffi.new("as_merge_lane[]", max(1, len(ranks)))
        for lane, rank in enumerate(ranks):
            self._lanes[lane].rank = rank
            self._lanes[lane].bound = NOTHING
        self._lane = ffi.new("uint32_t *")
        self._kept: list[tuple[np.ndarray, ...]] = [()] * len(ranks)
        self._tags: Tags = np.empty(0, np.uint16)

    @property
    def lanes(self) -> int:
        return self._count

    def fill(self, lane: int, time: np.ndarray, ties: Sequence[np.ndarray] = ()) -> None:
        """The next rows of a lane whose rows are used up: int64 columns of one length, contiguous, sorted by (time, ties).

        Raises:
            ValueError: another number of tie columns than the merge has, another length or type, or rows are left.
        """
        columns = (time, *ties)
        if len(ties) != self._ties or any(
            each.dtype != np.int64 or len(each) != len(time) or not each.flags.c_contiguous
            for each in columns
        ):
            raise ValueError(
                f"merge: lane {lane} gets columns {[(str(each.dtype), len(each)) for each in columns]}; allowed: "
                f"{1 + self._ties} contiguous int64 columns of one length"
            )
        place = self._lanes[lane]
        if place.first < place.rows:
            raise ValueError(f"merge: lane {lane} still has {place.rows - place.first} rows; take them first")
        place.time = _cast(_INT64, address_of(time))
        for number, each in enumerate(ties):
            place.tie[number] = _cast(_INT64, address_of(each))
        place.first, place.rows = 0, len(time)
        self._kept[lane] = columns

    def promise(self, lane: int, bound: int) -> None:
        """Nothing below `bound` will follow the rows that the lane has; `ENDED`: nothing at all."""
        self._lanes[lane].bound = bound

    def is_sorted(self, lane: int) -> bool:
        """Whether the rows that the lane has left are sorted, as `fill` asks."""
        return bool(lib.as_merge_is_sorted(self._lanes + lane, self._ties))

    def first(self, lane: int) -> int:
        """The row of the lane's columns that goes next."""
        return int(self._lanes[lane].first)

    def left(self, lane: int) -> int:
        """How many of the lane's rows have not gone yet."""
        return int(self._lanes[lane].rows - self._lanes[lane].first)

    def ready(self, limit: int, shortest: int = 64) -> tuple[int, int | None, Tags]:
        """The next rows in order: how many, at most `limit`, and which lanes they are of.

        Answers (rows, lane, no tags) if they are a run of one lane of `shortest` rows or more, else (rows, None, tags)
        with the lane of each row. The tags are valid until the next call. (0, None, no tags): nothing is ready.
        """
        if len(self._tags) < limit:
            self._tags = np.empty(limit, np.uint16)
        tags = self._tags
        rows = _ready(
            self._lanes, self._count, self._ties, limit, shortest, _cast(_TAGS, address_of(tags)), self._lane
        )
        lane = self._lane[0]
        if rows and lane != _MIXED:
            return rows, lane, tags[:0]
        return rows, None, tags[:rows]


class Gather:
    """Puts columns together in the order of tags, one after the other, all of the same rows.

    Args:
        tags: which part each row is the next one of; contiguous.
        which, firsts: of each part of each stretch, the source that it lies in and the first of its rows that is meant, int64;
            a part that no tag names has source -1 and row 0.
        ends: uint64. Where the stretches of the tags end, which have equally many parts.
    """

    __slots__ = ("_arguments", "_firsts", "_kept", "_rows", "_which")

    def __init__(self, tags: Tags, which: np.ndarray, firsts: np.ndarray, ends: np.ndarray) -> None:
        self._rows, self._which, self._firsts = len(tags), which, firsts
        self._kept = tags, ends
        self._arguments = (
            _cast(_TAGS, address_of(tags)),
            _cast(_WORDS, address_of(ends)),
            len(ends),
            len(which) // len(ends),
        )

    def column(self, sources: Sequence[np.ndarray]) -> np.ndarray:
        """One column. sources: contiguous columns of one dtype of 1, 2, 4 or 8 bytes. ValueError: another width."""
        dtype = sources[0].dtype
        width = dtype.itemsize
        starts = np.array([*map(address_of, sources), 0], np.int64)
        addresses = starts[self._which] + self._firsts * width
        out = np.empty(self._rows, dtype)
        if _gather(
            *self._arguments, _cast(_WORDS, address_of(addresses)), width, _cast(_VOID, address_of(out))
        ):
            raise ValueError(f"merge: values of {width} bytes; allowed: 1, 2, 4, 8")
        return out
