"""A bounded model of timestamp order, all of whose interleavings are run: two sources, two merges of opposite ranks, a join
of both, rings of one slot, and more ties than slots. It ends always, with one sequence; without the tie buffer it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

END = 99
NOTHING = -1
Row = tuple[int, int, int]  # time, source, number


class Lane(NamedTuple):
    """A channel of one slot: what waits to be sent, the slot, what was promised, and what is promised behind it."""

    pending: tuple[Row, ...] = ()
    slot: Row | None = None
    word: int = NOTHING
    next_word: int = NOTHING
    buffer: tuple[Row, ...] = ()
    """The consumer's tie buffer: rows that left the slot and have not gone."""

    def promise(self, word: int) -> Lane:
        word = max(word, self.next_word)
        if self.pending:
            return self._replace(next_word=word)
        return self._replace(word=max(self.word, word), next_word=word)

    def known(self) -> tuple[Row, ...]:
        return self.buffer if self.slot is None else (*self.buffer, self.slot)

    def gone(self) -> Lane:
        """The first row that the consumer knows has gone."""
        return self._replace(buffer=self.buffer[1:]) if self.buffer else self._replace(slot=None)


class State(NamedTuple):
    sent: tuple[int, ...]
    """Rows that each source has made."""
    lanes: tuple[Lane, ...]
    out: tuple[Row, ...]
    """What the join has given."""


class Model:
    """lanes: 0, 1 from source 0 to merges 0, 1; 2, 3 from source 1; 4, 5 from the merges to the join."""

    def __init__(self, sources: tuple[tuple[int, ...], ...], *, keeps: tuple[bool, bool], ties: bool) -> None:
        self.sources, self.keeps, self.ties = sources, keeps, ties

    def start(self) -> State:
        return State((0, 0), (Lane(),) * 6, ())

    def steps(self, state: State) -> Iterator[State]:
        for source in (0, 1):
            yield from self._make(state, source)
        for number, lane in enumerate(state.lanes):
            if lane.pending and lane.slot is None:
                sent = lane._replace(slot=lane.pending[0], pending=lane.pending[1:])
                yield _with(state, number, sent.promise(NOTHING))
        yield from self._merge(state, (0, 2), 4)
        yield from self._merge(state, (3, 1), 5)  # the ranks are the other way round
        yield from self._merge(state, (4, 5), None)

    def _make(self, state: State, source: int) -> Iterator[State]:
        """A source makes its next row, once nothing of the one before waits; it promises on both lanes."""
        lanes = (2 * source, 2 * source + 1)
        if any(state.lanes[lane].pending for lane in lanes):
            return
        made, times = state.sent[source], self.sources[source]
        word = times[made] if made < len(times) else END
        after = state
        for branch, lane in enumerate(lanes):
            found = after.lanes[lane]
            if made < len(times) and self.keeps[branch]:
                found = found._replace(pending=((times[made], source, made),))
            after = _with(after, lane, found.promise(word))
        if made < len(times):
            after = after._replace(sent=tuple(n + (at == source) for at, n in enumerate(after.sent)))
        if after != state:
            yield after

    def _merge(self, state: State, inputs: tuple[int, int], output: int | None) -> Iterator[State]:
        """A merge gives its next row, or takes tied rows out of their slots; in either case it promises."""
        lanes = [state.lanes[lane] for lane in inputs]
        heads = [(lane.known()[0][0], rank) for rank, lane in enumerate(lanes) if lane.known()]
        after = state
        if output is None or not state.lanes[output].pending:
            if heads and self._is_ready(lanes, *min(heads)):
                rank = min(heads)[1]
                row = lanes[rank].known()[0]
                after = _with(state, inputs[rank], lanes[rank].gone())
                if output is None:
                    after = after._replace(out=(*after.out, row))
                else:
                    after = _with(after, output, after.lanes[output]._replace(pending=(row,)))
            elif heads and self.ties:
                waited = min(heads)[0]
                for number in inputs:
                    lane = after.lanes[number]
                    if lane.slot is not None and lane.slot[0] == waited:
                        after = _with(
                            after, number, lane._replace(slot=None, buffer=(*lane.buffer, lane.slot))
                        )
        if output is not None:
            found = [after.lanes[number] for number in inputs]
            reached = min(lane.known()[0][0] if lane.known() else lane.word for lane in found)
            after = _with(after, output, after.lanes[output].promise(reached))
        if after != state:
            yield after

    @staticmethod
    def _is_ready(lanes: list[Lane], time: int, rank: int) -> bool:
        """Of lower rank nothing more at the time or below, of higher rank nothing more below it."""
        return all(
            bool(lane.known()) or (lane.word >= time if other > rank else lane.word > time)
            for other, lane in enumerate(lanes)
            if other != rank
        )


def _with(state: State, number: int, lane: Lane) -> State:
    return state._replace(lanes=(*state.lanes[:number], lane, *state.lanes[number + 1 :]))


def last_states(model: Model) -> tuple[set[State], int]:
    """States in which nothing can happen any more, and how many there are in all."""
    seen, todo, last = {model.start()}, [model.start()], set()
    while todo:
        state = todo.pop()
        moved = False
        for after in model.steps(state):
            moved = True
            if after not in seen:
                seen.add(after)
                todo.append(after)
        if not moved:
            last.add(state)
    return last, len(seen)


def in_order(sources: tuple[tuple[int, ...], ...], keeps: tuple[bool, bool]) -> list[Row]:
    """What the join gives: rows by time, those of the first merge first, which has the first source first."""
    rows = [(time, at, number) for at, times in enumerate(sources) for number, time in enumerate(times)]
    first = [(row[0], 0, row[1], row[2], row) for row in rows if keeps[0]]
    second = [(row[0], 1, -row[1], row[2], row) for row in rows if keeps[1]]
    return [each[-1] for each in sorted(first + second)]


KEEPS = [(True, True), (True, False), (False, True)]
SOURCES = [((1, 1, 1), (1, 1)), ((1, 1, 2), (1, 2)), ((1, 2), (2, 2, 2)), ((1, 3), ())]


@pytest.mark.parametrize("keeps", KEEPS, ids=["both", "first only", "second only"])
@pytest.mark.parametrize("sources", SOURCES, ids=str)
def test_every_interleaving_ends_with_the_one_sequence(
    sources: tuple[tuple[int, ...], ...], keeps: tuple[bool, bool]
) -> None:
    last, states = last_states(Model(sources, keeps=keeps, ties=True))
    assert states > len(sources[0]) + len(sources[1])
    assert {state.out for state in last} == {tuple(in_order(sources, keeps))}


def test_without_a_tie_buffer_rows_that_are_tied_keep_a_ring_full_for_ever() -> None:
    sources = ((1, 1, 1), (1, 1))
    last, _ = last_states(Model(sources, keeps=(False, True), ties=False))
    assert any(len(state.out) < 5 for state in last)
