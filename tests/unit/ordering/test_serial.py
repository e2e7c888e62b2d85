"""Order `serial`: lanes are merged by serial number, and the rows of one number by position, rank and ordinals."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from actorstream.ordering.none import NoOrder
from actorstream.ordering.serial import SerialGate, merge_order, merged_tags
from actorstream.transports.base import Frame, FrameKind


@dataclass
class Lane:
    """A channel: what was sent, how much of it has arrived, and the promise that came with it."""

    index: int
    sent: deque[Frame | int] = field(default_factory=deque)
    """Frames, and promises between them."""
    waiting: deque[Frame] = field(default_factory=deque)
    promised: int = -(2**63)
    input: str = "in"
    ended: bool = False
    held: bool = False

    def head(self) -> Frame | None:
        return self.waiting[0] if self.waiting else None

    def frontier(self) -> int:
        return self.promised

    def arrive(self) -> None:
        """The next of what was sent arrives."""
        if self.sent:
            item = self.sent.popleft()
            if isinstance(item, Frame):
                self.waiting.append(item)
            else:
                self.promised = item

    def take(self) -> Frame:
        frame = self.waiting.popleft()
        self.ended = frame.kind == FrameKind.END
        return frame


@st.composite
def hand_overs(draw: st.DrawFn) -> tuple[list[Lane], list[list[tuple[int, int]]]]:
    """What a splitter gives n replicas, each with any selectivity, and the (position, ordinal) rows of each number."""
    replicas = draw(st.integers(1, 4))
    lanes = [Lane(index) for index in range(replicas)]
    sequential = []
    for number in range(draw(st.integers(0, 12))):
        rows = []
        pieces: list[list[tuple[int, int]]] = [[] for _ in lanes]
        for position in range(draw(st.integers(0, 5))):
            owner = draw(st.integers(0, replicas - 1))
            for ordinal in range(draw(st.integers(0, 3))):
                rows.append((position, ordinal))
                pieces[owner].append((position, ordinal))
        sequential.append(rows)
        for lane, piece in zip(lanes, pieces):
            while piece:  # in several frames, perhaps
                cut = draw(st.integers(1, len(piece)))
                lane.sent.append(Frame(FrameKind.DATA, piece[:cut], rows=cut, serial=number))
                piece = piece[cut:]
            if draw(st.booleans()):
                lane.sent.append(number + 1)
    for lane in lanes:
        lane.sent.append(Frame(FrameKind.END))
    return lanes, sequential


def merged(pieces: list[tuple[int, list[tuple[int, int]]]]) -> list[tuple[int, int]]:
    pieces.sort(key=lambda piece: piece[0])
    columns = [[np.array(column, np.int64) for column in zip(*rows)] for _, rows in pieces]
    rows = [row for _, piece in pieces for row in piece]
    order = merge_order(columns, [0] * len(pieces)).tolist()
    tags = merged_tags(columns, [0] * len(pieces))
    assert tags is not None
    streams = [iter(piece) for _, piece in pieces]
    assert [next(streams[tag]) for tag in tags.tolist()] == [rows[at] for at in order]
    return [rows[at] for at in order]


class TestMergingByNumber:
    @given(hand_overs(), st.randoms(use_true_random=False))
    def test_any_arrival_gives_the_rows_of_a_run_one_after_the_other(
        self, made: tuple[list[Lane], list[list[tuple[int, int]]]], dice: object
    ) -> None:
        lanes, sequential = made
        gate = SerialGate(lanes)
        found: list[list[tuple[int, int]]] = []
        pieces: list[tuple[int, list[tuple[int, int]]]] = []
        while not all(lane.ended for lane in lanes):
            lane = gate.next()
            if lane is not None:
                frame = lane.take()
                if frame.kind == FrameKind.DATA:
                    assert frame.serial == gate.open_number
                    pieces.append((lane.index, frame.payload))
            elif gate.is_complete:
                found.append(merged(pieces))
                pieces = []
                gate.close()
            else:
                left = [each for each in lanes if each.sent]
                assert left, "nothing may go although everything has arrived"
                dice.choice(left).arrive()  # type: ignore[attr-defined]
        assert found == [rows for rows in sequential if rows]

    @given(hand_overs(), st.randoms(use_true_random=False))
    def test_what_it_says_was_reached_never_comes_again(
        self, made: tuple[list[Lane], list[list[tuple[int, int]]]], dice: object
    ) -> None:
        lanes, _ = made
        gate = SerialGate(lanes)
        reached = 0
        while not all(lane.ended for lane in lanes):
            lane = gate.next()
            assert gate.reached >= reached or gate.reached < 0
            reached = max(reached, gate.reached)
            if lane is None and gate.is_complete:
                gate.close()
            elif lane is None:
                left = [each for each in lanes if each.sent]
                assert left
                dice.choice(left).arrive()  # type: ignore[attr-defined]
            else:
                frame = lane.take()
                assert frame.kind == FrameKind.END or frame.serial >= reached


def number(serial: int) -> Frame:
    return Frame(FrameKind.DATA, rows=1, serial=serial)


class TestWaiting:
    def test_a_number_waits_for_a_lane_that_may_still_bring_a_lower_one(self) -> None:
        fast, slow = Lane(0), Lane(1)
        gate = SerialGate([fast, slow])
        fast.waiting.append(number(5))
        assert gate.next() is None
        slow.promised = 5
        assert gate.next() is fast

    def test_a_number_is_complete_when_every_lane_has_brought_or_promised_a_greater_one(self) -> None:
        one, two = Lane(0), Lane(1, promised=5)
        gate = SerialGate([one, two])
        one.waiting.extend([number(5), number(6)])
        assert gate.next() is one
        one.take()
        assert gate.next() is None
        assert not gate.is_complete
        two.promised = 6
        assert gate.next() is None
        assert gate.is_complete
        gate.close()
        assert gate.next() is one

    def test_what_replicas_fired_at_one_heartbeat_comes_lane_after_lane(self) -> None:
        one, two = Lane(0, promised=7), Lane(1)
        gate = SerialGate([one, two], phases=3)
        two.waiting.append(number(7))
        assert gate.next() is None
        one.waiting.append(number(7))
        assert gate.next() is one

    def test_a_lane_at_a_barrier_holds_no_earlier_number_up_and_gets_it_taken_afterwards(self) -> None:
        early, late = Lane(0), Lane(1)
        gate = SerialGate([early, late])
        early.waiting.append(Frame(FrameKind.BARRIER, barrier=1))
        late.waiting.append(number(3))
        assert gate.next() is late
        late.take()
        late.waiting.append(Frame(FrameKind.BARRIER, barrier=1))
        assert gate.next() is None
        gate.close()
        assert gate.next() is early
        assert gate.reached <= 4, "what comes behind the barrier is not known yet"

    def test_a_side_input_goes_between_two_numbers_never_within_one(self) -> None:
        main, side = Lane(0), Lane(1)
        gate = SerialGate([main], NoOrder([side]))
        side.waiting.append(number(0))
        main.waiting.extend([number(1), number(1), number(2)])
        side.waiting.append(number(0))
        taken = []
        for _ in range(5):
            lane = gate.next()
            if lane is None:
                gate.close()
                lane = gate.next()
            assert lane is not None
            taken.append("side" if lane is side else lane.waiting[0].serial)
            lane.take()
        assert taken == ["side", 1, 1, "side", 2]


class TestRowsOfOneNumber:
    def test_rows_of_one_position_come_by_the_rank_of_their_input(self) -> None:
        pieces = [[np.array([0, 1])], [np.array([0, 1])]]
        assert merge_order(pieces, [1, 0]).tolist() == [2, 0, 3, 1]
        assert tags_of(pieces, [1, 0]) == [1, 0, 1, 0]

    def test_ordinals_decide_between_rows_of_one_position_before_the_lane_does(self) -> None:
        pieces = [[np.array([0, 0]), np.array([1, 3])], [np.array([0, 0]), np.array([0, 2])]]
        assert merge_order(pieces, [0, 0]).tolist() == [2, 0, 3, 1]
        assert tags_of(pieces, [0, 0]) == [1, 0, 1, 0]

    def test_rows_of_an_input_with_fewer_ordinals_have_ordinal_zero(self) -> None:
        pieces = [[np.array([0, 0]), np.array([-1, 1])], [np.array([0])]]
        assert merge_order(pieces, [0, 0]).tolist() == [0, 2, 1]
        assert tags_of(pieces, [0, 0]) == [0, 1, 0]

    def test_a_piece_with_its_own_rows_in_another_order_is_sorted(self) -> None:
        pieces = [[np.array([4, 1])], [np.array([2, 3])]]
        assert tags_of(pieces, [0, 0]) is None
        assert merge_order(pieces, [0, 0]).tolist() == [1, 2, 3, 0]


def tags_of(pieces: list[list[np.ndarray]], ranks: list[int]) -> list[int] | None:
    tags = merged_tags(pieces, ranks)
    return None if tags is None else tags.tolist()
