"""union: the rows of any number of inputs of one schema, as they come (AIR section 4)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.operators.checks import same_inputs

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema


class Union(Actor):
    """Passes every row on. Its inputs have the same fields, event time and time unit."""

    stateless: ClassVar[bool] = True
    one_stream: ClassVar[bool] = True

    def on_batch(self, batch: Batch) -> Batch:
        return batch

    @classmethod
    def pool_limit(cls, keys: dict[str, Any]) -> float:
        return math.inf

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        return same_inputs(inputs)
