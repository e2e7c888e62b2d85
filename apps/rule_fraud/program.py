"""Fraud detection as a sequential program, what depends on what in it, and how its state is divided."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

from actorstream import Batch
from actorstream.dgs import Program, Tag, Tags, everything
from apps.rule_fraud.events import Aggregate, Fraud, Rule, Transaction

MODULUS = 1000


class RuleFraud(Program):
    """On a rule: the sum of the transactions since the rule before it. That sum and the rule say what a fraud is, on
    all streams, until the next rule."""

    class State(msgspec.Struct):
        sum: int = 0
        suspicious: int = 0
        """What a value modulo 1000 must be for a fraud."""

    Part = State
    """The state of those that process transactions only."""

    outputs: ClassVar = {"aggregates": Aggregate, "frauds": Fraud}

    # parallelisation
    tags: ClassVar = {"rules": "rule", "transactions": "transaction"}
    states: ClassVar = {"State": everything, "Part": ["transaction"]}
    forks: ClassVar = {(whole, "Part", "Part"): ("fork", "join") for whole in ("State", "Part")}

    def depends(self, one: Tag, other: Tag) -> bool:
        return "rule" in (one.name, other.name)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State(0, state.suspicious)

    def join(self, left: State, right: State) -> State:
        left.sum += right.sum
        return left

    # sequential
    def update(self, state: State, event: Transaction | Rule, tag: Tag) -> None:
        if tag.name == "transaction":
            state.sum += event.value
            if event.value % MODULUS == state.suspicious:
                self.emit(Fraud(event.stream, event.ts, event.value), to="frauds")
        else:
            self.emit(Aggregate(event.ts, state.sum), to="aggregates")
            state.suspicious = (state.sum + event.value) % MODULUS
            state.sum = 0

    # the same, a batch at a time
    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        if tag.name == "rule":
            return NotImplemented
        values = batch["value"]
        state.sum += int(values.sum())
        off = (
            values - state.suspicious
        )  # a multiple of 1000 for a fraud: NumPy divides twice as fast as it takes moduli
        found = np.flatnonzero(off // MODULUS * MODULUS == off)
        if len(found):
            streams, times = batch["stream"], batch["ts"]
            for row in found.tolist():  # few: as events they cost a fifth of what a small batch does
                self.emit(Fraud(streams[row].as_py(), int(times[row]), int(values[row])), to="frauds")
        return None
