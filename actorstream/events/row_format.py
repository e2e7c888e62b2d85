"""RowFormat: one event as a few bytes, for a channel that carries a single row without a jumbo tuple.

Only for rows of numbers, bools and short texts; it refuses what a column would refuse, and everything else besides.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorstream.events.event_codec import rows_of
from actorstream.events.fields import FLOATS, INTEGERS, STRUCT_CODES, Field, Kind

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema

UNFIT = (struct.error, TypeError, ValueError, OverflowError, AttributeError)
"""What `values`, or packing them, raises for an event that has to travel as columns, or to be refused there."""
_TEXTS = (Kind.STRING, Kind.BYTES)
_FIT = INTEGERS | FLOATS | {Kind.BOOL, *_TEXTS}
LEAST_TEXT = 16
"""Bytes that a row must leave for each text, one of them its length; else it is not worth trying."""


class RowFormat:
    """How the events of one schema lie in a few bytes.

    Attributes:
        layout: format of `struct` (little endian, unaligned) for what `values` answers.
        values: event -> tuple, one value a field; raises one of UNFIT.
        event: such a tuple -> event.
        reads, names: the expressions of the values of `event`, and what they refer to.
        plain: what makes an event of the values of such a tuple, if that is all that `event` does; else None.
    """

    __slots__ = ("event", "layout", "names", "plain", "reads", "values")

    def __init__(self, schema: Schema, widths: list[int]) -> None:
        codes, reads, makes = [], [], []
        names: dict[str, Any] = {"single": rows_of(schema).single, "truth": _truth}
        for number, (field, width) in enumerate(zip(schema.fields, widths)):
            read, make = f"event.{field.name}", f"row[{number}]"
            if field.kind in _TEXTS:
                codes.append(f"{width}p")
                names[f"text{number}"] = _short(field, width - 1)
                read = f"text{number}({read})"
                make = f"{make}.decode()" if field.kind is Kind.STRING else make
            else:
                codes.append("?" if field.kind is Kind.BOOL else STRUCT_CODES[field.kind])
                read = f"truth({read})" if field.kind is Kind.BOOL else read
            reads.append(read)
            makes.append(make)
        self.layout, self.reads, self.names = "".join(codes), reads, names
        decodes = any(field.kind is Kind.STRING for field in schema.fields)
        self.plain: Callable[..., Event] | None = None if decodes else names["single"]
        self.values: Callable[[Event], tuple[Any, ...]] = eval(f"lambda event: ({', '.join(reads)},)", names)
        self.event: Callable[[tuple[Any, ...]], Event] = eval(
            f"lambda row: single({', '.join(makes)})", names
        )

    @classmethod
    def of(cls, schema: Schema, most: int) -> RowFormat | None:
        """The format of a schema in at most so many bytes; None: it has none, such rows travel as columns."""
        texts = [field for field in schema.fields if field.kind in _TEXTS]
        left = most - sum(field.width for field in schema.fields)
        if (
            schema.system
            or not schema.fields
            or any(field.nullable or field.kind not in _FIT for field in schema.fields)
            or left < LEAST_TEXT * len(texts)
        ):
            return None
        formats = rows_of(schema).formats
        if most not in formats:
            share = left // len(texts) if texts else 0
            widths = [share if field.kind in _TEXTS else field.width for field in schema.fields]
            formats[most] = cls(schema, widths)
        return formats[most]  # type: ignore[no-any-return]


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return value  # type: ignore[no-any-return]
    raise TypeError("not a bool")


def _short(field: Field, most: int) -> Callable[[Any], bytes]:
    """The bytes of a text of at most `most` bytes."""

    def text(value: Any) -> bytes:
        data = str.encode(value) if field.kind is Kind.STRING else value
        if type(data) is not bytes or len(data) > most:
            raise ValueError("too long")
        return data

    return text
