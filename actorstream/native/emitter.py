"""Emitter: what appends an event to the list of its output, in C, since `emit` is called once an event: 25 ns, in Python 90.

`Emitter(events, kind)` is a base class: `emit(item, to)` appends instances of `kind` to the list `events[to]`, and notes in
`touched` that it did; everything else goes to the method `_emit` of the subclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Emitter"]

if TYPE_CHECKING:

    class Emitter:
        events: dict[str, Any]
        touched: bool

        def __init__(self, events: dict[str, Any], kind: type) -> None: ...
        def emit(self, item: Any, to: str = "default") -> None: ...

else:
    from actorstream.native._objects import Emitter
