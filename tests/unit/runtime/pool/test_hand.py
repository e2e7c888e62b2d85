"""What a thread works with: instances of its own, outputs gathered by edge, counters handed over once."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.metrics.counters import ROW_WORDS
from actorstream.runtime.direct_edge import DirectEdge
from actorstream.runtime.pool.hand import Hand
from actorstream.runtime.replica import Replica
from tests.integration.parts import Number, numbers
from tests.integration.pooled import Times

SCHEMA = Schema.of(Number)


class Gathers:
    """An edge that leaves the chain."""

    def __init__(self) -> None:
        self.pushed: list[Batch] = []

    def push(self, batch: Batch) -> None:
        self.pushed.append(batch)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} of an edge is not a hand's to call")


def replica(name: str, times: int) -> Replica:
    return Replica(
        Times(times),
        id=0,
        name=name,
        replica=0,
        replicas=1,
        inputs={"in": SCHEMA},
        outputs={"default": SCHEMA},
        on_error="fail",
        row=np.zeros(ROW_WORDS, np.int64),
    )


def chain() -> tuple[list[Replica], Gathers]:
    head, tail, out = replica("head", 2), replica("tail", 3), Gathers()
    head.edges["default"].append(DirectEdge(tail, "in"))
    tail.edges["default"].append(out)
    return [head, tail], out


def times_of(members: list[Replica]) -> Any:
    return lambda member: Times(member.actor.times)


def test_outputs_are_gathered_with_the_edge_they_are_for() -> None:
    members, out = chain()
    hand = Hand(members, times_of(members))
    ((edge, batch),) = hand.run(numbers(np.arange(2)), "in")
    assert edge is out
    assert out.pushed == []
    assert batch["value"].tolist() == [0] * 6 + [1] * 6
    assert [len(hand.run(numbers(np.arange(1)), "in")) for _ in range(2)] == [1, 1], "none is told twice"


def test_the_members_own_instances_are_not_touched() -> None:
    members, _ = chain()
    own = [member.actor for member in members]
    Hand(members, times_of(members)).run(numbers(np.arange(2)), "in")
    assert [member.actor for member in members] == own
    assert all(member.actor.context is member for member in members)


def test_what_was_counted_is_handed_over_once() -> None:
    members, _ = chain()
    hand = Hand(members, times_of(members))
    hand.run(numbers(np.arange(2)), "in")
    hand.hand_over()
    hand.hand_over()
    assert [(member.events_in, member.events_out) for member in members] == [(2, 4), (4, 12)]
