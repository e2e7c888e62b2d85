"""What the gate of every order keeps, whichever rows it lets go first."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.ordering.none import NoOrder
from actorstream.ordering.serial import SerialGate
from actorstream.transports.base import Frame, FrameKind

FRONTIER_END = 2**63 - 1
END = Frame(FrameKind.END)


@dataclass
class ModelLane:
    """A channel as a gate sees it: frames in order, a frontier, an end mark behind the last frame."""

    index: int
    input: str
    frames: deque[Any] = field(default_factory=deque)
    arrived: int = 0
    ended: bool = False
    held: bool = False

    def head(self) -> Any | None:
        return self.frames[0] if self.arrived else None

    def frontier(self) -> int:
        return FRONTIER_END if self.ended else -(2**63)

    def take(self) -> Any:
        assert self.arrived
        self.arrived -= 1
        frame = self.frames.popleft()
        if frame.kind == FrameKind.END:
            self.ended = True
            return "end"
        return frame.producer, frame.sequence


class Steps(SerialGate):
    """A serial gate whose numbers are closed as soon as they are complete."""

    def next(self) -> Any | None:
        found = super().next()
        while found is None and self.is_complete:
            self.close()
            found = super().next()
        return found


Gate = NoOrder | Steps


@pytest.fixture(params=[NoOrder, Steps], scope="module")
def ordering(request: pytest.FixtureRequest) -> type[Gate]:
    return request.param  # type: ignore[no-any-return]


ROUNDS = st.lists(
    st.tuples(st.sampled_from(["arrive", "take", "hold", "let go"]), st.integers(0, 4)), max_size=120
)


def data(lane: int, number: int) -> Frame:
    """A frame as any order may look at it: numbers, times and sequence rise on each lane."""
    return Frame(
        FrameKind.DATA,
        rows=1,
        producer=lane,
        sequence=number,
        serial=number,
        min_time=number,
        max_time=number,
    )


def lanes_of(counts: list[int]) -> list[ModelLane]:
    return [
        ModelLane(index, f"input{index % 2}", deque([*(data(index, number) for number in range(count)), END]))
        for index, count in enumerate(counts)
    ]


def finish(gate: Gate, lanes: list[ModelLane], taken: list[Any]) -> None:
    """Everything arrives and nothing is held: the gate must come to the end."""
    for lane in lanes:
        lane.held, lane.arrived = False, len(lane.frames)
    while (lane := gate.next()) is not None:
        taken.append(lane.take())


class TestEveryOrdering:
    @given(counts=st.lists(st.integers(0, 8), min_size=1, max_size=5), rounds=ROUNDS)
    def test_every_frame_goes_once_and_each_lane_in_its_order(
        self, ordering: type[Gate], counts: list[int], rounds: list[tuple[str, int]]
    ) -> None:
        lanes = lanes_of(counts)
        gate = ordering(lanes)
        taken: list[Any] = []
        for step, number in rounds:
            lane = lanes[number % len(lanes)]
            if step == "arrive":
                lane.arrived = min(lane.arrived + 1, len(lane.frames))
            elif step == "hold":
                lane.held = True
            elif step == "let go":
                lane.held = False
            elif (chosen := gate.next()) is not None:
                assert chosen in lanes
                assert not chosen.held
                assert not chosen.ended
                assert chosen.head() is not None
                taken.append(chosen.take())
        finish(gate, lanes, taken)
        assert all(lane.ended for lane in lanes)
        frames = [frame for frame in taken if frame != "end"]
        assert sorted(frames) == [
            (index, number) for index, count in enumerate(counts) for number in range(count)
        ]
        for index in range(len(lanes)):
            own = [number for lane, number in frames if lane == index]
            assert own == sorted(own)

    def test_nothing_goes_while_nothing_waits(self, ordering: type[Gate]) -> None:
        gate = ordering(lanes_of([3, 3]))
        assert gate.next() is None
        assert gate.next() is None

    def test_a_held_lane_never_goes_and_goes_on_afterwards(self, ordering: type[Gate]) -> None:
        lanes = lanes_of([2])
        gate = ordering(lanes)
        lanes[0].arrived, lanes[0].held = 3, True
        assert gate.next() is None
        lanes[0].held = False
        taken: list[Any] = []
        finish(gate, lanes, taken)
        assert taken == [(0, 0), (0, 1), "end"]

    def test_looking_twice_changes_nothing(self, ordering: type[Gate]) -> None:
        """A gate is asked again when the frame it let go was not taken, because the unit was blocked meanwhile."""
        lanes = lanes_of([4])
        gate = ordering(lanes)
        lanes[0].arrived = 5
        for _ in range(3):
            assert gate.next() is lanes[0]
        taken: list[Any] = []
        finish(gate, lanes, taken)
        assert len(taken) == 5

    def test_lanes_that_have_ended_are_left_out(self, ordering: type[Gate]) -> None:
        lanes = lanes_of([0, 2])
        gate = ordering(lanes)
        taken: list[Any] = []
        finish(gate, lanes, taken)
        assert sorted(taken, key=str) == [(1, 0), (1, 1), "end", "end"]
        assert gate.next() is None
