"""Distributions: the columns of generated rows, each value a pure function of seed, field and row number.

So a row is the same whatever the batch size, the shard and the worker that make it. NumPy only, no state.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.column import Column
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.topology.nearest import did_you_mean

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MAX_RANKS = 10_000_000
"""Of a zipf distribution: its table has so many floats at most."""
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)

Make = Callable[[np.ndarray, int], Any]
"""(row numbers uint64, salt) -> one value a row."""


class DistributionError(ValueError):
    """A field's distribution is wrong; `key` says which key of it, `allowed` and `hint` are for a Problem."""

    def __init__(self, key: str, message: str, allowed: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.key, self.message, self.allowed, self.hint = key, message, allowed, hint


def uniform_bits(rows: np.ndarray, salt: int) -> np.ndarray:
    """64 independent bits for each row number: splitmix64 (Steele, Lea, Flood 2014) of a counter."""
    with np.errstate(over="ignore"):
        mixed = (rows + np.uint64(1)) * GOLDEN + np.uint64(salt & (2**64 - 1)) * np.uint64(0xD1342543DE82EF95)
        mixed ^= mixed >> np.uint64(30)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def unit(rows: np.ndarray, salt: int) -> np.ndarray:
    """Floats in [0, 1) with 53 random bits."""
    found: np.ndarray = (uniform_bits(rows, salt) >> np.uint64(11)) * 2.0**-53
    return found


@dataclass(frozen=True)
class Generated:
    """One generated field."""

    field: Field
    make: Make
    salt: int
    prefix: str | None
    nulls: float
    values: tuple[Any, ...] | None
    """What the numbers that `make` answers are an index into; None: they are the values."""
    ascending: bool
    """A later row never has a lesser value."""

    def column(self, rows: np.ndarray) -> Column:
        """The values of these rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = self.make(rows, self.salt)
        field = self.field
        missing = unit(rows, self.salt + 2) < self.nulls if self.nulls else None
        if self.values is not None:
            values = Column.from_values(field, [*self.values, None] if self.nulls else list(self.values))
            return values.take(found if missing is None else np.where(missing, len(self.values), found))
        if field.kind is Kind.STRING:
            found = pc.binary_replace_slice(pc.cast(pa.array(found), pa.string()), 0, 0, self.prefix or "")
        elif field.dtype is not None and found.dtype != field.dtype:
            whole = field.kind in INTEGERS and found.dtype.kind == "f"
            found = (np.rint(found) if whole else found).astype(field.dtype)
        if missing is not None:
            array = pa.array(found) if isinstance(found, np.ndarray) else found
            found = pc.if_else(pa.array(missing), pa.scalar(None, array.type), array)
        return Column.of(field, found)


def generated(field: Field, given: str | Mapping[str, Any], seed: int, event_time: bool) -> Generated:
    """The field as its table in `schema` says: `type`, `distribution` and its keys, `prefix`, `nulls`.

    Without a distribution: the event time ascends by 1 (a datetime by 1 ms), numbers are uniform below
    1000 (floats below 1), texts one of 1000. DistributionError says which key is wrong."""
    keys = {} if isinstance(given, str) else dict(given)
    keys.pop("type", None)
    prefix, nulls = keys.pop("prefix", None), keys.pop("nulls", 0.0)
    if not isinstance(nulls, int | float) or not 0 <= nulls <= 1:
        raise DistributionError("nulls", f"is {nulls!r}", "the share of rows without a value, from 0 to 1")
    if nulls and not field.nullable:
        raise DistributionError("nulls", "is set for a type that allows none", "a type that ends in '?'")
    name = keys.pop("distribution", None)
    if name is None:
        name, keys = _usual(field, keys, event_time)
        prefix = f"{field.name}-" if prefix is None and field.kind is Kind.STRING else prefix
    if name not in _MAKERS:
        raise DistributionError(
            "distribution", f"is {name!r}", ", ".join(_MAKERS), did_you_mean(str(name), _MAKERS)
        )
    maker, allowed = _MAKERS[name]
    for key in keys:
        if key not in allowed:
            raise DistributionError(
                key, f"is no key of {name!r}", ", ".join(allowed), did_you_mean(key, allowed)
            )
    make, values = maker(field, keys)
    if field.kind in (Kind.BYTES, Kind.MSGPACK) and values is None:
        raise DistributionError(
            "distribution", f"is {name!r}, for a field of {field.kind.value}", "choice, constant"
        )
    salt = zlib.crc32(field.name.encode()) * 4 + (seed << 34)
    ascending = (
        name == "sequence" and make(np.array([1], np.uint64), 0)[0] >= make(np.array([0], np.uint64), 0)[0]
    )
    return Generated(field, make, salt, prefix, float(nulls), values, bool(ascending))


def _usual(field: Field, keys: dict[str, Any], event_time: bool) -> tuple[str, dict[str, Any]]:
    if field.kind is Kind.DATETIME or event_time:
        return "sequence", keys
    if field.kind is Kind.BOOL:
        return "bernoulli", keys
    if field.categories:
        return "choice", {"values": list(field.labels), **keys}
    return "uniform", {
        "low": 0,
        "high": 1 if field.kind in FLOATS else 100 if field.width == 1 else 1000,
        **keys,
    }


# -- the distributions: (field, keys) -> (make, values) ---------------------------------------------------

_Made = tuple[Make, tuple[Any, ...] | None]


def _number(keys: Mapping[str, Any], key: str, default: float | None = None) -> Any:
    value = keys.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DistributionError(key, f"is {value!r}" if key in keys else "is missing", "a number")
    return value


def _uniform(field: Field, keys: Mapping[str, Any]) -> _Made:
    low, high = _number(keys, "low", 0), _number(keys, "high")
    if not low < high:
        raise DistributionError("high", f"is {high}, `low` is {low}", "more than `low`")
    if field.kind in FLOATS:
        return lambda rows, salt: low + unit(rows, salt) * (high - low), None
    return lambda rows, salt: low + np.floor(unit(rows, salt) * (high - low)).astype(np.int64), None


def _normal(field: Field, keys: Mapping[str, Any]) -> _Made:
    mean, spread = _number(keys, "mean", 0), _number(keys, "std", 1)

    def make(rows: np.ndarray, salt: int) -> np.ndarray:
        radius = np.sqrt(-2.0 * np.log1p(-unit(rows, salt)))
        found: np.ndarray = mean + spread * radius * np.cos(2 * np.pi * unit(rows, salt + 1))
        return found

    return make, None


def _exponential(field: Field, keys: Mapping[str, Any]) -> _Made:
    mean = _number(keys, "mean", 1)
    return lambda rows, salt: -mean * np.log1p(-unit(rows, salt)), None


def _zipf(field: Field, keys: Mapping[str, Any]) -> _Made:
    ranks, exponent = _number(keys, "of"), _number(keys, "exponent", 1.0)
    if not (isinstance(ranks, int) and 0 < ranks <= MAX_RANKS):
        raise DistributionError("of", f"is {ranks!r}", f"a whole number from 1 to {MAX_RANKS}")
    weights = np.arange(1, ranks + 1, dtype=np.float64) ** -exponent
    return _ranked(weights), None


def _choice(field: Field, keys: Mapping[str, Any]) -> _Made:
    values = keys.get("values")
    if not isinstance(values, list | tuple) or not values:
        raise DistributionError(
            "values", f"is {values!r}" if values else "is missing", "a list of at least one value"
        )
    weights = keys.get("weights", [1] * len(values))
    if len(weights) != len(values) or min(weights) < 0 or not sum(weights) > 0:
        raise DistributionError("weights", f"is {weights!r}", f"{len(values)} numbers, 0 or more, not all 0")
    return _ranked(np.array(weights, np.float64)), tuple(_checked(field, value) for value in values)


def _constant(field: Field, keys: Mapping[str, Any]) -> _Made:
    if "value" not in keys:
        raise DistributionError("value", "is missing", f"a value of {field}")
    return lambda rows, salt: np.zeros(len(rows), np.int64), (_checked(field, keys["value"]),)


def _sequence(field: Field, keys: Mapping[str, Any]) -> _Made:
    start, step = keys.get("start", EPOCH if field.kind is Kind.DATETIME else 0), keys.get("step", 1)
    if field.kind is Kind.DATETIME:
        start = _microseconds(start if isinstance(start, datetime) else _date(start))
        step = step // timedelta(microseconds=1) if isinstance(step, timedelta) else step * 1000
    dtype = np.float64 if isinstance(start + step, float) else np.int64
    return lambda rows, salt: start + rows.astype(dtype) * step, None


def _bernoulli(field: Field, keys: Mapping[str, Any]) -> _Made:
    chance = _number(keys, "p", 0.5)
    if not 0 <= chance <= 1:
        raise DistributionError("p", f"is {chance}", "the share of true, from 0 to 1")
    return lambda rows, salt: unit(rows, salt) < chance, None


_MAKERS: dict[str, tuple[Callable[[Field, Mapping[str, Any]], _Made], tuple[str, ...]]] = {
    "uniform": (_uniform, ("low", "high")),
    "normal": (_normal, ("mean", "std")),
    "exponential": (_exponential, ("mean",)),
    "zipf": (_zipf, ("of", "exponent")),
    "choice": (_choice, ("values", "weights")),
    "constant": (_constant, ("value",)),
    "sequence": (_sequence, ("start", "step")),
    "bernoulli": (_bernoulli, ("p",)),
}


def _ranked(weights: np.ndarray) -> Make:
    """Row numbers of a table, as often as their weights say."""
    edges = np.cumsum(weights / weights.sum())
    edges[-1] = 1.0
    return lambda rows, salt: np.searchsorted(edges, unit(rows, salt), side="right")


def _checked(field: Field, value: Any) -> Any:
    try:
        Column.from_values(field, [value])
        return value
    except SchemaError as error:
        raise DistributionError("values", str(error)) from None


def _date(text: Any) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise DistributionError("start", f"is {text!r}", "a date and time") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _microseconds(moment: datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def types_of(schema: Mapping[str, Any]) -> dict[str, str]:
    """Field -> type of a `schema` with distributions. DistributionError if a field has none."""
    found = {}
    for name, given in schema.items():
        text = given if isinstance(given, str) else given.get("type") if isinstance(given, Mapping) else None
        if not isinstance(text, str):
            raise DistributionError(
                name, "has no type", '"int", or { type = "int", distribution = "uniform", ... }'
            )
        found[name] = text
    return found


def generated_fields(schema: Schema, given: Mapping[str, Any], seed: int) -> list[Generated]:
    """Every field of the schema; DistributionError, its key with the field before it."""
    made = []
    for field in schema.fields:
        try:
            made.append(generated(field, given.get(field.name, {}), seed, field.name == schema.event_time))
        except DistributionError as error:
            where = f"{field.name}.{error.key}"
            raise DistributionError(where, error.message, error.allowed, error.hint) from None
    return made
