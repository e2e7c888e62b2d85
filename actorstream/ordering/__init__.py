"""How an actor sees its input. One file a value; a new ordering is one file and one row of `ORDERINGS`."""

from __future__ import annotations

ORDERINGS: dict[str, str] = {
    "none": "actorstream.ordering.none:NoOrder",
    "serial": "actorstream.ordering.serial:SerialGate",
    "timestamp": "actorstream.ordering.timestamp:TimestampGate",
}
"""Name in a topology -> class. Beside them there is `dependency`, which is no gate of rows: runtime/dependency/ has it."""
