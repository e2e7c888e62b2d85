"""What every inbox keeps, given scripts of frames: whenever these arrive, rows come once and in their order, a barrier comes
once all lanes have brought it, and the end comes last. What an inbox keeps at a barrier goes on in another inbox whose lanes
have other numbers."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.ordering.causal import CausalOrder
from actorstream.ordering.none import NoOrder
from actorstream.plan.channels import SERIAL_WORD
from actorstream.runtime.fifo import FifoInbox
from actorstream.runtime.inbox import Inbox, Step
from actorstream.runtime.lanes import InLane
from actorstream.runtime.serial.inbox import NumberedInput, SerialInbox
from actorstream.runtime.serial.numbering import Numbering
from actorstream.runtime.timestamp.inbox import TimestampInbox
from actorstream.runtime.timestamp.lane_rows import LaneRows, RowOrder
from actorstream.runtime.timestamp.merge import MergeReader, TimestampMerge
from actorstream.runtime.timestamp.merged_runs import MergedRuns
from actorstream.runtime.timestamp.one_lane import OneLane
from actorstream.transports.base import Frame, FrameKind
from actorstream.windows.watermark import AT_END
from tests.conformance.frames import Ports, Promise, Row, Scripted, Waiting, data, mark

LANES = 3
BARRIER = 5
SEEDS = pytest.mark.parametrize("seed", range(30))
Script = list[Frame | Promise]
Trace = list[tuple[str, int]]
"""Rows by their numbers, barriers, and the end, as an inbox gave them."""


def scripts(dice: random.Random, *, serial: bool) -> list[Script]:
    """What each lane brings: jumbo tuples whose times rise, of one serial number each, a barrier between them, and the end."""
    rows = sorted((dice.randrange(12), number) for number in range(40))
    found: list[Script] = []
    for lane in range(LANES):
        own = [(time, n) for time, n in rows if n % LANES == lane]
        script: Script = []
        while own:
            count = dice.randint(1, 4)
            part = [row for row in own[:count] if not serial or row[0] == own[0][0]]
            own = own[len(part) :]
            if dice.random() < 0.5:
                script.append(Promise(SERIAL_WORD if serial else 0, part[0][0]))
            script.append(data(*part, serial=part[0][0]))
        at = dice.randint(0, len(script))
        if serial:  # the numbers behind a barrier are greater than those before it on any lane
            at = next((at for at, each in enumerate(script) if _first(each) >= 6), len(script))
        found.append([*script[:at], mark(FrameKind.BARRIER, BARRIER), *script[at:], mark(FrameKind.END)])
    return found


def _first(item: Frame | Promise) -> int:
    return item.value if isinstance(item, Promise) else item.serial


def lanes_of(channels: list[Scripted], *, word: int = 0) -> list[InLane]:
    return [
        InLane(index, f"input{channel.channel.id}", channel, lambda frame: frame.payload, word=word)
        for index, channel in enumerate(channels)
    ]


SCHEMA = Schema.of(Row).with_system(("_position",))


def fifo(channels: list[Scripted]) -> Inbox:
    lanes = lanes_of(channels)
    return FifoInbox(lanes, NoOrder(lanes), Ports())


def causal(channels: list[Scripted]) -> Inbox:
    """The outputs of workers of one plan; the serial of a frame is its sender's clock."""
    lanes = lanes_of(channels)
    return FifoInbox(lanes, CausalOrder(lanes, [range(len(lanes))]), Ports())


def serial(channels: list[Scripted]) -> Inbox:
    lanes = lanes_of(channels, word=SERIAL_WORD)
    numbered: list[Any] = [NumberedInput(("_position",), 0, SCHEMA) for _ in lanes]
    return SerialInbox(lanes, numbered, Numbering(1), merging=True, follows=False)


