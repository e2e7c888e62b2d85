"""An expression that was drawn: as our text, as SQL, and as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.unit.operators.expression_model import Row


@dataclass(frozen=True)
class Drawn:
    """`text` computes what `value` does; `sql` too, where it is not None. `constant`: it names no field."""

    text: str
    sql: str | None
    value: Callable[[Row], Any]
    constant: bool = False


def literal(value: Any) -> Drawn:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return Drawn(f"'{escaped}'", "'" + value.replace("'", "''") + "'", lambda row: value, True)
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    text = f"({text})" if text.startswith("-") else text
    sql = f"{text}::bigint" if type(value) is int else f"{text}::double" if type(value) is float else text
    return Drawn(text, sql, lambda row: value, True)
