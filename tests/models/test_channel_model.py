"""Both ends of a channel against the model: every answer, every ring of a doorbell, every use of a block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actorstream.errors import BrokenError
from actorstream.native import channel
from actorstream.native.arena import Arena, Block
from actorstream.native.channel import ReceiveRing, SendRing
from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import ControlMemory
from tests.models.channel_model import AGAIN, CLOSED, OK, STALE, ChannelModel, Consumer, Entry, Producer
from tests.native.unused_calls import await_returns, is_consumer_closed, start_generation

PLAN, ARRIVAL, CREDIT = 11, 0, 1
ROW = Struct("<Q72s16xI")
"""Sequence, the row, producer; what an entry of a row has from byte 24 on."""
ROW_BYTES = b"a row of seventy-two bytes".ljust(72, b"\0")
picks = st.integers(0, 99)
sizes = st.sampled_from([0, 1, 10, 49, 50, 51, 100, 101, 5000])


@dataclass
class Borrowed:
    """A block that is used on the consumer's side, or was consumed without being borrowed."""

    consumer: Consumer
    loan: tuple[int, int]
    block: Block


class ChannelAgainstModel(RuleBasedStateMachine):
    @initialize(
        slots=st.sampled_from([1, 2, 4]),
        more=st.sampled_from([1, 2]),
        budget=st.sampled_from([1, 100, 10_000]),
        start=st.sampled_from([0, 2**31 - 2, 2**32 - 2, 2**63 - 2, 2**64 - 2]),
        generation=st.sampled_from([1, 2**32 - 3]),
    )
    def open(self, slots: int, more: int, budget: int, start: int, generation: int) -> None:
        self.budget = budget
        size = channel.channel_size(slots, slots * more, 2)
        self.memory = ControlMemory(size + 256 + 2 * Doorbell.size(2))
        self.at = self.memory.reserve(size)
        channel.lay_out_channel(self.memory, self.at, slots, slots * more, 2, PLAN, start=start)
        self.bells = []
        for _ in range(2):
            offset = self.memory.reserve(Doorbell.size(2))
            Doorbell.lay_out(self.memory, offset, 2)
            self.bells.append(Doorbell(self.memory, offset, 2, -1))
        self.arena = Arena.create(1 << 22, 3)
        start_generation(self.arena, generation)
        self.model = ChannelModel(slots, slots * more, budget, 2)
        self.serial = 0
        self.blocks: dict[int, Block] = {}
        self.uses: dict[int, int] = {}
        self.producers: list[tuple[SendRing, Producer]] = []
        self.consumers: list[tuple[ReceiveRing, Consumer]] = []
        self.borrowed: list[Borrowed] = []
        self.loans: dict[tuple[int, int], int] = {}
        self.open_producer()
        self.open_consumer()

    @rule()
    def open_producer(self) -> None:
        bell = self.bells[1]
        ring = SendRing(self.memory, self.at, plan=PLAN, budget=self.budget, peer=bell, peer_bit=ARRIVAL)
        self.producers.append((ring, self.model.open_producer()))

    @rule()
    def open_consumer(self) -> None:
        ring = ReceiveRing(self.memory, self.at, plan=PLAN, peer=self.bells[0], peer_bit=CREDIT)
        self.consumers.append((ring, self.model.open_consumer()))

    def any_producer(self, pick: int) -> tuple[SendRing, Producer]:
        return self.producers[-1 if pick < 90 else pick % len(self.producers)]

    def any_consumer(self, pick: int) -> tuple[ReceiveRing, Consumer] | None:
        ring, model = self.consumers[-1 if pick < 90 else pick % len(self.consumers)]
        return None if model.closed else (ring, model)

    def answers(self, expected: int, call: Any) -> None:
        if expected in (STALE, CLOSED):
            with pytest.raises(BrokenError):
                call()
        else:
            assert call() == (expected == OK)

    @rule(pick=picks, nbytes=sizes, lend=st.booleans())
    def send(self, pick: int, nbytes: int, lend: bool) -> None:
        self.send_one(self.any_producer(pick), nbytes, lend)

    def send_one(self, end: tuple[SendRing, Producer], nbytes: int, lend: bool) -> None:
        ring, model = end
        number = None
        if lend:
            number = len(self.blocks)
            self.blocks[number] = self.arena.allocate(nbytes)
            self.uses[number] = 1
        fields = channel.Entry(serial=self.serial, bytes=nbytes, producer_and_loan=5)
        block = None if number is None else self.blocks[number]
        expected = self.model.send(model, self.serial, nbytes, number)
        self.answers(expected, lambda: ring.send(fields, block))
        self.serial += expected == OK

    @rule(pick=picks)
    def send_row(self, pick: int) -> None:
        ring, model = self.any_producer(pick)
        ROW.pack_into(ring.row, 24, self.serial, b"a row of seventy-two bytes", 5)
        expected = self.model.send_row(model, self.serial)
        self.answers(expected, ring.send_row)
        self.serial += expected == OK

    @rule(pick=picks)
    def take_row(self, pick: int) -> None:
        if not (end := self.any_consumer(pick)):
            return
        ring, model = end
        expected = self.model.take_row(model)
        if expected == STALE:
            with pytest.raises(BrokenError):
                ring.take_row()
        else:
            assert ring.take_row() == (expected != AGAIN)
            if isinstance(expected, Entry):
                assert ROW.unpack_from(ring.entry, 24) == (expected.serial, ROW_BYTES, 5)

    @rule(pick=picks, nbytes=sizes, drained=st.integers(0, 3))
    def fill(self, pick: int, nbytes: int, drained: int) -> None:
        """Sends until there is no credit, then consumes one by one: when does the wish ring?"""
        while self.model.fits(nbytes) and not self.model.closed:
            self.send_one(self.producers[-1], nbytes, False)
        self.admits(pick, nbytes)
        for _ in range(drained):
            self.agrees()
            self.consume(pick, 1, False)

    @rule(pick=picks, nbytes=st.one_of(sizes, st.just(2**64 - 1)))
    def admits(self, pick: int, nbytes: int) -> None:
        ring, model = self.any_producer(pick)
        self.answers(self.model.admits(model, nbytes), lambda: ring.admits(nbytes))

    @rule(pick=picks)
    def reap(self, pick: int) -> None:
        ring, model = self.any_producer(pick)
        assert ring.reap() == self.model.reap(model)

    @rule(pick=picks)
    def await_returns(self, pick: int) -> None:
        ring, model = self.any_producer(pick)
        self.answers(self.model.await_returns(model), partial(await_returns, ring))

    @rule(pick=picks, word=st.integers(0, 2), value=st.integers(-5, 5), loud=st.booleans())
    def advance(self, pick: int, word: int, value: int, loud: bool) -> None:
        ring, model = self.any_producer(pick)
        self.model.advance(model, word, value, loud)
        ring.advance(word, value, loud)

    def peek_at(self, ring: ReceiveRing, model: Consumer, ahead: int) -> Entry | None:
        expected = self.model.peek(model, ahead)
        if expected == STALE:
            with pytest.raises(BrokenError):
                ring.peek(ahead)
            return None
        fields = ring.peek(ahead)
        if expected == AGAIN:
            assert fields is None
            return None
        assert isinstance(expected, Entry) and fields is not None
        entry = channel.Entry._make(fields)
        if expected.row:
            assert (entry.kind, entry.loan) == (5, channel.NO_LOAN)
            assert ROW.unpack_from(ring.entry, 24) == (expected.serial, ROW_BYTES, 5)
            return expected
        assert (entry.serial, entry.bytes, entry.producer) == (expected.serial, expected.nbytes, 5)
        assert (entry.loan == channel.NO_LOAN) == (expected.loan is None) == (entry.offset == 0)
        if expected.loan is not None and expected.block is not None:
            self.loans[expected.loan] = entry.loan
            block = self.blocks[expected.block]
            assert (entry.arena, entry.offset, entry.generation) == (3, block.offset, block.generation)
        return expected

    @rule(pick=picks, ahead=st.integers(0, 4))
    def peek(self, pick: int, ahead: int) -> None:
        if end := self.any_consumer(pick):
            self.peek_at(*end, ahead)

    @rule(pick=picks, count=st.integers(0, 5), keep=st.booleans())
    def consume(self, pick: int, count: int, keep: bool) -> None:
        if not (end := self.any_consumer(pick)):
            return
        ring, model = end
        for ahead in range(count):
            entry = self.peek_at(ring, model, ahead)
            if entry is None or entry.loan is None:
                continue
            if keep:
                block = ring.borrow(self.arena)
                assert not block.is_own and block.generation == self.blocks[entry.block or 0].generation
                self.borrowed.append(Borrowed(model, entry.loan, block))
                model.borrowed += 1
            else:
                ring.give_back(self.loans[entry.loan])
                self.model.hand_back(model, entry.loan)
        self.model.consume(model, count)
        ring.consume(count)

    @precondition(lambda self: self.borrowed)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        borrowed = self.borrowed.pop(pick % len(self.borrowed))
        borrowed.block.release()
        borrowed.consumer.borrowed -= 1
        self.model.hand_back(borrowed.consumer, borrowed.loan)

    @rule(pick=picks)
    def close_consumer(self, pick: int) -> None:
        if pick % 5 == 0 and (end := self.any_consumer(pick)):
            self.model.close_consumer(end[1])
            end[0].close()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "model"):
            return
        model = self.model
        assert self.bells[0].collect() == [CREDIT] * model.rung_producer
        assert self.bells[1].collect() == [ARRIVAL] * model.rung_consumer
        model.rung_producer = model.rung_consumer = False
        ring, producer = self.producers[-1]
        figures = ring.statistics()
        sent = (producer.sent, len(model.ring), model.weight(), model.out, producer.peak, producer.sent_bytes)
        assert figures == sent
        assert ring.is_empty() == (not model.ring) and is_consumer_closed(ring) == model.closed
        receiver, consumer = self.consumers[-1]
        if not consumer.closed:
            assert receiver.statistics() == (consumer.consumed, len(model.ring), consumer.borrowed)
            assert receiver.waiting() == len(model.ring)
            assert [receiver.frontier(word) for word in range(3)] == [*model.frontiers, -(2**63)]
        lent = [block for _, each in self.producers for block in each.lent.values()]
        for number, block in self.blocks.items():
            assert block.uses == self.uses[number] + lent.count(number)

    def teardown(self) -> None:
        if hasattr(self, "model"):
            for borrowed in self.borrowed:
                borrowed.block.release()
            for ring, _ in self.producers:
                ring.close()
            for block in self.blocks.values():
                block.release()
            assert self.arena.statistics().blocks == 0
            self.memory.close()


ChannelAgainstModel.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestBothEndsOfAChannelAnswerAsTheModelDoes = ChannelAgainstModel.TestCase
