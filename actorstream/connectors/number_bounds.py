"""Bounds: which numbers the integer field of a generated row holds. NumPy would make others of the rest; draws nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.fields import INTEGERS, Field, Kind

if TYPE_CHECKING:
    from actorstream.connectors.distributions import Span


def bounds_of(field: Field) -> tuple[int, int]:
    """The least and the greatest value of a field of integers or times; of another, those of the integers that it is made
    of."""
    bounds = np.iinfo(field.dtype if field.kind in INTEGERS and field.dtype is not None else np.int64)
    return int(bounds.min), int(bounds.max)


def check_fit(field: Field, found: np.ndarray, span: Span) -> None:
    """SchemaError names the least or the greatest number that the field does not hold, and its row. Fields of other kinds
    than integers and times hold all."""
    if not (field.kind in INTEGERS or field.kind is Kind.DATETIME) or not len(found):
        return
    least, most = bounds_of(field)
    fits_below, fits_above = least <= found.min().item(), found.max().item() <= most
    if not (fits_below and fits_above):  # nan is at both places
        at = int(found.argmax() if fits_below else found.argmin())
        number = span.numbering.first + (span.made + at) * span.numbering.stride
        raise unfit(field, found[at].item(), number)


def unfit(field: Field, value: Any, number: int) -> SchemaError:
    """The error of a value that a field cannot have, in the row of that number."""
    least, most = bounds_of(field)
    return SchemaError(
        f"field {field.name!r}: {value}, which row {number} would have, does not fit {field.kind.value}; allowed: "
        f"{least} to {most} (a wider type, or other keys of its distribution)"
    )
