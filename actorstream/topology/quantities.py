"""Durations ("50ms", "1h30m") and sizes in bytes ("4MiB") as topologies and deployments have them. Pure."""

from __future__ import annotations

import math
import re
from datetime import timedelta

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_BYTES = {"": 1, "b": 1} | {
    prefix + unit: base**power
    for power, prefix in enumerate("kmgt", 1)
    for unit, base in (("b", 1000), ("ib", 1024))
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|min|s|m|h|d)\s*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")

DURATION_ALLOWED = (
    'a duration such as "10s", "50ms" or "1h30m" (units d, h, m, s, ms, us), in whole microseconds'
)
SIZE_ALLOWED = 'bytes, as a number or as text such as "64KiB", "4MiB", "1GB"'


def parse_duration(text: str) -> timedelta:
    """ "10s", "50ms", "1h30m", "0s" as a timedelta; ValueError if it is none, or has a part of a microsecond."""
    nanoseconds = parse_nanoseconds(text)
    if nanoseconds % 1000:
        raise ValueError(f"{text!r} is not {DURATION_ALLOWED}")
    try:
        return timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        raise ValueError(f"{text!r} is too long for {DURATION_ALLOWED}") from None


def parse_nanoseconds(text: str) -> int:
    """ "10s", "50ms", "1h30m", "400ns" in nanoseconds; ValueError if it is no duration, or has a part of a nanosecond."""
    total, at = 0, 0
    stripped = text.strip()
    while at < len(stripped):
        found = _DURATION.match(stripped, at)
        if found is None:
            break
        whole, _, decimals = found.group(1).partition(".")
        part, rest = divmod(int(whole + decimals) * _NANOSECONDS[found.group(2)], 10 ** len(decimals))
        if rest:
            break
        total += part
        at = found.end()
    if not stripped or at < len(stripped):
        raise ValueError(f"{text!r} is not {DURATION_ALLOWED}")
    return total


def parse_size(value: int | str) -> int:
    """Bytes: 4096, "4096", "64KiB" (1024), "1MB" (1000); ValueError if it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found.group(2).lower() not in _BYTES:
        raise ValueError(f"{value!r} is not {SIZE_ALLOWED}")
    size = float(found.group(1)) * _BYTES[found.group(2).lower()]
    if size == math.inf:
        raise ValueError(f"{value!r} is too much for {SIZE_ALLOWED}")
    return round(size)


def format_size(size: int) -> str:
    """A size as people read it: 4194304 -> "4 MiB"."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} B"
