"""What workers of a plan say to each other survives the way as bytes; what cannot travel is said to be so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from actorstream.dgs.mailbox import ENDED
from actorstream.dgs.message_bytes import APART, Clock, Codec
from actorstream.dgs.messages import Promise, Request, StateDown, StateUp
from actorstream.errors import DataError


class State(msgspec.Struct):
    counts: dict[int, int] = {}
    table: np.ndarray | None = None


class Typed(msgspec.Struct):
    table: NDArray[np.int64]


@dataclass
class Plain:
    names: list[str] = field(default_factory=list)


def there_and_back(state: Any, *messages: Any) -> list[Any]:
    codec = Codec(state, "program, w2", Clock())
    return list(codec.decode(*codec.encode(messages)))


def test_promises_and_states_come_back_as_they_were() -> None:
    messages = [
        Promise(3, ENDED),
        Promise(0, -5, 7),
        StateUp(State({1: 2}), 4),
        StateDown(State({}), 0),
    ]
    assert there_and_back(State, *messages) == messages
    assert there_and_back(Plain, StateUp(Plain(["a"]), 1)) == [StateUp(Plain(["a"]), 1)]


def test_requests_keep_times_and_places() -> None:
    times, places = np.array([1, 5, 5]), np.array([0, 3, 9])
    (found,) = there_and_back(State, Request(2, times, places))
    assert found.tag == 2 and found.times.tolist() == [1, 5, 5] and found.places.tolist() == [0, 3, 9]
    (last,) = there_and_back(State, Request(None, np.empty(0, np.int64)))
    assert last.tag is None and last.places is None and not len(last.times)


def test_arrays_in_states_travel_with_type_and_shape_and_can_be_written() -> None:
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    (found,) = there_and_back(State, StateUp(State({}, table), 1))
    assert found.state.table.dtype == np.float32
    found.state.table[0, 0] = 9
    assert found.state.table.tolist() == [[9, 1, 2], [3, 4, 5]]


def test_large_arrays_may_be_annotated_with_their_type() -> None:
    codec = Codec(Typed, "program, w2", Clock())
    large = np.arange(APART)
    data = codec.encode([StateUp(Typed(large), 1)])
    beside = np.zeros(codec.room, np.uint8)
    for at, array in codec.apart:
        beside[at : at + array.nbytes] = array.view(np.uint8)
    (found,) = codec.decode(*data, beside)
    assert np.array_equal(found.state.table, large)


def test_a_state_that_cannot_travel_is_named() -> None:
    with pytest.raises(DataError, match="program, w2: a state cannot travel to another process"):
        Codec(Any, "program, w2", Clock()).encode([StateUp(object(), 1)])
    codec = Codec(State, "program, w2", Clock())
    with pytest.raises(DataError, match="is no State"):
        codec.decode(*codec.encode([StateUp({"counts": "many"}, 1)]))


def test_the_only_time_of_a_request_travels_as_a_number() -> None:
    for times in (np.array([7]), (7,)):
        (found,) = there_and_back(State, Request(2, times, np.array([3])))
        assert found.tag == 2 and found.times == (7,) and found.places.tolist() == [3]
