"""Distributions: the columns of generated rows, each value a pure function of seed, field and row number.

So a row is the same whatever the batch size, the shard and the worker that make it. The random words come
from C (native/generate.py); no state here.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from actorstream.connectors.number_bounds import bounds_of, check_fit, unfit
from actorstream.errors import SchemaError
from actorstream.events.arrow import arrow_type
from actorstream.events.arrow_arrays import arrow_array, arrow_texts
from actorstream.events.column import Column
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.native.elementary import cosine, exp, log
from actorstream.native.generate import AliasTable, ShardNumbering
from actorstream.topology.suggestions import did_you_mean

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

MAX_RANKS = 10_000_000
"""Of a zipf distribution: its table has so many entries at most."""
MAX_WORDS = 1000
"""Of one text."""
WORD_SALT = 1 << 40
"""Between the random words of one text; fields differ in the lower bits."""
CONSONANTS, VOWELS = "bcdfghklmnprstvz", "aeiou"
TIMES = INTEGERS | {Kind.DATETIME}
"""Kinds that `event_rate` can make times of."""
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


class Span(NamedTuple):
    """Rows `made` ... `made + rows - 1` of a shard."""

    numbering: ShardNumbering
    made: int
    rows: int


Make = Callable[[Span, int], Any]
"""(which rows, salt) -> one value a row."""


class DistributionError(ValueError):
    """A field's distribution is wrong; `key` says which key of it, `allowed` and `hint` are for a Problem."""

    def __init__(self, key: str, message: str, allowed: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.key, self.message, self.allowed, self.hint = key, message, allowed, hint


class Generated(msgspec.Struct, frozen=True):
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
    fits: bool
    """Whether the field is known to hold every number that `make` answers."""

    def column(self, span: Span) -> Column:
        """The values of these rows."""
        found = self.make(span, self.salt)
        field = self.field
        missing = None
        if self.nulls:
            missing = span.numbering.units(span.made, span.rows, self.salt + 2) < self.nulls
        if self.values is not None:
            values = Column.from_values(field, [*self.values, None] if self.nulls else list(self.values))
            return values.take(found if missing is None else np.where(missing, len(self.values), found))
        if field.kind is Kind.STRING and isinstance(found, np.ndarray):
            import pyarrow as pa
            import pyarrow.compute as pc

            found = pc.binary_replace_slice(pc.cast(arrow_array(found), pa.string()), 0, 0, self.prefix or "")
        elif field.dtype is not None and found.dtype != field.dtype:
            whole = field.kind in INTEGERS and found.dtype.kind == "f"
            found = np.rint(found) if whole else found
            if not self.fits:
                check_fit(field, found, span)
            found = found.astype(field.dtype)
        if missing is not None and isinstance(found, np.ndarray):
            found = arrow_array(found, ~missing)
            if field.kind is Kind.DATETIME:  # it takes integers of NumPy, but not of Arrow
                found = found.cast(arrow_type(field))
        elif missing is not None:
            import pyarrow as pa
            import pyarrow.compute as pc

            found = pc.if_else(arrow_array(missing), pa.nulls(1, found.type)[0], found)
        return Column.of(field, found)


def generated(field: Field, given: str | Mapping[str, Any], seed: int, event_time: bool) -> Generated:
    """The field as its table in `schema` says: `type`, `distribution` and its keys, `prefix`, `nulls`.

    Without a distribution: the event time is that of the row's number, other datetimes ascend by 1 ms, numbers are
    uniform below 1000 (floats below 1), texts one of 1000. DistributionError says which key is wrong."""
    keys = {} if isinstance(given, str) else dict(given)
    keys.pop("type", None)
    prefix, nulls = keys.pop("prefix", None), keys.pop("nulls", 0.0)
    if type(nulls) not in (int, float) or not 0 <= nulls <= 1:
        raise DistributionError("nulls", f"is {nulls!r}", "the share of rows without a value, from 0 to 1")
    if nulls and not field.nullable:
        raise DistributionError("nulls", "is set for a type that allows none", "a type that ends in '?'")
    name = keys.pop("distribution", None)
    if name is None:
        name, keys = _usual(field, keys, event_time)
        prefix = f"{field.name}-" if prefix is None and field.kind is Kind.STRING else prefix
    if not isinstance(name, str) or name not in _MAKERS:
        raise DistributionError(
            "distribution", f"is {name!r}", ", ".join(_MAKERS), did_you_mean(str(name), _MAKERS)
        )
    maker, allowed = _MAKERS[name]
    for key in keys:
        if key not in allowed:
            raise DistributionError(
                key, f"is no key of {name!r}", ", ".join(allowed), did_you_mean(key, allowed)
            )
    if name == "words" and field.kind is not Kind.STRING:
        raise DistributionError("distribution", f"is 'words', for a field of {field.kind.value}", "a text")
    make, values, ends = maker(field, keys)
    if ends is not None:
        _check_ends(field, name, ends)
    if field.kind in (Kind.BYTES, Kind.MSGPACK) and values is None:
        raise DistributionError(
            "distribution", f"is {name!r}, for a field of {field.kind.value}", "choice, constant"
        )
    salt = zlib.crc32(field.name.encode()) * 4 + (seed << 34)
    ascending = name == "clock"
    if name == "sequence":
        first, second = make(Span(ShardNumbering(), 0, 2), 0)
        ascending = bool(second >= first)
    return Generated(field, make, salt, prefix, float(nulls), values, ascending, ends is not None)


def _check_ends(field: Field, name: str, ends: tuple[float, float]) -> None:
    """DistributionError if an integer field does not hold the least and the greatest number of its distribution."""
    if field.kind not in TIMES:
        return
    least, most = bounds_of(field)
    for key, end in zip(("of", "of") if name == "zipf" else ("low", "high"), ends):
        if not least <= end <= most:
            what = f"leads to {end}, which {field.kind.value} does not hold"
            raise DistributionError(key, what, f"values from {least} to {most}", "or take a wider type")


def _usual(field: Field, keys: dict[str, Any], event_time: bool) -> tuple[str, dict[str, Any]]:
    if event_time and field.kind in TIMES:
        return "clock", keys
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


class _Made(NamedTuple):
    make: Make
    values: tuple[Any, ...] | None = None
    """As in `Generated`."""
    ends: tuple[float, float] | None = None
    """The least and the greatest number that `make` answers, where both are known."""


def _number(keys: Mapping[str, Any], key: str, default: float | None = None) -> Any:
    value = keys.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DistributionError(key, f"is {value!r}" if key in keys else "is missing", "a number")
    return value


def _uniform(field: Field, keys: Mapping[str, Any]) -> _Made:
    low, high = _number(keys, "low", 0), _number(keys, "high")
    if not low < high:
        raise DistributionError("high", f"is {high}, `low` is {low}", "more than `low`")
    if field.kind in FLOATS or not (isinstance(low, int) and isinstance(high, int)):
        found = lambda span, salt: span.numbering.units(span.made, span.rows, salt, low, high)  # noqa: E731
        if field.kind in FLOATS:
            return _Made(found)
        finite = math.isfinite(low) and math.isfinite(high)
        ends = (math.floor(low), math.ceil(high) - 1) if finite else (low, high)
        return _Made(lambda span, salt: np.floor(found(span, salt)), None, ends)
    if low < -(2**63) or high > 2**63:
        raise DistributionError("low" if low < -(2**63) else "high", "is beyond 64 bits", "-2^63 to 2^63")
    make: Make = lambda span, salt: span.numbering.integers(span.made, span.rows, salt, low, high)  # noqa: E731
    return _Made(make, None, (low, high - 1))


def _normal(field: Field, keys: Mapping[str, Any]) -> _Made:
    mean, spread = _number(keys, "mean", 0), _number(keys, "std", 1)

    def make(span: Span, salt: int) -> np.ndarray:
        numbering, made, rows = span
        radius = np.sqrt(-2.0 * log(1.0 - numbering.units(made, rows, salt)))
        found: np.ndarray = mean + spread * radius * cosine(numbering.units(made, rows, salt + 1))
        return found

    return _Made(make)


def _exponential(field: Field, keys: Mapping[str, Any]) -> _Made:
    mean = _number(keys, "mean", 1)
    return _Made(lambda span, salt: -mean * log(1.0 - span.numbering.units(span.made, span.rows, salt)))


def _zipf(field: Field, keys: Mapping[str, Any]) -> _Made:
    weights = _zipf_weights(keys)
    return _Made(_ranked(weights), None, (0, len(weights) - 1))


def _zipf_weights(keys: Mapping[str, Any]) -> np.ndarray:
    ranks, exponent = _number(keys, "of"), _number(keys, "exponent", 1.0)
    if not (isinstance(ranks, int) and 0 < ranks <= MAX_RANKS):
        raise DistributionError("of", f"is {ranks!r}", f"a whole number from 1 to {MAX_RANKS}")
    return exp(-exponent * log(np.arange(1, ranks + 1, dtype=np.float64)))


def _words(field: Field, keys: Mapping[str, Any]) -> _Made:
    """Texts of `low` to `high` words, which are as frequent as in natural language (Zipf)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    low, high = _number(keys, "low", 1), _number(keys, "high", 10)
    if not (isinstance(low, int) and isinstance(high, int) and 0 <= low <= high <= MAX_WORDS and high > 0):
        allowed = f"low <= high, from 0 to {MAX_WORDS}"
        raise DistributionError("high", f"is {high}, `low` is {low}", allowed)
    weights = _zipf_weights({"of": 10_000, **keys})
    table, vocabulary = AliasTable(weights), arrow_texts(map(made_up_word, range(len(weights))), pa.string())

    def make(span: Span, salt: int) -> Any:
        numbering, made, rows = span
        counts = numbering.integers(made, rows, salt, low, high + 1)
        ranks = np.empty((rows, high), np.uint32)
        for place in range(high):
            ranks[:, place] = numbering.ranks(made, rows, salt + (place + 1) * WORD_SALT, table)
        chosen = vocabulary.take(arrow_array(ranks[np.arange(high) < counts[:, None]]))
        ends = np.concatenate((np.zeros(1, np.int32), np.cumsum(counts, dtype=np.int32)))
        return pc.binary_join(pa.ListArray.from_arrays(arrow_array(ends), chosen), " ")

    return _Made(make)


def made_up_word(rank: int) -> str:
    """A word of one syllable or more, another for each rank."""
    word = ""
    rank += 1
    while rank:
        rank, syllable = divmod(rank - 1, len(CONSONANTS) * len(VOWELS))
        word = CONSONANTS[syllable % len(CONSONANTS)] + VOWELS[syllable // len(CONSONANTS)] + word
    return word


def _choice(field: Field, keys: Mapping[str, Any]) -> _Made:
    values = keys.get("values")
    if not isinstance(values, list | tuple) or not values:
        raise DistributionError(
            "values", f"is {values!r}" if values else "is missing", "a list of at least one value"
        )
    weights = keys.get("weights", [1] * len(values))
    are_numbers = isinstance(weights, list | tuple) and all(type(each) in (int, float) for each in weights)
    if (
        not are_numbers
        or len(weights) != len(values)
        or not min(weights) >= 0
        or not 0 < sum(weights) < math.inf
    ):
        raise DistributionError("weights", f"is {weights!r}", f"{len(values)} numbers, 0 or more, not all 0")
    return _Made(_ranked(np.array(weights, np.float64)), tuple(_checked(field, value) for value in values))


def _constant(field: Field, keys: Mapping[str, Any]) -> _Made:
    if "value" not in keys:
        raise DistributionError("value", "is missing", f"a value of {field}")
    return _Made(lambda span, salt: np.zeros(span.rows, np.int64), (_checked(field, keys["value"]),))


def _sequence(field: Field, keys: Mapping[str, Any]) -> _Made:
    start: Any
    step: Any
    if field.kind is Kind.DATETIME:
        start, step = keys.get("start", EPOCH), keys.get("step", 1)
        start = microseconds(start if isinstance(start, datetime) else _date(start))
        step = step // timedelta(microseconds=1) if isinstance(step, timedelta) else step * 1000
    else:
        start, step = _number(keys, "start", 0), _number(keys, "step", 1)
    if isinstance(start + step, float):
        return _Made(
            lambda span, salt: start + span.numbering.numbers(span.made, span.rows).astype(np.float64) * step
        )

    def make(span: Span, salt: int) -> np.ndarray:
        numbers = span.numbering.numbers(span.made, span.rows)
        for number in (int(numbers[0]), int(numbers[-1])) if span.rows else ():
            if not -(2**63) <= start + number * step < 2**63:  # NumPy's integers would wrap around
                raise unfit(field, start + number * step, number)
        found: np.ndarray = start + numbers * step
        return found

    return _Made(make)


def _clock(field: Field, keys: Mapping[str, Any]) -> _Made:
    """The event time of the row numbers."""
    return _Made(lambda span, salt: span.numbering.event_times(span.made, span.rows))


def _bernoulli(field: Field, keys: Mapping[str, Any]) -> _Made:
    chance = _number(keys, "p", 0.5)
    if not 0 <= chance <= 1:
        raise DistributionError("p", f"is {chance}", "the share of true, from 0 to 1")
    return _Made(lambda span, salt: span.numbering.units(span.made, span.rows, salt) < chance)


_MAKERS: dict[str, tuple[Callable[[Field, Mapping[str, Any]], _Made], tuple[str, ...]]] = {
    "uniform": (_uniform, ("low", "high")),
    "normal": (_normal, ("mean", "std")),
    "exponential": (_exponential, ("mean",)),
    "zipf": (_zipf, ("of", "exponent")),
    "choice": (_choice, ("values", "weights")),
    "constant": (_constant, ("value",)),
    "sequence": (_sequence, ("start", "step")),
    "bernoulli": (_bernoulli, ("p",)),
    "words": (_words, ("low", "high", "of", "exponent")),
    "clock": (_clock, ()),
}


def _ranked(weights: np.ndarray) -> Make:
    """Row numbers of a table, as often as their weights say."""
    table = AliasTable(weights)
    return lambda span, salt: span.numbering.ranks(span.made, span.rows, salt, table)


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


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970; a naive time is UTC."""
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