def timestamp(channels: list[Scripted], most_tied: int = 1 << 20, *, by_value: bool = False) -> Inbox:
    """Channel `id` brings rows of replica `id` of one input. `by_value`: tied rows are ordered by what is in them."""
    lanes = [
        InLane(index, "in", channel, lambda frame: frame.payload) for index, channel in enumerate(channels)
    ]
    orders = [
        RowOrder(
            replica=channel.channel.id,
            columns=() if by_value else ("_position",),
            local=True,
            by_value=by_value,
        )
        for channel in channels
    ]
    rows = [LaneRows(lane, order, Waiting()) for lane, order in zip(lanes, orders)]
    runs = MergedRuns([0] * len(rows), {0: SCHEMA}, ties=1)
    merge = TimestampMerge(rows, runs, np.zeros(64, np.int64))
    merge.most_tied = most_tied
    return TimestampInbox(MergeReader(merge, Ports(), 0), [], NoOrder([]), {"in": Schema.of(Row)})


def by_value(channels: list[Scripted]) -> Inbox:
    return timestamp(channels, by_value=True)


def spilled(channels: list[Scripted]) -> Inbox:
    """The same with memory for one run of rows of a lane that leave their channel."""
    return timestamp(channels, most_tied=0)


MAKERS = {"none": fifo, "causal": causal, "serial": serial, "timestamp": timestamp, "spilled": spilled}
TIMED = ("timestamp", "spilled")


def channels_of(given: list[Script]) -> list[Scripted]:
    channels = [Scripted(script) for script in given]
    for number, channel in enumerate(channels):
        channel.channel = replace(channel.channel, id=number)
    return channels


def drain(inbox: Inbox, trace: Trace, until: Step = Step.END) -> bool:
    """Takes what the inbox has now; returns whether it gave such a step."""
    while (step := inbox.next()) is not Step.NOTHING:
        if step is Step.ROWS:
            batch: Batch = inbox.batch
            trace += [("row", int(n)) for n in batch["n"]]
            inbox.done()
        elif step is Step.BARRIER:
            trace.append(("barrier", inbox.barrier))
            if until is Step.BARRIER:
                return True
            inbox.passed()
        elif step is Step.END:
            trace.append(("end", 0))
            return True
    return False


def given_in_time(
    inbox: Inbox, channels: list[Scripted], dice: random.Random, until: Step = Step.END
) -> Trace:
    """What an inbox gives while frames arrive by and by."""
    trace: Trace = []
    while not drain(inbox, trace, until):
        left = [channel for channel in channels if channel.script]
        assert left, "everything has arrived, and the inbox has not come to its end"
        dice.choice(left).arrive(dice.randint(1, 3))
    return trace


def numbers(trace: Trace) -> list[int]:
    return [number for what, number in trace if what == "row"]


def rows_of(given: list[Script]) -> list[list[tuple[int, int]]]:
    """(event time, number) of the rows of each lane."""
    return [
        [row for frame in script if isinstance(frame, Frame) and frame.rows for row in zip(*_columns(frame))]
        for script in given
    ]


def _columns(frame: Frame) -> tuple[list[int], list[int]]:
    return frame.payload["t"].tolist(), frame.payload["n"].tolist()


@SEEDS
@pytest.mark.parametrize("order", MAKERS)
def test_rows_come_once_and_a_barrier_when_all_lanes_have_brought_it(order: str, seed: int) -> None:
    dice = random.Random(seed)
    given = scripts(dice, serial=order == "serial")
    channels = channels_of(given)
    trace = given_in_time(MAKERS[order](channels), channels, dice)
    assert sorted(numbers(trace)) == list(range(40))
    assert [what for what, _ in trace].count("barrier") == 1
    assert trace[-1] == ("end", 0)
    assert not any(channel.frames for channel in channels), "all room went back to the senders"
    for rows in rows_of(given):
        own = [n for _, n in rows]
        assert [n for n in numbers(trace) if n in own] == own
    if order not in TIMED:  # which keep rows that wait, and pass the barrier on
        before = set(numbers(trace[: trace.index(("barrier", BARRIER))]))
        assert before == {n for script in given for n in _before(script)}


