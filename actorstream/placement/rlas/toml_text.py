"""Machine models and profiles as TOML text that people read: a row of a matrix is a line, and a list of tables has a heading for
each, where tomli-w writes a number a line and tables within brackets."""

from __future__ import annotations

import re
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(table: dict[str, Any]) -> str:
    """A table as TOML that `tomllib` reads back: plain values first, then tables and arrays of tables."""
    return "\n".join(_lines(table, ())).strip() + "\n"


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"{_key(name)} = {_value(value)}" for name, value in table.items() if not _is_table(value)]
    for name, value in table.items():
        inner = (*path, name)
        head = ".".join(map(_key, inner))
        if isinstance(value, dict):
            lines += ["", f"[{head}]", *_lines(value, inner)]
        elif _is_table(value):
            for each in value:
                lines += ["", f"[[{head}]]", *_lines(each, inner)]
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(each if each >= " " else f"\\u{ord(each):04x}" for each in escaped) + '"'
    if isinstance(value, list):
        inner = [_value(each) for each in value]
        if value and isinstance(value[0], list):
            return "[\n" + "".join(f"  {each},\n" for each in inner) + "]"
        return "[" + ", ".join(inner) + "]"
    return repr(value)
