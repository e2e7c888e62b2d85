"""Links between processes: what is said arrives in its order, short messages in the ring's own entries."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from actorstream.dgs.message_bytes import APART, Clock, Codec
from actorstream.dgs.messages import Promise, Request, StateDown, StateUp
from actorstream.errors import DataError
from actorstream.runtime.dependency.links import ENTRY, Neighbour
from actorstream.transports.base import Channel
from actorstream.transports.shm import ShmTransport

DOWN = Channel(0, 0, 1, 0, 0, slots=4, budget=1 << 12)
UP = Channel(1, 1, 0, 1, 1, slots=4, budget=1 << 12)


class State(msgspec.Struct):
    text: str = ""
    table: np.ndarray | None = None
    sums: dict[str, np.ndarray] = {}


Pair = tuple[Neighbour, Neighbour]


@pytest.fixture(params=["arena", "heap"])
def link(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Two workers as each other's neighbours, whose jumbo tuples are built in an arena or on the heap."""
    fabric = ShmTransport.fabric(2, [DOWN, UP], 77)
    above, below = ShmTransport(fabric, 0), ShmTransport(fabric, 1)
    ends = [above.sender(DOWN), below.receiver(DOWN), below.sender(UP), above.receiver(UP)]
    made = []
    for child, transport, out, into in ((0, above, ends[0], ends[3]), (-1, below, ends[2], ends[1])):
        arena = transport.arena if request.param == "arena" else None
        codec = Codec(State, "program, w1", Clock())
        made.append(Neighbour(child, out, into, codec, arena=arena, watches=True))  # type: ignore[arg-type]
    yield made[0], made[1]
    for end in ends:
        end.close()  # type: ignore[attr-defined]
    fabric.close()


def test_messages_of_any_length_arrive_in_their_order(link: Pair) -> None:
    sender, receiver = link
    chance = random.Random(5)
    said: list[Any] = []
    heard: list[Any] = []
    for number in range(400):
        length = chance.choice([0, 3, ENTRY - 60, ENTRY - 30, ENTRY, 1000] if number > 200 else [0, 3, 10])
        message: Any = chance.choice([StateUp, StateDown])(State("x" * length), number)
        if chance.random() < 0.3:
            message = Promise(number, number)
        elif chance.random() < 0.3:
            message = Request(number, (chance.randrange(-(2**63), 2**63),))
        said.append(message)
        if chance.random() < 0.3:
            sender.send([message], at_once=True)
            continue
        sender.send([message], at_once=False)
        if chance.random() < 0.7:
            sender.flush()
        if chance.random() < 0.5:
            heard += receiver.take()
    while not sender.flush():
        heard += receiver.take()
    heard += receiver.take()
    assert heard == said


@pytest.mark.parametrize("rows", [1, APART // 8 - 1, APART // 8, 40_000])
def test_large_arrays_of_a_state_lie_beside_it_and_arrive_as_they_were(link: Pair, rows: int) -> None:
    sender, receiver = link
    table = np.arange(3 * rows, dtype=np.float64).reshape(3, rows)
    sums = {"odd": np.arange(2 * rows)[1::2], "flags": np.arange(8 * rows) % 3 == 0, "few": np.arange(3)}
    sender.send(
        [Promise(1, 1), StateUp(State("a", table.T, sums), 5), StateUp(State("b", table[1]), 6)],
        at_once=False,
    )
    assert sender.flush()
    table[:] = -1  # what was sent is not the sender's any more
    promise, one, other = receiver.take()
    assert promise == Promise(1, 1)
    assert one.state.table.tolist() == np.arange(3.0 * rows).reshape(3, rows).T.tolist()
    assert {name: each.tolist() for name, each in one.state.sums.items()} == {
        name: each.tolist() for name, each in sums.items()
    }
    assert {name: each.dtype for name, each in one.state.sums.items()} == {
        name: each.dtype for name, each in sums.items()
    }
    other.state.table[0] = 7
    assert other.state.table.tolist() == [7, *range(rows + 1, 2 * rows)]
    assert receiver.into.statistics()["kept"] == 0


def test_a_short_message_is_taken_where_it_rings(link: Pair) -> None:
    sender, receiver = link
    assert receiver.wait is not None and receiver.wait(0) == []
    assert not list(receiver.take())
    said = [StateUp(State("abc"), 1), Promise(2, 5)]
    sender.send(list(said), at_once=False)
    assert sender.waits and sender.flush() and not sender.waits
    assert receiver.wait(0) == tuple(said)
    sender.send([Promise(2, 6)], at_once=False)
    sender.flush()
    assert list(receiver.take()) == [Promise(2, 6)]


@pytest.mark.parametrize(
    "message", [Request(3, (-5,)), StateUp(State("abc"), 1), StateDown(State(""), 2), Promise(2, 5)]
)
def test_a_message_that_is_waited_for_goes_at_once(link: Pair, message: Any) -> None:
    sender, receiver = link
    for look in (lambda: receiver.wait(0), receiver.take):  # type: ignore[misc]
        said = [message]
        sender.send(said, at_once=True)
        assert not said and not sender.waits
        assert list(look()) == [message]  # type: ignore[operator]


def test_times_of_the_clock_go_with_short_states_too(link: Pair) -> None:
    sender, receiver = link
    sender.codec.clock.now = 41
    sender.send([StateUp(State("abc"), 1)], at_once=True)
    assert list(receiver.take()) == [StateUp(State("abc"), 1)]
    assert receiver.codec.clock.now == 42


def test_requests_that_are_more_than_a_time_keep_all_that_they_say(
    link: Pair,
) -> None:
    sender, receiver = link
    sender.send([Request(None, np.empty(0, np.int64))], at_once=True)
    (last,) = receiver.take()
    assert last.tag is None and not len(last.times)
    sender.send([Request(2, np.array([7]), np.array([3]))], at_once=True)
    (placed,) = receiver.take()
    assert placed.times == (7,) and placed.places.tolist() == [3]
    sender.send([Request(2, np.array([7, 8]))], at_once=True)
    (several,) = receiver.take()
    assert several.times.tolist() == [7, 8] and several.places is None


def test_a_short_state_of_another_class_is_refused(link: Pair) -> None:
    sender, receiver = link
    sender.send([StateUp({"text": 5}, 1)], at_once=True)
    with pytest.raises(DataError, match="is no State"):
        list(receiver.take())


def test_a_long_message_only_rings(link: Pair) -> None:
    sender, receiver = link
    assert receiver.wait is not None
    sender.send([StateUp(State("x" * 2 * ENTRY), 1)], at_once=False)
    sender.flush()
    assert receiver.wait(0) == [DOWN.receive_bit]
    assert list(receiver.take()) == [StateUp(State("x" * 2 * ENTRY), 1)]
