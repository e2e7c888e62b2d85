"""Values as TOML text, which the standard library only reads. One line each; headings and files are not written here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from pathlib import PurePath
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    """A value that `tomllib` reads back, tables inline; paths and durations as `plain` gives them. TypeError: TOML has
    none for it."""
    value = plain(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(name)} = {toml_value(each)}" for name, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    raise TypeError(f"TOML has no value for {value!r}")


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else toml_value(name)


def plain(value: Any) -> Any:
    """A path or a duration as the text that a topology has for it; any other value as it is."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    return value