def _before(script: Script) -> list[int]:
    """Numbers of the rows before the barrier."""
    frames = [each for each in script if isinstance(each, Frame)]
    at = next(at for at, frame in enumerate(frames) if frame.kind == FrameKind.BARRIER)
    return [n for frame in frames[:at] for n in _columns(frame)[1]]


@SEEDS
@pytest.mark.parametrize("order", ["serial", *TIMED])
def test_the_sequence_does_not_depend_on_when_frames_arrive(order: str, seed: int) -> None:
    given = scripts(random.Random(seed), serial=order == "serial")
    rows = sorted(row for lane in rows_of(given) for row in lane)
    for arrival in range(3):
        channels = channels_of(given)
        trace = given_in_time(MAKERS[order](channels), channels, random.Random(f"{seed} {arrival}"))
        assert numbers(trace) == [n for _, n in rows]


@SEEDS
@pytest.mark.parametrize("order", MAKERS)
def test_another_inbox_goes_on_from_what_was_kept_at_a_barrier_with_lanes_of_other_numbers(
    order: str, seed: int
) -> None:
    dice = random.Random(seed)
    given = scripts(dice, serial=order == "serial")
    channels = channels_of(given)
    inbox = MAKERS[order](channels)
    before = given_in_time(inbox, channels, dice, until=Step.BARRIER)
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(inbox.snapshot()))
    rest = channels_of([_behind(script) for script in given])[::-1]
    again = MAKERS[order](rest)
    if kept is not None:
        again.restore(kept)
    found = numbers(before) + numbers(given_in_time(again, rest, dice))
    assert sorted(found) == list(range(40))
    if order in ("serial", *TIMED):
        assert found == [n for _, n in sorted(row for lane in rows_of(given) for row in lane)]


def _behind(script: Script) -> Script:
    """What a producer sends that goes on from the barrier."""
    at = next(
        at for at, each in enumerate(script) if isinstance(each, Frame) and each.kind == FrameKind.BARRIER
    )
    return script[at + 1 :]


@pytest.mark.parametrize("order", ["none", "causal"])
def test_a_promise_from_behind_a_barrier_is_made_behind_it(order: str) -> None:
    """After a resume the rows between may come here, though they did not in this run."""
    first: Script = [data((10, 0)), mark(FrameKind.BARRIER, BARRIER), Promise(0, 150)]
    channels = channels_of([first, [Promise(0, 300), mark(FrameKind.BARRIER, BARRIER)]])
    inbox = MAKERS[order](channels)
    channels[0].arrive(3)
    channels[1].arrive(1)
    trace: Trace = []
    drain(inbox, trace)
    assert inbox.follow(None, resting=True) is None
    channels[1].arrive(1)
    drain(inbox, trace)
    assert trace == [("row", 0), ("barrier", BARRIER)]
    assert inbox.follow(None, resting=True) == 150


def test_a_promise_from_behind_a_barrier_of_a_side_input_is_made_behind_it() -> None:
    """Where the other input is serial, whose promises travel among its rows."""

    def numbered(serial: int, row: tuple[int, int]) -> Script:
        time = Frame(FrameKind.HEARTBEAT, serial=serial, max_time=300)
        return [data(row, serial=serial), time, Promise(SERIAL_WORD, serial + 1)]

    barrier = mark(FrameKind.BARRIER, BARRIER)
    rows, side = channels_of(
        [[*numbered(0, (10, 0)), barrier, *numbered(1, (20, 1))], [barrier, Promise(0, 150)]]
    )
    lanes = [*lanes_of([rows], word=SERIAL_WORD), InLane(1, "side", side, lambda frame: frame.payload)]
    how = NumberedInput(("_position",), 0, SCHEMA)
    inbox = SerialInbox(lanes, [how, None], Numbering(1), merging=False, follows=True)
    side.arrive(2)
    given: list[tuple[Step, int]] = []
    for arrives in (3, 4):
        rows.arrive(arrives)
        while (step := inbox.next()) is not Step.NOTHING:
            given.append((step, inbox.time if step is Step.TIME else inbox.barrier))
    steps = [(Step.ROWS, 0), (Step.BARRIER, BARRIER), (Step.ROWS, BARRIER), (Step.TIME, 150)]
    assert [each for each in given if each[0] is not Step.AGAIN] == steps


