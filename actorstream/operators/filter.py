"""filter: the rows for which a condition is true (AIR section 4). Keeps row numbers; copies nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.operators.chain import LinkedRows, Linking, UnlinkedError
from actorstream.operators.checks import one_of, same_inputs
from actorstream.operators.compiled import Compiled
from actorstream.operators.expressions import ExpressionError, RowErrors, compile_condition
from actorstream.operators.failed_rows import without_failed
from actorstream.operators.functions import NativeColumns, declared, native_problems, takes_batch
from actorstream.operators.prepared import Prepared

Preparing = Callable[[Batch, Callable[[np.ndarray], Any]], Prepared | None]
WAYS = ("where", "function", "native")


class Filter(Actor):
    """Keeps the rows for which one of these is true; a null is not.

    Args:
        where: an expression that is a bool, such as "price * 2 > 10" (docs/expressions.md).
        function: a Python function of an event, or (its parameter annotated `Batch`) of a batch: a bool each.
        native: a C function ("package.module:name") that fills one byte a row; of `columns`.
        columns: fields that `native` takes, unless the function says so itself. A row with a null in one is dropped.
    """

    contract: ClassVar[Contract] = Contract(stateless=True, pool_limit=math.inf)

    def __init__(
        self,
        where: str | None = None,
        *,
        function: Callable[..., Any] | None = None,
        native: Any = None,
        columns: list[str] | None = None,
    ) -> None:
        self.where, self.function, self.native, self.columns = where, function, native, columns
        self._kept: Compiled[Callable[[Batch], Batch]] = Compiled(self._compile)
        self._jobs: Compiled[Preparing] = Compiled(self._compile_job)

    def on_batch(self, batch: Batch) -> Batch | None:
        try:
            kept = self._kept.of(batch.schema)(batch)
        except RowErrors as errors:
            return self.on_batch(without_failed(self, batch, errors))
        return kept if kept.rows else None

    def prepare(self, batch: Batch) -> Prepared | None:
        """`on_batch` as a kernel for a pool; None: it is none."""

        def kept(index: np.ndarray) -> Batch | None:
            if not len(index):
                return None
            return batch if len(index) == batch.rows else batch.selection(index)

        return self._jobs.of(batch.schema)(batch, kept)

    def link(self, chain: Linking, rows: LinkedRows) -> LinkedRows:
        """`on_batch` as a step of a chain; UnlinkedError: it is none."""
        if self.native is not None:
            native = declared(self.native, self.columns, None)
            return NativeColumns(native, rows.schema).link_rows(chain, rows)
        if self.where is None:
            raise UnlinkedError
        return compile_condition(self.where, rows.schema).link_rows(chain, rows)

    def _compile_job(self, schema: Schema) -> Preparing:
        if self.where is not None:
            return compile_condition(self.where, schema).prepare_rows
        if self.native is not None:
            return NativeColumns(declared(self.native, self.columns, None), schema).prepare_rows
        return lambda batch, kept: None

    def _compile(self, schema: Schema) -> Callable[[Batch], Batch]:
        """What answers the rows to keep."""
        if self.where is not None:
            return _by_rows(compile_condition(self.where, schema).rows)
        if self.native is not None:
            return _by_rows(NativeColumns(declared(self.native, self.columns, None), schema).rows)
        assert self.function is not None
        return _by_batch(self.function) if takes_batch(self.function) else _by_event(self.function)

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return cls.contract if keys.get("function") is None else replace(cls.contract, pool_limit=0)

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = same_inputs(inputs) + one_of(keys, WAYS)
        if problems:
            return problems
        if keys.get("where") is not None:
            try:
                compile_condition(keys["where"], inputs[0])
            except ExpressionError as error:
                problems.append(error.problem("where"))
        elif keys.get("native") is not None:
            problems.extend(native_problems(keys, inputs[0], returns=False))
        return problems


def _by_rows(rows: Callable[[Batch], np.ndarray]) -> Callable[[Batch], Batch]:
    """By the numbers of the rows to keep."""

    def kept(batch: Batch) -> Batch:
        index = rows(batch)
        return batch if len(index) == batch.rows else batch.selection(index)

    return kept


def _by_batch(function: Callable[[Batch], Any]) -> Callable[[Batch], Batch]:
    return lambda batch: batch.take(function(batch))


def _by_event(function: Callable[[Any], Any]) -> Callable[[Batch], Batch]:
    return lambda batch: batch.take(
        np.fromiter(map(bool, map(function, batch.events())), np.bool_, batch.rows)
    )
