"""Rooms: memory of an arena for bytes that are to come."""

from __future__ import annotations

import pytest

from actorstream.native.arena import Arena
from actorstream.native.rooms import Rooms, rooms_of


def test_a_room_is_writable_and_lives_as_long_as_a_view_of_it() -> None:
    arena = Arena.create(1 << 24, 1)
    view = memoryview(rooms_of(arena).take(1000))
    assert arena.statistics().blocks == 1
    view[:] = bytes(range(250)) * 4
    assert bytes(view[250:500]) == bytes(range(250))
    view.release()
    assert arena.statistics().blocks == 0


def test_rooms_outlive_the_handle_of_their_arena() -> None:
    arena = Arena.create(1 << 24, 1)
    rooms = rooms_of(arena)
    arena.close()
    room = memoryview(rooms.take(64))
    del rooms
    room[:] = b"8 bytes " * 8
    assert bytes(room[:8]) == b"8 bytes "


def test_where_the_arena_has_none_left_a_room_is_of_the_heap() -> None:
    arena = Arena.create(1 << 22, 1)
    rooms = rooms_of(arena)
    room = rooms.take(1 << 24)
    assert len(memoryview(room)) == 1 << 24
    assert not memoryview(room).readonly
    assert arena.statistics().blocks == 0


@pytest.mark.parametrize("nbytes", [-1, 2**80, "1"])
def test_what_is_no_number_of_bytes_is_refused(nbytes: object) -> None:
    with pytest.raises((ValueError, OverflowError, TypeError)):
        rooms_of(Arena.create(1 << 22, 1)).take(nbytes)  # type: ignore[arg-type]


def test_an_address_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="address"):
        Rooms(None, 1, 2, 0, 3)
