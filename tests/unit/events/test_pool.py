"""Blocks are written again only when nobody can see them any more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from actorstream import Event, Schema
from actorstream.events.batch import Batch
from actorstream.events.pool import MOST, WritablePool
from actorstream.native.arena import Arena


class Pair(Event):
    left: int
    right: float


@pytest.fixture
def pool() -> Iterator[WritablePool]:
    yield WritablePool(Schema.of(Pair), 100, Arena.create(limit=1 << 26, id=1))


def write(pool: WritablePool, value: int) -> int:
    batch = pool.take()
    batch["left"][:] = value
    batch["right"][:] = value
    return int(batch.sealed()._jumbo.address)


def test_a_block_that_nobody_holds_is_written_again(pool: WritablePool) -> None:
    assert len({write(pool, value) for value in range(20)}) == 1


def test_a_batch_that_is_held_is_not_written_again(pool: WritablePool) -> None:
    kept = []
    for value in range(20):
        batch = pool.take()
        batch["left"][:] = value
        batch["right"][:] = value
        kept.append(batch.sealed())
    assert [batch["left"].tolist() for batch in kept] == [[value] * 100 for value in range(20)]


@pytest.mark.parametrize("part", ["column", "slice", "read", "arrow"])
def test_an_array_that_is_held_is_not_overwritten(pool: WritablePool, part: str) -> None:
    kept = []
    for value in range(20):
        batch = pool.take()
        column = batch["left"]
        column[:] = value
        if part in ("read", "arrow"):
            sealed = batch.sealed()
            column = sealed["left"] if part == "read" else sealed.arrow().column("left")
        kept.append(column[10:20] if part == "slice" else column)
        del batch, column
    assert [set(np.asarray(array).tolist()) for array in kept] == [{value} for value in range(20)]


def test_what_was_read_and_let_go_does_not_keep_its_block(pool: WritablePool) -> None:
    for value in range(20):
        batch = pool.take()
        batch["left"][:] = value
        sealed = batch.sealed()
        assert sealed["left"].tolist() == [value] * 100
        assert not sealed["left"].flags.writeable
        del batch, sealed
    assert len(pool._slots) == 1


def test_a_block_on_loan_is_not_written_again(pool: WritablePool) -> None:
    batch = pool.take()
    batch["left"][:] = 1
    loan = batch.sealed()._jumbo.block.retain()  # as a channel does
    address = batch._jumbo.address
    del batch
    assert address not in {write(pool, value) for value in range(20)}
    loan.release()
    assert address in {write(pool, value) for value in range(20)}


def test_the_pool_stays_small_whatever_is_kept(pool: WritablePool) -> None:
    kept = [pool.take() for _ in range(3 * MOST)]
    assert len(pool._slots) <= MOST
    assert len({batch._jumbo.address for batch in kept}) == len(kept)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_batch_that_is_written_again_has_the_events_and_the_lineage_of_its_new_rows(rows: int) -> None:
    pool = WritablePool(Schema.of(Pair), rows, Arena.create(limit=1 << 26, id=1))
    given = Batch.of_events(Pair, [Pair(0, 0.0)] * 2)
    addresses = set()
    for value in range(4):
        batch = pool.take()
        assert batch._lineage is None
        batch["left"][:] = value
        batch["right"][:] = value
        sealed = batch.sealed()
        addresses.add(sealed._jumbo.address)
        assert sealed.events() == [Pair(value, value)] * rows
        assert (sealed.only_event() is None) == (rows > 1)
        if value % 2:
            sealed.inherit(given, [0] * rows)
        del batch, sealed
    assert len(addresses) == 1
