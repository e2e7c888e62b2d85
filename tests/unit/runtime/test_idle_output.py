"""A consumer hears that its producer is idle behind the rows, and that it is busy again before them."""

from __future__ import annotations

from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.plan.channels import IDLE_WORD
from actorstream.plan.edge_schemas import EdgeSchemas
from actorstream.runtime.framing import Framing
from actorstream.runtime.send_lane import SendLane
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Channel
from actorstream.transports.local import local_channel


class Row(Event):
    value: int


class Bell:
    def ring(self, bit: int) -> None:
        """Nobody sleeps here."""


class Bench:
    """A lane to a channel that takes two frames."""

    def __init__(self) -> None:
        channel = Channel(0, 0, 0, send_bit=0, receive_bit=1, slots=2, frontiers=IDLE_WORD + 1)
        send, self.receive = local_channel(channel, Bell(), Bell())
        self.lane = SendLane(
            send,
            Framing(
                None,
                encodes=False,
                schemas=EdgeSchemas(Schema.of(Row)),
                plan=0,
                producer=0,
                unfit=lambda error: OperatorError("op", 0, str(error)),
            ),
            batch_size=1,
            on_blocked=lambda lane: None,
            idles=IDLE_WORD,
        )

    def push(self, rows: int) -> None:
        for value in range(rows):
            self.lane.push(Batch.of_columns(Row, {"value": [value]}))

    def take_all(self) -> None:
        while self.receive.peek() is not None:
            self.receive.consume()

    @property
    def word(self) -> int:
        return self.receive.frontier(IDLE_WORD)


def test_idleness_is_told_at_once_where_nothing_waits() -> None:
    bench = Bench()
    assert bench.word & 1 == 0
    bench.push(2)
    bench.lane.tell_idle(1)
    assert bench.word == 1
    bench.lane.tell_idle(2)
    assert bench.word == 2


def test_idleness_comes_behind_the_rows_that_wait() -> None:
    bench = Bench()
    bench.push(3)
    bench.lane.tell_idle(1)
    assert bench.word & 1 == 0
    bench.take_all()
    assert bench.lane.flush()
    assert bench.word == 1


def test_a_producer_that_is_busy_again_before_its_rows_were_sent_was_never_idle() -> None:
    bench = Bench()
    bench.push(3)
    bench.lane.tell_idle(1)
    bench.lane.tell_idle(2)
    bench.take_all()
    assert bench.lane.flush()
    assert bench.word == 2


def test_the_last_promise_stays_when_the_input_ends() -> None:
    bench = Bench()
    bench.lane.advance(41)
    bench.lane.advance(FRONTIER_END)
    bench.lane.advance(FRONTIER_END - 10)
    assert bench.receive.frontier(0) == 41
    assert bench.receive.frontier(0) > FRONTIER_MIN
