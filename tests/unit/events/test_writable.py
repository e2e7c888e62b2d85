"""Writable batches: written in place, sent without a copy, read-only from then on."""

from __future__ import annotations

import gc
from datetime import datetime
from typing import Literal

import numpy as np
import pytest

from actorstream.errors import SchemaError
from actorstream.events import Event, Schema, allocate, decode, encode
from actorstream.events.sending import shared_jumbo
from actorstream.native.arena import Arena


class Tick(Event, event_time="at"):
    at: int
    price: float
    up: bool


class Light(Event):
    colour: Literal["red", "green"]
    at: datetime


class Named(Event):
    name: str


@pytest.fixture
def arena() -> Arena:
    return Arena.create(1 << 24, 1)


def test_columns_written_in_place_are_sent_without_a_copy(arena: Arena) -> None:
    batch = allocate(Tick, 100, arena)
    batch["at"][:] = np.arange(100)
    batch["price"][:] = 0.5
    batch["up"][:] = True
    shared = shared_jumbo(batch, arena)
    assert shared is not None and arena.statistics().blocks == 1
    found = decode(Schema.of(Tick), shared[0])
    assert found.events()[7] == Tick(7, 0.5, True)
    assert np.shares_memory(found["at"], batch["at"])


@pytest.mark.parametrize("how", ["shared", "encoded", "sealed", "handed on"])
def test_handing_the_rows_on_makes_the_arrays_read_only(arena: Arena, how: str) -> None:
    batch = allocate(Tick, 3, arena)
    column = batch["at"]
    column[:] = 1
    if how == "shared":
        shared_jumbo(batch, arena)
    elif how == "encoded":
        encode([batch], None)
    elif how == "sealed":
        batch.seal()
    else:
        assert batch.sealed() is batch
    for array in (column, batch["at"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2


def test_fewer_rows_than_allocated_can_be_sent(arena: Arena) -> None:
    batch = allocate(Tick, 10, arena)
    batch["at"][:4], batch["price"][:4], batch["up"][:4] = [1, 2, 3, 4], 0.0, False
    sealed = batch.seal(4)
    assert sealed.rows == 4 and [event.at for event in sealed.events()] == [1, 2, 3, 4]
    assert shared_jumbo(sealed, arena) == (batch._jumbo, 0)


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("colour", 2, "field 'colour', row 1: code 2 is not one of its categories; allowed: 0 to 1"),
        ("at", 2**62, "field 'at', row 1: 4611686018427387904 microseconds since 1970 is outside"),
    ],
)
def test_values_that_a_field_cannot_have_are_refused_when_the_rows_are_handed_on(
    arena: Arena, name: str, wrong: int, said: str
) -> None:
    batch = allocate(Light, 3, arena)
    for array in batch.arrays():
        array[:] = 1
    batch[name][1:] = wrong
    for hand_on in (batch.seal, batch.sealed, lambda: encode([batch], arena)):
        with pytest.raises(SchemaError, match=said):
            hand_on()
    assert decode(Schema.of(Light), encode([batch.take([0])], None))["colour"].tolist() == [1]


def test_rows_that_are_not_sent_may_be_undefined(arena: Arena) -> None:
    batch = allocate(Light, 3, arena)
    for array in batch.arrays():
        array[:] = [1, 1, 100]
    assert batch.seal(2)["colour"].tolist() == [1, 1]


def test_system_columns_are_written_like_the_others(arena: Arena) -> None:
    wire = Schema.of(Tick).with_system(("_origin",))
    batch = allocate(wire, 2, arena)
    batch["at"][:], batch["price"][:], batch["up"][:], batch["_origin"][:] = 1, 2, True, [8, 9]
    assert decode(wire, encode([batch.seal()], None, wire)).system["_origin"].tolist() == [8, 9]


def test_the_block_goes_with_the_batch(arena: Arena) -> None:
    batch = allocate(Tick, 10, arena)
    column = batch["at"]
    del batch
    gc.collect()
    assert arena.statistics().blocks == 1
    del column
    gc.collect()
    assert arena.statistics().blocks == 0


def test_only_fixed_width_fields_can_be_written_in_place() -> None:
    with pytest.raises(SchemaError, match="rows of Named cannot be written in place: field name: string"):
        allocate(Named, 1)
    with pytest.raises(ValueError, match="-1 rows"):
        allocate(Tick, -1)
    with pytest.raises(SchemaError, match="Tick has no field 'prize'"):
        allocate(Tick, 1)["prize"]


def test_no_rows_and_no_arena_will_do() -> None:
    assert allocate(Tick, 0).seal().events() == []
    batch = allocate(Tick, 1)
    batch["at"][:], batch["price"][:], batch["up"][:] = 1, 2.0, False
    assert batch.seal().events() == [Tick(1, 2.0, False)]
