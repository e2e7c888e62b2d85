"""Tables as TOML text, which the standard library only reads."""

from __future__ import annotations

import json
import math
from typing import Any


def dumped(table: dict[str, Any]) -> str:
    """A table as TOML: plain keys first, then tables."""
    return "\n".join(_lines(table, ()))


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"[{'.'.join(map(_key, path))}]"] if path else []
    below: list[str] = []
    for key, value in table.items():
        if isinstance(value, dict) and len(path) < 2:
            below += ["", *_lines(value, (*path, key))]
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    return lines + below


def _key(key: str) -> str:
    return key if key and key.isascii() and key.replace("_", "").replace("-", "").isalnum() else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    return str(value)
