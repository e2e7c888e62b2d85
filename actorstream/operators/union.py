"""union: the rows of any number of inputs of one schema, as they come (AIR section 4)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.operators.checks import same_inputs

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.operators.chain import LinkedRows, Linking


class Union(Actor):
    """Passes every row on. Its inputs have the same fields, event time and time unit."""

    contract: ClassVar[Contract] = Contract(stateless=True, one_stream=True)

    def on_batch(self, batch: Batch) -> Batch:
        return batch

    def link(self, chain: Linking, rows: LinkedRows) -> LinkedRows:
        """`on_batch` as a part of a chain: no step."""
        return rows

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        return same_inputs(inputs)
