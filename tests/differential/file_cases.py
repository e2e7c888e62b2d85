"""Rows of every type of field, and readers and writers of files that share nothing with ours: Python's csv and json, and
pyarrow's Parquet. What each format says is in docs/connectors.md."""

from __future__ import annotations

import base64
import bz2
import csv
import gzip
import io
import json
import math
import random
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as parquet

from actorstream import Event, Float32, Int8, UInt64


class Mood(Enum):
    GOOD = "good, really"
    BAD = 'b"ad'


class Line(Event):
    """A row of a file. Names are such that a header has to quote them, or a reader of JSON to find them."""

    row: int
    text: str
    note: str | None
    number: int | None
    small: Int8
    large: UInt64 | None
    x: float
    y: float | None
    single: Float32
    ok: bool
    maybe: bool | None
    at: datetime
    seen: datetime | None
    raw: bytes
    kind: Literal["view", "a,b", 'q"u']
    mood: Mood | None
    tags: list[int]


NAMES = Line.__struct_fields__
NULLABLE = ("note", "number", "large", "y", "maybe", "seen", "mood")
Rows = list[Line]
STRANGE = [
    '"',
    '""',
    ",",
    "\n",
    "\r\n",
    "\r",
    "\ufeff",
    "\u2028",
    "\x0c",
    "é",
    "日本",
    "\U0001f600",
    "a",
    " ",
    "\t",
    "'",
    "\\",
    "null",
    ";",
]


def drawn_rows(dice: random.Random, most: int = 30) -> Rows:
    large = dice.random() < 0.08  # texts so long that a file has several blocks
    return [_drawn_row(dice, row, large) for row in range(300 if large else dice.choice([0, 1, 2, most]))]


def _drawn_row(dice: random.Random, row: int, large: bool) -> Line:
    def text() -> str:
        own = "".join(dice.choices(STRANGE, k=dice.choice([0, 1, 1, 2, 4])))
        return own + dice.choice("xé\n") * dice.randint(0, 8000) if large else own

    def time() -> datetime:
        at = datetime.fromtimestamp(dice.randint(-(10**10), 10**11), UTC)
        rare = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
        return dice.choice(
            [at, at, at.replace(microsecond=dice.randint(0, 999_999)), at.replace(microsecond=120_000), *rare]
        )

    def floating() -> float:
        rare = [
            math.nan,
            math.inf,
            -math.inf,
            -0.0,
            5e-324,
            1.7976931348623157e308,
            1e16,
            1e22,
            0.1,
            123456789.0,
        ]
        return dice.choice([*rare, dice.gauss(0, 1), dice.uniform(-1, 1) * 10 ** dice.randint(-20, 20)])

    own: dict[str, Any] = {
        "row": row, "text": text(), "note": text(),
        "number": dice.choice([0, -1, 2**63 - 1, -(2**63), dice.randint(-(10**6), 10**6)]),
        "small": dice.randint(-128, 127), "large": dice.choice([0, 2**64 - 1, dice.randint(0, 2**64 - 1)]),
        "x": floating(), "y": floating(),
        "single": struct.unpack("f", struct.pack("f", dice.gauss(0, 1) * 10 ** dice.randint(-5, 5)))[0],
        "ok": dice.random() < 0.5, "maybe": dice.random() < 0.5, "at": time(), "seen": time(),
        "raw": text().encode(), "kind": dice.choice(["view", "a,b", 'q"u']), "mood": dice.choice(list(Mood)),
        "tags": [dice.randint(-9, 9) for _ in range(dice.randint(0, 3))],
    }  # fmt: skip
    for name in NULLABLE:
        if dice.random() < 0.25:
            own[name] = None
    return Line(**own)


def shown(event: Any) -> tuple[Any, ...]:
    """A row that can be compared: NaN equals itself, and -0.0 is not 0.0."""
    return tuple(
        ("float", repr(value)) if isinstance(value, float) else value
        for value in (getattr(event, name) for name in NAMES)
    )


# -- what others read of our files


