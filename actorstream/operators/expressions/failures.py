"""Says why a row of a batch has no value: the part of the expression, the values it read, what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.fields import Kind
from actorstream.events.values import YEARS
from actorstream.operators.expressions.errors import RowErrors
from actorstream.operators.expressions.nodes import Apply, Node, fields_of

if TYPE_CHECKING:
    from actorstream.operators.expressions.plan import RowColumns

Origin = tuple[str, tuple[str, Node] | None]
"""The name of an instruction, and what it was made for: the expression's text and the node."""

_WHY = {
    "FLOOR_DIVIDE_I": "integer division by zero (or -2**63 // -1)",
    "REMAINDER_I": "integer division by zero",
    "F_TO_I": "no int64",
    "TEXT_TO_I": "no integer",
    "TEXT_TO_F": "no number",
    "TEXT_TO_BOOL": "neither 'true' nor 'false'",
}
_SHOWN = 80


def row_errors(failed_at: np.ndarray, origins: list[Origin], batch: RowColumns) -> RowErrors:
    """The failed rows of a batch. `failed_at`: one a row, 0 or 1 + the number of the instruction it failed at."""
    rows = np.flatnonzero(failed_at).astype(np.uint32)

    def describe(number: int) -> str:
        row = int(rows[number])
        return _describe(origins[int(failed_at[row]) - 1], batch, row)

    return RowErrors(rows, describe)


def _describe(origin: Origin, batch: RowColumns, row: int) -> str:
    name, made_for = origin
    assert made_for is not None
    text, node = made_for
    why = _WHY.get(name, "int64 overflow")
    if name == "FITS":
        assert isinstance(node, Apply)
        kind = node.extra[2]
        why = f"outside {YEARS}" if kind is Kind.DATETIME else f"does not fit {kind.value}"
    part = text[node.start : node.end]
    values = [f"{each} = {_shown(batch.column(each).slice(row, 1).tolist()[0])}" for each in fields_of(node)]
    where = f" in {text!r}" if part != text else ""
    return f"{why}: {part}{where}" + (f" ({', '.join(values)})" if values else "")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
