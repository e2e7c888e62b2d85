"""split: each row to the first case whose condition is true, the rest to `default` (AIR section 4). Keeps row numbers;
copies nothing."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.operators.chain import LinkedRows, Linking
from actorstream.operators.checks import same_inputs
from actorstream.operators.compiled import Compiled
from actorstream.operators.expressions import Cases, ExpressionError, RowErrors, compile_condition
from actorstream.operators.failed_rows import without_failed
from actorstream.operators.prepared import Prepared

if TYPE_CHECKING:
    from actorstream.events.event import Event

RESERVED = ("default", "late", "dead")


class Split(Actor):
    """Sends each row to one output.

    Args:
        cases: output = condition, an expression that is a bool; in this order, and asked for those rows only that no
            earlier case has taken. Rows for which none is true go to the output `default`.
    """

    contract: ClassVar[Contract] = Contract(stateless=True, pool_limit=math.inf)

    def __init__(self, cases: dict[str, str]) -> None:
        self.cases = cases
        self._names = (*cases, "default")
        self._compiled: Compiled[Cases] = Compiled(
            lambda schema: Cases({name: compile_condition(text, schema) for name, text in cases.items()})
        )

    def on_batch(self, batch: Batch) -> None:
        try:
            parts = self._compiled.of(batch.schema).rows(batch)
        except RowErrors as errors:
            self.on_batch(without_failed(self, batch, errors))
            return
        self._send(batch, parts)

    def prepare(self, batch: Batch) -> Prepared | None:
        """`on_batch` as a kernel for a pool; None: it is none."""
        return self._compiled.of(batch.schema).prepare(batch, lambda parts: self._send(batch, parts))

    def link_outputs(self, chain: Linking, rows: LinkedRows, wanted: Container[str]) -> dict[str, LinkedRows]:
        """`on_batch` as steps of a chain: the rows of each case, and of the rest if that is wanted. UnlinkedError: it is none."""
        names = self._names if "default" in wanted else self._names[:-1]
        return dict(zip(names, self._compiled.of(rows.schema).link_rows(chain, rows, len(names))))

    def _send(self, batch: Batch, parts: list[np.ndarray]) -> None:
        for name, rows in zip(self._names, parts):
            if len(rows):
                self.emit(batch if len(rows) == batch.rows else batch.selection(rows), name)

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default", *keys.get("cases", ()))

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return dict.fromkeys(("default", *keys["cases"]), inputs[0])

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = same_inputs(inputs)
        if not keys["cases"]:
            problems.append(Problem("cases", "is empty", '{ name = "condition", ... }'))
        for name, condition in keys["cases"].items():
            if name in RESERVED:
                problems.append(Problem(f"cases.{name}", "is an output of its own", "another name"))
            try:
                compile_condition(condition, inputs[0])
            except ExpressionError as error:
                problems.append(error.problem(f"cases.{name}"))
        return problems
