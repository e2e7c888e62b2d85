"""Rows that wait in a file: first in, first out, with all that batches carry."""

from __future__ import annotations

import errno
import os
import random
import tempfile
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from actorstream.errors import ResourceError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.saved import saved_rows
from actorstream.events.schema import Schema
from actorstream.events.spill import Spill


class Named(Event):
    n: int
    name: str


def batch(first: int, rows: int) -> Batch:
    events = [Named(first + n, "x" * (n % 5)) for n in range(rows)]
    made = Batch.of_events(Named, events).with_system(_position=first + np.arange(rows))
    made.entry_min, made.entry_max, made.began = first, first + 1, first + 2
    return made


@pytest.mark.parametrize("seed", range(5))
def test_batches_come_back_in_the_order_in_which_they_went(seed: int) -> None:
    dice, spill = random.Random(seed), Spill("here")
    model: deque[tuple[int, int]] = deque()
    first = 0
    for _ in range(200):
        if dice.random() < 0.5:
            rows = dice.randint(1, 9)
            spill.put(batch(first, rows))
            model.append((first, rows))
            first += rows
        elif model:
            at, rows = model.popleft()
            found = spill.take()
            assert found.events() == batch(at, rows).events()
            assert found.system["_position"].data.tolist() == list(range(at, at + rows))
            assert (found.entry_min, found.entry_max, found.began) == (at, at + 1, at + 2)
        assert len(spill) == len(model)
        assert (spill.nbytes == 0) == (not model)
    spill.close()
    assert (len(spill), spill.nbytes) == (0, 0)


def test_a_checkpoint_has_them_and_they_stay() -> None:
    spill = Spill("here")
    for first in (0, 3, 6):
        spill.put(batch(first, 3))
    for _ in range(2):
        found = [saved_rows(Schema.of(Named), each) for each in spill.saved()]
        assert [event.n for each in found for event in each.events()] == list(range(9))  # type: ignore[attr-defined]
    assert len(spill) == 3


def test_nobody_sees_the_file_and_no_room_is_an_error_that_says_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spill = Spill("sink 'out' (replica 0), input 'b'")
    spill.put(batch(0, 100))
    assert list(tmp_path.iterdir()) == []

    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ResourceError, match=r"'out'.*cannot be spilled to .*No space left.*set TMPDIR"):
        spill.put(batch(100, 100))
    assert spill.take().rows == 100
