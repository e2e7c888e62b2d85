"""Views: the bytes of a hold as a buffer of Python."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.native.arena import Arena
from actorstream.native.views import Views, view_of


def test_what_a_block_exports_is_read_only_and_outlives_the_block() -> None:
    arena = Arena.create(1 << 24, 1)
    block = arena.allocate(1000)
    block.view()[:8] = range(8)
    exported = block.export()
    array = np.frombuffer(exported, np.uint8)
    assert exported.nbytes == block.nbytes == len(array)
    assert not array.flags.writeable
    del exported
    block.release()
    assert array[:8].tolist() == list(range(8))
    assert arena.statistics().blocks == 1
    del array
    assert arena.statistics().blocks == 0


def test_a_slice_of_an_array_over_a_block_keeps_it() -> None:
    arena = Arena.create(1 << 24, 1)
    part = arena.allocate(64).view()[8:16]
    assert arena.statistics().blocks == 1
    part[:] = 1
    del part
    assert arena.statistics().blocks == 0


def test_what_a_view_is_to_keep_lives_as_long_as_the_view() -> None:
    class Kept:
        alive = True

        def __del__(self) -> None:
            Kept.alive = False

    from actorstream.native._core import lib

    block = Arena.create(1 << 24, 1).allocate(64)
    array = np.frombuffer(view_of(lib.as_hold_share(block.handle), True, Kept()), np.uint8)
    assert Kept.alive and array.flags.writeable
    del array
    assert not Kept.alive
    assert block.uses == 1


def test_an_address_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="address"):
        Views(1, 0, 2)
    with pytest.raises(ValueError, match="hold"):
        view_of(0, True, None)
