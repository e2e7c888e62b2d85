"""Reordering buffers against a sequential one: random schedules of workers, stepped one C call at a time, also from
within the exit section."""

from __future__ import annotations

from random import Random

import pytest

from tests.native.reorder import UNIT_NONE, ReorderBuffer

SCHEDULES = 1000  # for each scheme
STARTS = (0, 1, 2**32 - 5, 2**63 - 5, 2**64 - 5)
WRAP = 2**64


class Sequential:
    """Units that wait, by serial number, and the number that is next."""

    def __init__(self, capacity: int, start: int) -> None:
        self.capacity, self.next = capacity, start
        self.waiting: dict[int, int] = {}

    def is_free(self, serial: int) -> bool:
        return (serial - self.next) % WRAP < self.capacity

    def add(self, serial: int, unit: int) -> bool:
        if self.is_free(serial):
            self.waiting[serial] = unit
            return True
        return False

    def leave(self) -> None:
        del self.waiting[self.next]
        self.next = (self.next + 1) % WRAP


class Schedule:
    """Workers that take serial numbers, add units and send what is pending, one step after the other.

    A worker that holds a unit adds it, and one that has added it sends; other steps flush, or try numbers outside the
    window. Non-blocking: while one sends, the others go on with steps of their own, nested in the exit function."""

    def __init__(self, scheme: str, random: Random) -> None:
        self.random = random
        self.nests = scheme == "non-blocking"
        self.model = Sequential(random.choice((1, 2, 4, 8, 1024)), random.choice(STARTS))
        self.buffer = ReorderBuffer(self.model.capacity, self.leave, scheme=scheme, next=self.model.next)
        self.taken = self.model.next
        self.made: list[tuple[int, int]] = []  # taken, not yet added
        self.added = 0  # workers that have added and must still send
        self.left: list[int] = []
        self.sending = 0
        self.refuses = random.random() < 0.4
        self.refused = False
        self.flushed = False  # since the exit function was last called

    def leave(self, serial: int, unit: int) -> bool:
        assert self.sending == 1, "two workers are in the exit section"
        assert serial == self.model.next
        assert unit == self.model.waiting[serial]
        self.sending += 1
        self.flushed = False
        if self.nests:
            for _ in range(self.random.choice((0, 0, 1, 2, 5))):
                self.step()
        self.sending -= 1
        self.refused = self.refuses and self.random.random() < 0.3
        if not self.refused:
            self.left.append(serial)
            self.model.leave()
        return not self.refused

    def send(self, how: str, *arguments: int) -> object:
        """Calls the buffer; only the outermost call may enter the exit section."""
        outermost = self.sending == 0
        self.sending += outermost
        answer = getattr(self.buffer, how)(*arguments)
        self.sending -= outermost
        if outermost:
            assert self.refused or self.model.next not in self.model.waiting, (
                "a unit that is ready was left behind"
            )
            assert not (self.refused and self.flushed), "a flush while the unit was refused was lost"
        return answer

    def step(self) -> None:
        choice = self.random.random()
        if choice < 0.35:
            self.take()
        elif choice < 0.65 and self.made:
            serial, unit = self.made.pop(self.random.randrange(len(self.made)))
            assert self.model.add(serial, unit)
            if self.random.random() < 0.5:
                assert self.buffer.add(serial, unit)
                self.added += 1
            else:
                assert self.send("send", serial, unit)
        elif choice < 0.85 and self.added:
            self.added -= 1
            self.send("send_pending")
        elif choice < 0.9:
            self.flushed = self.sending > 0
            self.send("flush")
        elif choice < 0.95:
            outside = (
                self.random.choice((self.buffer.limit, self.buffer.limit + 3, self.model.next - 1)) % WRAP
            )
            assert not self.model.is_free(outside)
            assert not self.buffer.is_free(outside)
            assert not self.buffer.add(outside, UNIT_NONE)
        assert self.buffer.limit % WRAP == (self.model.next + self.model.capacity) % WRAP

    def take(self) -> None:
        assert self.buffer.is_free(self.taken) == self.model.is_free(self.taken)
        if self.model.is_free(self.taken):
            unit = UNIT_NONE if self.random.random() < 0.3 else self.random.randrange(2, WRAP)
            self.made.append((self.taken, unit))
            self.taken = (self.taken + 1) % WRAP

    def finish(self) -> None:
        """Every worker finishes what it has begun, and nobody refuses any more."""
        self.refuses = self.nests = False
        for serial, unit in self.made:
            assert self.model.add(serial, unit)
            assert self.send("send", serial, unit)
        if self.refused:
            self.send("flush")
        for _ in range(self.added):
            self.send("send_pending")
        assert self.model.next == self.taken
        assert not self.model.waiting


@pytest.mark.parametrize("scheme", ["non-blocking", "lock-based"])
def test_random_schedules_give_the_outputs_in_the_order_of_a_sequential_run(scheme: str) -> None:
    refusals = units = 0
    for seed in range(SCHEDULES):
        schedule = Schedule(scheme, Random(seed))
        start = schedule.model.next
        for _ in range(schedule.random.randrange(20, 120)):
            schedule.step()
        schedule.finish()
        count = len(schedule.left)
        assert schedule.left == [(start + i) % WRAP for i in range(count)]
        assert (start + count) % WRAP == schedule.taken
        refusals += schedule.buffer.statistics().refused
        units += count
    assert units > 10 * SCHEDULES
    assert refusals > SCHEDULES / 10
