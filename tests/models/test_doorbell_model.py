"""The doorbell against a set of bits and a count of wake-ups, in one thread."""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import ControlMemory, create_eventfd


class DoorbellAgainstSet(RuleBasedStateMachine):
    @initialize(bits=st.sampled_from([1, 63, 64, 65, 4096, 4097, 9000]))
    def open(self, bits: int) -> None:
        self.eventfd = create_eventfd()
        self.memory = ControlMemory(Doorbell.size(bits))
        Doorbell.lay_out(self.memory, 0, bits)
        self.owner = Doorbell(self.memory, 0, bits, self.eventfd)
        self.ringer = Doorbell(self.memory, 0, bits, self.eventfd)
        self.bits = bits
        self.rung: set[int] = set()
        self.parked = False
        self.written = 0

    @rule(bit=st.integers(0, 2**32 - 1), near=st.booleans())
    def ring(self, bit: int, near: bool) -> None:
        bit = bit % self.bits if near else bit
        self.ringer.ring(bit)
        if bit < self.bits:  # other bits belong to nobody: nothing happens
            self.rung.add(bit)
            self.written += self.parked
            self.parked = False

    @rule()
    def collect(self) -> None:
        got = self.owner.collect()
        while more := self.owner.collect():
            got += more
        assert got == sorted(self.rung)
        self.rung.clear()

    @precondition(lambda self: not self.parked)
    @rule()
    def park(self) -> None:
        assert self.owner.park() == (not self.rung)
        self.parked = not self.rung

    @rule()
    def unpark(self) -> None:
        self.owner.unpark()
        self.parked, self.written = False, 0

    @rule(ns=st.sampled_from([0, 1000]))
    def wait(self, ns: int) -> None:
        rung = self.owner.wait(ns)
        assert set(rung) == self.rung
        self.rung.clear()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "owner"):
            return
        assert self.owner.pending() == bool(self.rung)
        try:
            count = os.eventfd_read(self.eventfd)
            os.eventfd_write(self.eventfd, count)
        except BlockingIOError:
            count = 0
        assert count == self.written

    def teardown(self) -> None:
        if hasattr(self, "owner"):
            os.close(self.eventfd)
            self.memory.close()


DoorbellAgainstSet.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestTheDoorbellAnswersAsASetOfBits = DoorbellAgainstSet.TestCase
