"""What numbers the numbering point gives, and when it says that a number is complete."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from actorstream.events.batch import Batch
from actorstream.runtime.serial.numbering import MOST_ROWS, SHARE, Numberer, Numbering
from actorstream.topology.serial import POSITION, Numbered
from tests.integration.parts import Number

PHASES = 3


class Script:
    """A numbering point whose rows and promises are written down: the port that a stamp sees of its replica."""

    replica = 0

    def __init__(self, batch_size: int = 100, most_bytes: int = 1 << 30) -> None:
        self.numbering = Numbering(PHASES)
        self.numbering.lanes.append(self)  # type: ignore[arg-type]
        described = Numbered("point", 0, True, True, "", (POSITION,))
        self.stamp = Numberer(self, self.numbering, described, batch_size, most_bytes)  # type: ignore[arg-type]
        self.promises = self
        self.sent: list[tuple[int, int, int]] = []
        """Number, first position and rows of each batch."""
        self.promised: list[int] = []
        self.heartbeats: list[tuple[int, int]] = []

    def give(self, rows: int) -> None:
        self.stamp.forward(
            Batch.of({"value": np.arange(rows), "group": np.zeros(rows, np.int64)}, event=Number), "default"
        )

    # -- what the stamp asks of its replica and of a lane

    def send(self, what: Any, output: str = "") -> None:
        if isinstance(what, Batch):
            positions = what.system[POSITION].data
            assert (np.diff(positions) == 1).all()
            self.sent.append((self.numbering.number, int(positions[0]), what.rows))
        else:
            self.heartbeats.append((self.numbering.number, what))

    def of(self, frontier: int) -> int:
        return frontier

    def promise(self, word: int, number: int) -> None:
        self.promised.append(number)


def grown(batch_size: int = 100) -> Script:
    """One that has emitted so many rows that a number may have several batches."""
    script = Script(batch_size)
    script.give(batch_size * SHARE * 4)
    script.stamp.close()
    script.sent.clear()
    script.promised.clear()
    return script


def test_batches_of_a_turn_share_a_number_and_their_positions_run_on():
    script = grown()
    for rows in (100, 40, 60):
        script.give(rows)
    number = script.sent[0][0]
    assert script.sent == [(number, 0, 100), (number, 100, 40), (number, 140, 60)]
    assert script.promised == []
    script.stamp.close()
    assert script.promised == [number + PHASES]


def test_a_number_is_closed_once():
    script = grown()
    script.give(1)
    script.stamp.close()
    script.stamp.close()
    assert len(script.promised) == 1


def test_the_next_turn_begins_a_new_number_at_position_0():
    script = grown()
    script.give(10)
    script.stamp.close()
    script.give(10)
    (first, _, _), (second, position, _) = script.sent
    assert (second, position) == (first + PHASES, 0)


def test_a_small_input_is_divided_into_many_numbers():
    """So that replicas share it: no number has more than a jumbo tuple, or its share of the rows so far."""
    script, rows = Script(), 100 * SHARE
    for _ in range(SHARE):
        script.give(100)
    sizes = sizes_of(script)
    assert sum(sizes.values()) == rows
    assert max(sizes.values()) == 100


def test_no_number_grows_beyond_the_most_rows():
    script = Script(batch_size=MOST_ROWS // 4)
    for _ in range(40):
        script.give(MOST_ROWS)
    sizes = sizes_of(script)
    assert max(sizes.values()) == MOST_ROWS
    assert len(sizes) < 40 * 4


def test_a_batch_of_more_rows_than_a_number_may_have_is_one_number():
    script = Script(batch_size=4 * MOST_ROWS)
    script.give(3 * MOST_ROWS)
    script.give(3 * MOST_ROWS)
    assert list(sizes_of(script).values()) == [3 * MOST_ROWS] * 2


def test_no_number_has_more_bytes_than_allowed():
    script = Script(most_bytes=16 * 250)  # a row has 16
    for _ in range(100):
        script.give(100)
    assert max(sizes_of(script).values()) == 200


def test_a_promise_comes_behind_the_rows_that_were_emitted_before_it():
    script = grown()
    script.give(10)
    number = script.sent[0][0]
    script.stamp.promise(7)
    script.give(10)
    assert script.heartbeats == [(number + PHASES + script.stamp.own_phase, 7)]
    assert script.sent[1][0] == number + 2 * PHASES
    assert script.promised == [number + PHASES, number + 2 * PHASES]


def test_rows_of_the_end_are_complete_at_once():
    script = grown()
    script.give(10)
    script.stamp.end()
    script.give(10)
    assert script.promised == [script.sent[0][0] + PHASES, script.sent[1][0] + PHASES]


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_each_number_is_promised_before_its_rows_are_sent(batch_size):
    script = Script(batch_size)
    for rows in (1, 5, 300, 20, 1000, 3):
        script.give(rows)
    numbers = sorted(sizes_of(script))
    assert all(later - earlier == PHASES for earlier, later in pairwise(numbers))
    assert script.promised == numbers[1:]


def sizes_of(script: Script) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for number, _, rows in script.sent:
        sizes[number] = sizes.get(number, 0) + rows
    return sizes
