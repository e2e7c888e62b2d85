"""Sources' side of a plan: each slice to the worker of its tag, promises behind the rows, times that must not decrease."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorstream.dgs.classifier import Classifier
from actorstream.dgs.tagging import by, tagging_of
from actorstream.dgs.tags import Tag
from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.plan.edge_schemas import EdgeSchemas
from actorstream.plan.program_channels import StreamWords
from actorstream.runtime.dependency.single_events import single_sender
from actorstream.runtime.dependency.tag_edge import TagEdge, TagStream
from actorstream.runtime.framing import Framing
from actorstream.runtime.send_lane import SendLane, Waiting
from actorstream.topology.dependency import PlannedStream
from actorstream.transports.base import FRONTIER_MIN, Channel
from actorstream.transports.local import LocalReceiveChannel, local_channel
from tests.integration.programs import Operation, Value


class Bell:
    def ring(self, bit: int) -> None:
        """Nobody waits."""


def lane(
    event: type = Operation, words: int = 1, slots: int = 256, budget: int = 4 << 20
) -> tuple[SendLane, LocalReceiveChannel]:
    channel = Channel(0, 0, 0, 0, 1, slots=slots, budget=budget, frontiers=words)
    send, receive = local_channel(channel, Bell(), Bell())
    made = SendLane(
        send,
        Framing(
            None,
            encodes=False,
            schemas=EdgeSchemas(
                Schema.of(event).with_system(("_position",)) if event is Operation else Schema.of(event)
            ),
            plan=0,
            producer=0,
            unfit=lambda error: error,
        ),
        batch_size=100,
        on_blocked=lambda lane: None,
        waiting=Waiting.SELECTIONS,
    )
    return made, receive


def operations(times: list[int], ops: str, keys: list[int]) -> Batch:
    columns: dict[str, Any] = {"ts": times, "op": list(ops), "key": keys, "number": list(range(len(times)))}
    return Batch.of_columns(Operation, columns)


def frames(channel: LocalReceiveChannel) -> list[tuple[int, list[int]]]:
    found = []
    while (frame := channel.peek()) is not None:
        found.append((frame.serial, np.asarray(frame.payload["ts"]).tolist()))
        channel.consume()
    return found


def test_slices_go_to_the_worker_of_their_tag_and_promise_behind_themselves() -> None:
    first, second = lane(), lane()
    tagging = by("op", {"i": "increment", "r": "read"})
    numbers = {(0, Tag("increment")): 0, (0, Tag("read")): 1}
    classifier = Classifier(
        tagging, [(0, PlannedStream(name="events", input="events", partition=0))], numbers, "x"
    )
    stream = TagStream("events", StreamWords(0), 0, {0: 0, 1: 1})
    edge = TagEdge(
        classifier,
        [first[0], second[0]],
        [stream],
        lambda: 0,
        promises=True,
        positioned=True,
        where="events -> counters",
    )
    edge.push(operations([1, 2, 2, 7], "iiri", [0, 1, 0, 1]))
    assert first[1].frontier(0) == second[1].frontier(0) == 7
    assert first[1].peek().payload.system["_position"].data.tolist() == [0, 1, 3]  # type: ignore[union-attr]
    assert frames(first[1]) == [(0, [1, 2, 7])] and frames(second[1]) == [(1, [2])]
    edge.advance(9)
    assert first[1].frontier(0) == second[1].frontier(0) == 9
    with pytest.raises(
        DataError, match="stream 'events': row 5 has time 8, row 4 before it 10; allowed: times that do"
    ):
        edge.push(operations([10, 8], "ii", [0, 0]))
    with pytest.raises(DataError, match="row 4 has time 6, row 3 before it 7"):
        edge.push(operations([6], "i", [0]))


def edge_by_field(made: SendLane) -> TagEdge:
    """Two streams that the field `key` tells, each with increments and reads."""
    streams = [
        (number, PlannedStream(name=f"s/{number}", input="s", field="key", value=str(number)))
        for number in (0, 1)
    ]
    names = ("increment", "read")
    numbers = {(stream, Tag(name)): 2 * stream + at for stream in (0, 1) for at, name in enumerate(names)}
    classifier = Classifier(by("op", {"i": "increment", "r": "read"}), streams, numbers, "x")
    found = [TagStream(f"s/{each}", StreamWords(0), -1, {2 * each: 0, 2 * each + 1: 0}) for each in (0, 1)]
    return TagEdge(
        classifier, [made], found, lambda: 0, promises=True, positioned=True, where="s -> counters"
    )


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_times_of_a_stream_that_a_field_tells_decrease_across_its_tags_whatever_the_batch(size: int) -> None:
    """Times 4, 5 and 3 of stream 0, each of another tag than the one before it, between rows of stream 1."""
    edge = edge_by_field(lane()[0])
    times, ops, keys = [1, 4, 2, 5, 2, 3], "iirrri", [1, 0, 1, 0, 1, 0]
    text = "stream 's/0': row 2 has time 3, row 1 before it 5"
    with pytest.raises(DataError, match=text):
        for first in range(0, 6, size):
            part = slice(first, first + size)
            edge.push(operations(times[part], ops[part], keys[part]))
    times[-1] = 5
    edge = edge_by_field(lane()[0])
    for first in range(0, 6, size):
        part = slice(first, first + size)
        edge.push(operations(times[part], ops[part], keys[part]))
    assert [(each.first, each.time, each.rows) for each in edge.streams] == [(4, 5, 3), (1, 2, 3)]


def test_each_of_several_streams_has_its_own_promise() -> None:
    made, receive = lane(Value, words=5)
    streams = [(number, PlannedStream(name=f"v/{number}", input="v", partition=number)) for number in (0, 1)]
    classifier = Classifier(tagging_of("value"), streams, {(0, Tag("value")): 4, (1, Tag("value")): 5}, "x")
    origin = 0
    edge = TagEdge(
        classifier,
        [made],
        [TagStream("v/0", StreamWords(3), 0, {4: 0}), TagStream("v/1", StreamWords(4), 1, {5: 0})],
        lambda: origin,
        promises=True,
        positioned=False,
        where="v -> sum",
    )
    edge.push(Batch.of_columns(Value, {"ts": [1, 8], "value": [1, 1]}))
    assert [receive.frontier(word) for word in (0, 3, 4)] == [FRONTIER_MIN, 8, FRONTIER_MIN]
    origin = 1
    edge.push(Batch.of_columns(Value, {"ts": [3], "value": [1]}))  # before the other stream's last
    made.flush()
    assert [receive.frontier(word) for word in (0, 3, 4)] == [3, 8, 3]
    assert frames(receive) == [(4, [1, 8]), (5, [3])]
    edge.advance(20)
    assert [receive.frontier(word) for word in (0, 3, 4)] == [20, 20, 20]


def test_a_slice_is_handed_over_whole_inside_a_process_up_to_the_budget() -> None:
    made, receive = lane(Value, budget=24_000)
    made.batch_size = 10_000
    rows = Batch.of_columns(Value, {"ts": list(range(3000)), "value": [1] * 3000})
    assert rows.nbytes == 48_000
    made.push(rows.slice(0, 1000), 0)
    assert [len(times) for _, times in frames(receive)] == [1000]
    made.push(rows, 0)  # more than the budget: a part of it has to be worked on before the next is sent
    found = []
    while part := frames(receive):
        found += [len(times) for _, times in part]
        made.flush()
    assert found == [1500, 1500]


def value_edge(lanes: list[SendLane], partitions: int = 1) -> TagEdge:
    numbers = {(number, Tag("value")): number for number in range(partitions)}
    planned = [PlannedStream(name=f"s{each}", input="values", partition=each) for each in range(partitions)]
    return TagEdge(
        Classifier(tagging_of("value"), list(enumerate(planned)), numbers, "x"),
        lanes,
        [TagStream(f"s{each}", StreamWords(0), each, {each: 0}) for each in range(partitions)],
        lambda: 0,
        promises=True,
        positioned=False,
        where="values -> sum",
    )


def test_a_single_event_of_the_only_tag_says_its_time_and_promises_behind_itself() -> None:
    out, channel = lane(Value)
    edge = value_edge([out])
    send = single_sender(edge, Schema.of(Value))
    assert send is not None
    assert send(Value(5, 50), 1_000) == 1 and send(Value(5, 51), 1_001) == 1
    assert channel.frontier(0) == 5
    frame = channel.peek()
    assert frame is not None and frame.rows == 1 and frame.serial == 0
    assert frame.min_time == frame.max_time == 5 and frame.min_entry == frame.max_entry == 1_000
    assert frames(channel) == [(0, [5]), (0, [5])]
    edge.push(Batch.of_events(Value, [Value(7, 1)]))
    assert frames(channel) == [(0, [7])] and edge.snapshot()["streams"]["s0"] == (5, 7, 3, 7)


def test_what_a_single_event_must_not_do_is_left_to_batches() -> None:
    out, channel = lane(Value, slots=1)
    edge = value_edge([out])
    send = single_sender(edge, Schema.of(Value))
    assert send is not None and send(Value(5, 50), 1) == 1
    assert send(Value(6, 50), 1) == 0  # no room
    assert frames(channel) == [(0, [5])] and channel.frontier(0) == 5
    assert send(Value(4, 50), 1) == 0
    assert send(Value("x", 50), 1) == 0  # type: ignore[arg-type]
    assert not frames(channel)
    with pytest.raises(DataError, match="has time 4"):
        edge.push(Batch.of_events(Value, [Value(4, 50)]))
    assert single_sender(value_edge([out], partitions=2), Schema.of(Value)) is None
