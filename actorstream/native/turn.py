"""Turns of a source: batch after batch through a chain in one call, without the interpreter (include/turn.h). Knows neither
operators nor channels; whoever gives an address keeps what lies there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from actorstream.native._core import ffi, lib
from actorstream.native.chain import Chain
from actorstream.native.pieces import Column
from actorstream.native.status import raise_status

ROWS: int = lib.AS_TURN_ROWS
TIME: int = lib.AS_TURN_TIME
DUE: int = lib.AS_TURN_DUE
RUNG: int = lib.AS_TURN_RUNG
REFUSED: int = lib.AS_TURN_REFUSED

_run = lib.as_turn_run
_READ = int(ffi.cast("uintptr_t", ffi.addressof(lib, "as_turn_read")))


class MemberCount(NamedTuple):
    """What came to a member: rows, batches, the time spent on them in ns, and when the last batch was asked for and had come."""

    rows: int
    batches: int
    took_ns: int
    entered: int
    began: int


class ReadRows:
    """Batches that Python has read, in place of a source that makes rows in C: `Turn.give` says where each lies.

    Args:
        columns: how many of them the chain is given.
        rows: that a batch may have.
    """

    __slots__ = ("columns", "context", "make", "rows", "time")

    def __init__(self, columns: int, rows: int) -> None:
        self.make, self.rows = _READ, rows
        self.columns: Sequence[Column] = [(0, 0, 0, 0, 0, 0)] * columns
        # least and greatest time, and a promise: none, since the unit promises once its turn has ended
        self.time = ffi.new("int64_t[3]", (0, 0, -(2**63)))
        self.context = int(ffi.cast("uintptr_t", self.time))


class Turn:
    """Runs a source and the chain behind it. `given` columns of the chain are all columns of the source, in order.

    Args:
        chain: of which no rows come out.
        bounds: of members, by place: `int64_t *`, two words that are told the bounds of each batch's event times.
        make, context: addresses of the C function that makes rows, and of its context.
        columns: descriptors of what the function does not set itself.
        sets: for each member of the chain, the set of rows that come to it.
        promises: `as_producer *` of the outputs that may be promised event time in C.
        bell: the worker's `as_doorbell *`, or None.
        rows: that a batch may have.
        keeps: what the addresses lead to.
    """

    __slots__ = ("_kept", "_members", "_promises", "_run", "_took", "_turn", "most_rows")

    def __init__(
        self,
        chain: Chain,
        bounds: dict[int, Any],
        make: int,
        context: int,
        columns: Sequence[Column],
        sets: Sequence[int],
        promises: Sequence[Any],
        bell: Any,
        rows: int,
        keeps: Any,
    ) -> None:
        run = chain.run_for(rows)
        run.prepare(0, columns)
        self.most_rows = rows
        self._members = ffi.new("as_turn_member[]", len(sets))
        for member, number in zip(self._members, sets):
            member.set, member.room = number, 2**63 - 1
        for place, pointer in bounds.items():
            self._members[place].bounds = pointer
        self._promises = ffi.new("as_turn_promise[]", max(len(promises), 1))
        for promise, producer in zip(self._promises, promises):
            promise.producer = producer
        self._run, self._took = run, run.work.took_ns
        self._turn = turn = ffi.new("as_turn *")
        turn.work, turn.member, turn.promise = run.work, self._members, self._promises
        turn.members = len(sets)
        turn.bell = ffi.NULL if bell is None else bell
        turn.source.make, turn.source.context = make, ffi.cast("void *", context)
        turn.frontier = -(2**63)
        self._kept = (bounds, bell, promises, keeps)

    def begin(self, made: int, most: int, *, low: int, due: int, bound: int) -> None:
        """The next rows are those from `made` on, `most` in all. `low`, `due`, `bound`: of event time (include/turn.h)."""
        turn = self._turn
        turn.made, turn.end, turn.low, turn.due, turn.bound = made, made + most, low, due, bound

    def admit(self, room: Mapping[int, int]) -> None:
        """Says how many rows members may take, by place."""
        for place, rows in room.items():
            self._members[place].room = rows

    def give(
        self, read: ReadRows, columns: Sequence[Column], least: int, greatest: int, entered: int
    ) -> None:
        """The next batch is this one. `least`, `greatest`: bounds of its event times. `entered`: when it was asked for, in ns."""
        self._run.give(columns)
        read.time[0], read.time[1] = least, greatest
        self._turn.source.entered = entered

    def run(self, rows: int, most: int, promises: int, deadline: int, listens: int) -> int:
        """Takes up to `most` rows, `rows` a batch (at most `most_rows`); returns why it ended. ResourceError: there was no memory
        for the state at the end, which may have taken a part of a batch.

        `promises`: how many of the promises may be made now. `deadline`, `listens`: ns of the monotonic clock."""
        why: int = _run(self._turn, rows, most, promises, deadline, listens)
        if why < 0:
            raise_status(why, "chain")
        return why

    @property
    def made(self) -> int:
        """The row of the source that comes next."""
        return self._turn.made  # type: ignore[no-any-return]

    def room(self, place: int) -> int:
        """Rows that a member may still take."""
        return self._members[place].room  # type: ignore[no-any-return]

    @property
    def frontier(self) -> int:
        """What was promised, or may be."""
        return self._turn.frontier  # type: ignore[no-any-return]

    @property
    def latest(self) -> int:
        """The greatest event time of the rows, if there were some."""
        return self._turn.latest  # type: ignore[no-any-return]

    def counts(self) -> list[MemberCount]:
        """What the source has made, and what has come to each member, since the last call of this."""
        turn = self._turn
        first = self._members[0]
        found = [MemberCount(first.rows, first.batches, turn.took_ns, first.entered, first.began)]
        turn.took_ns = 0
        for number, member in enumerate(self._members):
            found.append(
                MemberCount(member.rows, member.batches, self._took[number], member.entered, member.began)
            )
            member.rows = member.batches = self._took[number] = 0
        return found