class Untimed(Event):
    n: int


def test_rows_of_a_side_input_need_no_event_time_while_a_hook_runs_on_them() -> None:
    rows, side = channels_of([[data((10, 0)), Promise(0, 20)], [Frame(FrameKind.DATA, rows=1)]])
    side.script[0].payload = Batch.of_events(Untimed, [Untimed(1)])  # type: ignore[union-attr]
    sides = [InLane(1, "side", side, lambda frame: frame.payload)]
    lane = LaneRows(lanes_of([rows])[0], RowOrder(), Waiting())
    inbox = TimestampInbox(OneLane(lane, Ports()), sides, NoOrder(sides), {})
    rows.arrive(2)
    side.arrive()
    given = [(inbox.next(), inbox.source) for _ in range(2)]
    assert given == [(Step.ROWS, "input0"), (Step.ROWS, "side")]
    assert inbox.follow((inbox.batch, 0), resting=False) == 10


@pytest.mark.parametrize("order", MAKERS)
def test_nothing_is_given_while_nothing_has_arrived(order: str) -> None:
    inbox = MAKERS[order](channels_of([[mark(FrameKind.END)], [mark(FrameKind.END)]]))
    assert [inbox.next(), inbox.next()] == [Step.NOTHING, Step.NOTHING]


@SEEDS
def test_outputs_of_workers_come_by_their_clocks_if_what_was_sent_before_can_be_seen_before(
    seed: int,
) -> None:
    dice = random.Random(seed)
    clocks = [sorted(dice.randrange(30) for _ in range(12)) for _ in range(LANES)]
    sent = sorted((clock, lane, at) for lane, each in enumerate(clocks) for at, clock in enumerate(each))
    number = {(lane, at): place for place, (_, lane, at) in enumerate(sent)}
    channels = channels_of(
        [
            [
                *(data((clock, number[lane, at]), serial=clock) for at, clock in enumerate(each)),
                mark(FrameKind.END),
            ]
            for lane, each in enumerate(clocks)
        ]
    )
    inbox = causal(channels)
    trace: Trace = []
    arriving = [lane for _, lane, _ in sent] + list(range(LANES))
    while arriving:
        some = dice.randint(1, 6)
        for lane in arriving[:some]:
            channels[lane].arrive()
        del arriving[:some]
        drain(inbox, trace)
    assert [sent[n][0] for n in numbers(trace)] == [clock for clock, _, _ in sent]
    assert trace[-1] == ("end", 0)


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_the_end_go_by_value_once_all_lanes_have_ended(seed: int) -> None:
    """What replicas give when everything has ended has one time, just below the end of time."""
    given: list[Script] = [
        [*(data((AT_END, n)) for n in own), mark(FrameKind.END)] for own in ([3, 4], [5, 1], [2])
    ]
    channels = channels_of(given)
    trace = given_in_time(by_value(channels), channels, random.Random(seed))
    assert trace == [*(("row", n) for n in range(1, 6)), ("end", 0)]


def test_rows_that_wait_for_others_of_their_time_give_their_room_back() -> None:
    """Their sender may have more of them, and promises no later time before it has sent these."""
    channels = channels_of([[data((5, 2)), data((5, 1)), mark(FrameKind.END)], [mark(FrameKind.END)]])
    inbox = by_value(channels)
    channels[1].arrive()
    trace: Trace = []
    for _ in range(2):
        channels[0].arrive()
        assert not drain(inbox, trace)
        assert trace == []
        assert not channels[0].frames
    channels[0].arrive()
    assert drain(inbox, trace)
    assert trace == [("row", 1), ("row", 2), ("end", 0)]
