"""Random expressions, each as text and as the plainest Python that computes one row of it. Knows nothing of the parser
or the engine; what Python and SQL disagree about (nulls, integer overflow) is spelt out here once more."""

from __future__ import annotations

import math
import random
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from actorstream import Event, Float32, Int8, Int32, UInt64

Row = dict[str, Any]


class NoValueError(Exception):
    """The row has no value: what the engine reports as a failed row."""


@dataclass(frozen=True)
class Random:
    """`text` computes what `value` does. `constant`: it names no field."""

    text: str
    value: Callable[[Row], Any]
    constant: bool = False


class Sample(Event):
    i: int
    j: int | None
    small: Int8
    narrow: Int32 | None
    big: UInt64
    x: float
    y: float | None
    single: Float32
    ok: bool
    maybe: bool | None
    kind: Literal["view", "click", "buy"]
    mood: Literal["good", "bad"] | None
    level: Literal[3, 1, 2]
    name: str
    note: str | None
    at: datetime
    seen: datetime | None


LETTERS = "abz01 -.é"
INTS = [-(2**63), 2**63 - 1, 2**31]
FLOATS = [0.5, -0.0, 2.5, 1e300, math.inf, -math.inf, math.nan, 1e19, 5e-324, sys.float_info.max, 0.1]
WORDS = ["", "true", "false", "12", "-3", " 7 ", "1.5", "é"]


def sample_of(dice: random.Random) -> Sample:
    """A random row. hypothesis would take longer to draw its seventeen values than all else that a test does with it."""

    def integer(bits: int = 64) -> int:
        return dice.choice([dice.randint(-5, 5), dice.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)])

    def floating() -> float:
        anything = struct.unpack("d", dice.randbytes(8))[0]
        return dice.choice([float(dice.randint(-4, 4)), dice.choice(FLOATS), anything])

    def word() -> str:
        return dice.choice([dice.choice(WORDS), "".join(dice.choices(LETTERS, k=dice.randint(0, 4)))])

    def time() -> datetime:
        return datetime(1902, 1, 1, tzinfo=UTC) + timedelta(days=298 * 365 * dice.random())

    def or_null(value: Any) -> Any:
        return None if dice.random() < 0.3 else value

    return Sample(
        i=dice.choice([integer(), dice.choice(INTS)]),
        j=or_null(dice.choice([integer(), dice.choice(INTS)])),
        small=integer(8),
        narrow=or_null(integer(32)),
        big=dice.choice([dice.randint(0, 5), dice.randint(0, 2**64 - 1)]),
        x=floating(),
        y=or_null(floating()),
        single=dice.choice([1.5, -0.0, math.inf, struct.unpack("f", dice.randbytes(4))[0]]),
        ok=dice.random() < 0.5,
        maybe=or_null(dice.random() < 0.5),
        kind=dice.choice(["view", "click", "buy"]),
        mood=dice.choice([None, "good", "bad"]),
        level=dice.choice([1, 2, 3]),
        name=word(),
        note=or_null(word()),
        at=time(),
        seen=or_null(time()),
    )


def row_of(event: Sample) -> Row:
    return {name: getattr(event, name) for name in Sample.__struct_fields__}


# -- what the model computes


def fits(value: int, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    if not least <= value <= most:
        raise NoValueError(value)
    return value


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Null if an operand is."""
    return lambda *values: None if any(value is None for value in values) else function(*values)


def floor_divide(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise NoValueError
        return fits(a // b)
    a, b = float(a), float(b)
    if b == 0.0:
        return divide(a, b)
    return math.nan if math.isinf(a) or math.isnan(a) else a // b


def remainder(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise NoValueError
        return a % b
    a, b = float(a), float(b)
    return math.nan if b == 0.0 or math.isinf(a) else a % b


def divide(a: Any, b: Any) -> float:
    a, b = float(a), float(b)
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return fits(operation(a, b))
        return operation(float(a), float(b))

    return compute


def extreme(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(*values: Any) -> Any:
        if any(isinstance(value, float) for value in values):
            values = tuple(float(value) for value in values)
        if any(value != value for value in values):
            return math.nan
        found = values[0]
        for value in values[1:]:
            found = pick(found, value)
        return found

    return compute


def to_int(value: Any) -> int:
    if isinstance(value, str):
        text = value.strip(" \t\n\v\f\r")
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdigit()):
            raise NoValueError
        return fits(int(text))
    if isinstance(value, float) and not math.isfinite(value):
        raise NoValueError
    return fits(int(value))


def to_float(value: Any) -> float:
    if isinstance(value, str):
        try:
            if "_" in value or not value.isascii():
                raise NoValueError
            return float(value)
        except ValueError:
            raise NoValueError from None
    return float(value)


def to_bool(value: Any) -> bool:
    if isinstance(value, str):
        if value not in ("true", "false"):
            raise NoValueError
        return value == "true"
    return value != 0


def to_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return repr(value) if isinstance(value, float) else str(value)


def compare(operator: str, exact: bool) -> Callable[[Any, Any], Any]:
    def compute(a: Any, b: Any) -> bool:
        if (
            not exact
            and isinstance(a, float) != isinstance(b, float)
            and not isinstance(a, (str, datetime, bool))
        ):
            a, b = float(a), float(b)
        return {
            "==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b,
        }[operator] if operator not in ("==", "!=") else (a == b) == (operator == "==")  # fmt: skip

    return compute


def conjunction(a: Callable[[Row], Any], b: Callable[[Row], Any]) -> Callable[[Row], Any]:
    def compute(row: Row) -> Any:
        left = a(row)
        if left is False:
            return False
        right = b(row)
        return False if right is False else None if left is None or right is None else True

    return compute


def disjunction(a: Callable[[Row], Any], b: Callable[[Row], Any]) -> Callable[[Row], Any]:
    def compute(row: Row) -> Any:
        left = a(row)
        if left is True:
            return True
        right = b(row)
        return True if right is True else None if left is None or right is None else False

    return compute


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)
