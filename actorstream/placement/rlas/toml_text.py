"""Machine models and profiles as TOML text that people read: a row of a matrix is a line, and a list of tables has a heading for
each, where tomli-w writes a number a line and tables within brackets."""

from __future__ import annotations

from typing import Any

from actorstream.topology.toml_value import toml_key, toml_value


def toml_text(table: dict[str, Any]) -> str:
    """A table as TOML that `tomllib` reads back: plain values first, then tables and arrays of tables."""
    return "\n".join(_lines(table, ())).strip() + "\n"


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"{toml_key(name)} = {_value(value)}" for name, value in table.items() if not _is_table(value)]
    for name, value in table.items():
        inner = (*path, name)
        head = ".".join(map(toml_key, inner))
        if isinstance(value, dict):
            lines += ["", f"[{head}]", *_lines(value, inner)]
        elif _is_table(value):
            for each in value:
                lines += ["", f"[[{head}]]", *_lines(each, inner)]
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + "".join(f"  {toml_value(each)},\n" for each in value) + "]"
    return toml_value(value)