def read_csv(path: Path, header: bool, delimiter: str) -> list[tuple[Any, ...]]:
    """Python's reader does not tell an empty text from null, so both are "" here."""
    with opened(path) as file:
        lines = list(csv.reader(io.StringIO(file.read().decode(), newline=""), delimiter=delimiter))
    if header:
        assert tuple(lines.pop(0)) == NAMES
    return [tuple(line) for line in lines]


def as_csv(event: Line) -> tuple[str, ...]:
    return tuple(_text(getattr(event, name), name) for name in NAMES)


def _text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _single(value) if name == "single" else repr(value)
    if isinstance(value, datetime):
        return _iso(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    return str(value.value if isinstance(value, Enum) else value)


def _iso(value: datetime) -> str:
    """With the year in four digits, which strftime does not promise, and 6 digits of a second or none."""
    text = value.replace(tzinfo=None).isoformat(timespec="microseconds" if value.microsecond else "seconds")
    return text + "Z"


def _single(value: float) -> str:
    """Compared as a number: how many digits a float32 is written with is its writer's."""
    return repr(struct.unpack("f", struct.pack("f", value))[0])


def csv_alike(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Floats by their value: with how many digits, and from where on with an exponent, is up to their writer."""
    own = list(found)
    for name in ("x", "y", "single"):
        at = NAMES.index(name)
        own[at] = own[at] and (_single if name == "single" else repr)(float(own[at]))
    return tuple(own)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    with opened(path) as file:
        return [json.loads(line) for line in file.read().decode().split("\n") if line]


def as_json(event: Line) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in NAMES:
        value = getattr(event, name)
        if isinstance(value, float) and not math.isfinite(value):
            value = repr(value)
        elif isinstance(value, datetime):
            value = _iso(value)
        elif isinstance(value, bytes):
            value = base64.b64encode(value).decode()
        elif isinstance(value, Enum):
            value = value.value
        found[name] = value
    return found


def json_alike(found: dict[str, Any]) -> list[Any]:
    return [
        (name, _single(value) if name == "single" and not isinstance(value, str) else repr(value))
        for name, value in found.items()
    ]


def read_parquet(path: Path) -> list[tuple[Any, ...]]:
    rows = parquet.read_table(path).to_pylist()
    times = [name for name in ("at", "seen") for row in rows[:1] if name in row]
    for row in rows:
        row |= {name: row[name] and row[name].astimezone(UTC) for name in times}
    return [tuple(repr(row[name]) for name in NAMES) for row in rows]


def as_parquet(event: Line) -> tuple[Any, ...]:
    found = []
    for name in NAMES:
        value = getattr(event, name)
        value = json.dumps(value, separators=(",", ":")) if name == "tags" else value
        found.append(repr(value.value if isinstance(value, Enum) else value))
    return tuple(found)


# -- files of others


def write_csv(dice: random.Random, path: Path, rows: Rows, bad: int, header: bool, delimiter: str) -> None:
    """Columns in any order and with others beside them where a header names them; quotes by one of three rules; and so
    many lines that do not parse."""
    names = [*NAMES]
    if header:
        names += ["further"] * (dice.random() < 0.3)
        dice.shuffle(names)
    end = dice.choice(["\n", "\r\n"])
    all_quoted = dice.random() < 0.3

    def field(event: Line, name: str) -> str:
        value = "x,y" if name == "further" else getattr(event, name)
        if value is None:
            return ""
        text = foreign_time(dice, value) if isinstance(value, datetime) else _text(value, name)
        needed = text == "" or any(each in text for each in ('"', delimiter, "\n", "\r"))
        if text.startswith("\ufeff") or needed or all_quoted or dice.random() < 0.1:
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [delimiter.join(field(event, name) for name in names) for event in rows]
    for _ in range(bad):
        own = {name: field(rows[0], name) for name in names}
        wrong = [
            ("small", "128"),
            ("row", ""),
            ("ok", "True"),
            ("kind", "click"),
            ("x", "1,5" if delimiter != "," else "1_5"),
        ]
        name, text = dice.choice([*wrong, ("at", "2024-02-30"), ("large", "-1"), ("tags", "[1")])
        fields = list((own | {name: text}).values())
        lines.insert(
            dice.randint(1, len(lines)),
            delimiter.join(dice.choice([fields, fields, fields[:-1], [*fields, "x"]])),
        )
    if header:
        lines.insert(0, delimiter.join(names))
    last = end if lines and dice.random() < 0.7 else ""
    write_bytes(path, (end.join(lines) + last).encode())


def foreign_time(dice: random.Random, value: datetime) -> str:
    """ISO 8601 in one of its spellings."""
    if value.year in (1, 9999):
        return _iso(value)
    zone = dice.choice([UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-5, minutes=-30))])
    text = value.astimezone(zone).isoformat(sep=dice.choice("T "))
    return (
        text
        if zone is not UTC
        else dice.choice([text, text.removesuffix("+00:00"), text.replace("+00:00", "Z")])
    )


def write_jsonl(dice: random.Random, path: Path, rows: Rows, bad: int) -> None:
    """Keys in any order, some fields left out that are null, escapes or none, blanks and empty lines; and so many lines
    that do not parse."""
    lines = []
    for event in rows:
        own = [
            (name, value)
            for name, value in as_json(event).items()
            if value is not None or dice.random() < 0.5
        ]
        dice.shuffle(own)
        if dice.random() < 0.2:
            own.append(("further", {"a": [1, None]}))
        separators = dice.choice([(",", ":"), (", ", ": "), (" , ", " :\t")])
        lines.append(json.dumps(dict(own), ensure_ascii=dice.random() < 0.5, separators=separators))
        if dice.random() < 0.05:
            lines.append(dice.choice(["", "  "]))
    for _ in range(bad):
        own_json = as_json(rows[0])
        wrong: list[dict[str, Any]] = [
            {"row": 1.5},
            {"small": 128},
            {"text": None},
            {"at": "yesterday"},
            {"ok": 1},
        ]
        text = json.dumps(
            own_json | dice.choice([*wrong, {"raw": "*"}, {"kind": "click"}, {"tags": [1.5]}, {"large": -1}])
        )
        broken = [text, text, text[:-1], "[1]", "7", text + "}", "null", text.replace(":", "=", 1)]
        lines.insert(dice.randint(0, len(lines)), dice.choice(broken))
    end = dice.choice(["\n", "\r\n"])
    write_bytes(path, (end.join(lines) + end * (dice.random() < 0.7 and len(lines) > 0)).encode())


def write_parquet(dice: random.Random, path: Path, rows: Rows) -> None:
    types: dict[str, pa.DataType] = {
        "row": pa.int64(), "text": dice.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]),
        "note": pa.string(), "number": pa.int64(), "small": dice.choice([pa.int8(), pa.int64()]), "large": pa.uint64(),
        "x": pa.float64(), "y": pa.float64(), "single": pa.float32(), "ok": pa.bool_(), "maybe": pa.bool_(),
        "at": dice.choice([pa.timestamp("us", "UTC"), pa.timestamp("us")]), "seen": pa.timestamp("us", "UTC"),
        "raw": pa.binary(), "kind": pa.string(), "mood": dice.choice([pa.string(), pa.dictionary(pa.int8(), pa.string())]),
        "tags": pa.list_(pa.int64()),
    }  # fmt: skip

    def plain(value: Any, naive: bool) -> Any:
        value = value.value if isinstance(value, Enum) else value
        return value.replace(tzinfo=None) if naive and isinstance(value, datetime) else value

    columns = {}
    for name in dice.sample(NAMES, len(NAMES)):
        naive = pa.types.is_timestamp(types[name]) and types[name].tz is None
        columns[name] = pa.array([plain(getattr(event, name), naive) for event in rows], types[name])
    size = dice.choice([1, 7, 1000])
    compression = dice.choice(["none", "snappy", "zstd", "gzip"])
    parquet.write_table(pa.table(columns), path, row_group_size=size, compression=compression)


OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


def opened(path: Path) -> Any:
    return OPENERS.get(path.suffix, open)(path, "rb")


def write_bytes(path: Path, data: bytes) -> None:
    with OPENERS.get(path.suffix, open)(path, "wb") as file:
        file.write(data)
