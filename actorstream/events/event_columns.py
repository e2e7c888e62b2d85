"""Gathers the events that a function returns straight into the values of each field, where nobody takes them as events.

A returned event is gone as soon as it was read, so that the next one is made in its warm memory. Decides nothing about
errors: that is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any

from actorstream.errors import SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event_codec import lost_fields
from actorstream.events.schema import Schema, is_made

MOST_FIELDS = 4
"""Events of more fields are gathered as they are, and only fields that somebody asks for are read."""

# for loops, since the interpreter inlines a call of Python by Python: with one field 15 ns less an event than
# list.extend(map(hook, events)) and a comprehension behind it (benchmark `python-map`, event-int)
_LOOPS = {
    "one of one field": (  # 5 ns less without a name for the result, which only the first one has
        "for event in events:\n  result = {call}\n  {read}\n  break\n else:\n  return result\n"
        " for event in events:\n  _0.append({call}.{name})"
    ),
    "one": "for event in events:\n  result = {call}\n  {read}",
    "single": "for event in events:\n  made = {call}\n  if made is not None:\n   result = made\n   {read}",
    "generator": "for result in events:\n  {read}",  # its results, by chain and map: no slower than two loops
}

Loop = Callable[..., Any]
"""(iterator of events, values of the first field, of the second, ...) -> one of the results, or None; of a generator the events
that it yields."""


def loop_of(hook: Callable[..., Any], shape: str, schema: Schema) -> Loop | None:
    """The loop over a hook of a shape whose results are of `schema`; None: there is none, gather events."""
    names = schema.names()
    if shape not in _LOOPS or not 0 < len(names) <= MOST_FIELDS:
        return None
    name = names[0]
    if shape == "one" and len(names) == 1:
        shape = "one of one field"
    read = "; ".join(f"_{number}.append(result.{name})" for number, name in enumerate(names))
    targets = ", ".join(f"_{number}" for number in range(len(names)))
    made: dict[str, Any] = {}
    if isinstance(hook, MethodType):  # its function takes 5 ns less than the method
        start, call = (hook.__func__, hook.__self__), "hook(me, event)"
    else:
        start, call = (hook, None), "hook(event)"
    body = _LOOPS[shape].format(call=call, read=read, name=name)
    exec(f"def loop(hook, me, events, {targets}):\n result = None\n {body}\n return result", made)
    return partial(made["loop"], *start)


def emitted(schema: Schema, events: list[Any], unfit: Callable[[Exception], Exception]) -> Batch:
    """A batch of events that a hook has made. The first event tells whether they are of another class. If it is one whose fields
    `schema` has, consumers that take events get events of the class of `schema`.

    Raises what `unfit` makes of a SchemaError if the first event has fields that `schema` lacks."""
    batch = Batch.of_events(schema, events)
    batch._unfit = unfit
    own = batch.schema._class
    if type(events[0]) is own:
        return batch
    wrong = lost_fields(schema, events[0])
    if wrong is not None:
        raise unfit(wrong)
    if own is None or isinstance(events[0], own) or is_made(own):
        return batch
    return batch.with_made(batch.schema, [None] * len(batch.schema.fields))


class EventColumns:
    """Values of each field of events of `schema`; stands for a list of those events in an outbox."""

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.values: list[list[Any]] = [[] for _ in schema.fields]

    def __len__(self) -> int:
        return len(self.values[0])

    def gather(self, loop: Loop, events: Any) -> None:
        """Runs a loop and looks at one of the results; SchemaError if it is of another class and has more fields."""
        result = loop(events, *self.values)
        wrong = None if result is None else lost_fields(self.schema, result)
        if wrong is not None:
            raise wrong

    def append(self, event: Any) -> None:
        """Reads one event; SchemaError if it is of another class and lacks a field or has one more."""
        wrong = lost_fields(self.schema, event)
        if wrong is not None:
            raise wrong
        try:
            row = [getattr(event, name) for name in self.schema.names()]
        except AttributeError:
            raise self.stranger(event) from None
        for values, value in zip(self.values, row):
            values.append(value)

    def level(self) -> None:
        """Forgets an event that was not read to its last field."""
        rows = min(map(len, self.values))
        for values in self.values:
            del values[rows:]

    def copy(self) -> EventColumns:
        made = EventColumns(self.schema)
        made.values = [values.copy() for values in self.values]
        return made

    def clear(self) -> None:
        for values in self.values:
            values.clear()

    def batch(self) -> Batch:
        """The rows, whose columns are made when they are asked for. Keeps the values."""
        return Batch.of_values(self.schema, self.values)

    def stranger(self, event: Any) -> SchemaError:
        """The error of an event that is none of `schema`."""
        return SchemaError(f"emitted a {type(event).__name__}: {event!r}; allowed: {self.schema.name}")

    def stranger_in(self, error: Exception) -> SchemaError | None:
        """The error of a result, if `gather` raised `error`, or its loop when it read one; None: the hook raised it."""
        trace, depth = error.__traceback__, 0
        while trace is not None:
            trace, depth = trace.tb_next, depth + 1
        if depth == 2 and isinstance(error, SchemaError):
            return error
        return self.stranger(error.obj) if depth == 3 and isinstance(error, AttributeError) else None
