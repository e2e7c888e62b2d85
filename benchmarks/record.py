"""Record: one measured case, as it is written to JSON. No measuring here."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Record(msgspec.Struct, frozen=True):
    """The median of a case's runs.

    `unit` is per second ("words/s", "MB/s", ...) where more is better, "µs" where less is, or "times" (the median of the
    rounds' ratios of two cases). `ratio` is `value` divided by the value of case `against` of the same suite; both None
    where the case is compared with nothing.
    """

    suite: str
    case: str
    value: float
    unit: str
    runs: int
    min: float
    max: float
    against: str | None = None
    ratio: float | None = None


def write_records(path: Path, records: list[Record]) -> None:
    """Writes a JSON list with one object a record, one a line, and nothing else."""
    lines = ",\n".join(msgspec.json.encode(record).decode() for record in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[\n{lines}\n]\n" if records else "[]\n")


def read_records(path: Path) -> list[Record]:
    return msgspec.json.decode(path.read_bytes(), type=list[Record])
