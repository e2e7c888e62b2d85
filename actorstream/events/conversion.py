"""NumPy arrays of another type as a field's own, if no value changes by it. Copies; knows nothing of columns."""

from __future__ import annotations

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.events.values import YEARS

EXACT = 2.0**53
"""A float64 has every integer up to here."""


def converted(field: Field, array: np.ndarray) -> np.ndarray:
    """`array` as the field's dtype; SchemaError if its kind of number is not one of the field's."""
    given, target = array.dtype, field.dtype
    if field.kind is Kind.DATETIME and given.kind == "M":
        return _as_times(field, array)
    if target is not None:
        is_integer = field.kind in INTEGERS or field.kind is Kind.DATETIME or bool(field.categories)
        if is_integer and given.kind in "iu":
            bounds = np.iinfo(target)
            if len(array) and not np.can_cast(given, target):
                least, most = int(array.min()), int(array.max())
                if least < bounds.min or most > bounds.max:
                    value = least if least < bounds.min else most
                    raise SchemaError(
                        f"field {field.name!r}, row {int(np.flatnonzero(array == value)[0])}: {value} does not fit "
                        f"{target}; allowed: {bounds.min} to {bounds.max}"
                    )
            return array.astype(target)
        if field.kind in FLOATS and given.kind in "iuf":
            return _as_floats(field, array)
    raise SchemaError(
        f"field {field.name!r} is {field.kind.value}, the array is {given}; allowed: "
        + ("an Arrow array or a list" if target is None else f"{target}, or what converts to it without loss")
    )


def _as_times(field: Field, array: np.ndarray) -> np.ndarray:
    """The microseconds of an array of datetime64."""
    if np.isnat(array).any():
        row = int(np.flatnonzero(np.isnat(array))[0])
        raise SchemaError(
            f"field {field.name!r}, row {row}: NaT; allowed: a time (nulls: give an Arrow array)"
        )
    made = array.astype("M8[us]")
    if not _surely_kept(array):
        _check_same(field, array, made.astype(array.dtype) == array, f"whole microseconds of {YEARS}")
    return made.view(np.int64)


def _surely_kept(times: np.ndarray) -> bool:
    """Whether it takes no look at each time to know that it is kept: NumPy cuts off what is finer than a microsecond, and times
    of a coarser unit that are too far from 1970 wrap around, which the least and the greatest tell."""
    given = times.dtype
    if given == "M8[us]" or len(times) == 0:
        return True
    if not given.isnative or not np.can_cast(given, "M8[us]"):
        return False
    since = times.view(np.int64)
    ends = np.array([since.min(), since.max()]).view(given)
    return bool((ends.astype("M8[us]").astype(given) == ends).all())


def _as_floats(field: Field, array: np.ndarray) -> np.ndarray:
    """The values of a float field: a fraction is rounded to its width, an integer in float64 keeps its value."""
    given, target = array.dtype, field.dtype
    assert target is not None
    with np.errstate(over="ignore"):
        made = array.astype(target)
    if given.kind == "f":
        if given.itemsize > target.itemsize and not np.isfinite(made).all():
            most = np.finfo(target).max
            _check_same(field, array, np.isfinite(made) >= np.isfinite(array), f"{-most:.8g} to {most:.8g}")
        return made
    wide = field.kind is Kind.FLOAT64 and given.itemsize == 8 and len(array) > 0
    if wide and (made.min() <= -EXACT or made.max() >= EXACT):
        end = 2.0 ** (63 if given.kind == "i" else 64)
        with np.errstate(invalid="ignore"):  # an integer that was rounded up to the end has no way back
            same = (made < end) & (made.astype(given) == array)
        _check_same(field, array, same, "integers that a float64 has, such as all up to 2**53")
    return made


def _check_same(field: Field, array: np.ndarray, same: np.ndarray, allowed: str) -> None:
    """SchemaError names the first value that its conversion has changed."""
    if not same.all():
        row = int(same.argmin())
        raise SchemaError(
            f"field {field.name!r}, row {row}: {array[row]} does not fit {field.kind.value}; allowed: {allowed}"
        )
