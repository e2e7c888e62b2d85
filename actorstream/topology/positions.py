"""Where each key of a TOML text stands: path -> line, and what is written twice. Never parses values.

`tomllib` stays the parser of record: it gives no lines, so this scan walks the same text beside it. On a text
that tomllib refuses the scan stops where it loses its way and keeps what it has found.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from typing import NamedTuple

import msgspec

Path = tuple[str | int, ...]
"""Keys and array indices from the root of a document: ``("actors", "count", "inputs", 0, "key")``."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]+")
_BASIC = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LITERAL = re.compile(r"'([^'\n]*)'")
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''.*?'''(?:'{0,2})", re.DOTALL)
_ESCAPE = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(["\\bfnrte]))')
DEEPEST = 100
"""Arrays and tables within each other, and the parts of a dotted key: `tomllib` reads them by calls within each other."""
_ESCAPED = {'"': '"', "\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "e": "\x1b"}


class Repeat(NamedTuple):
    """A table or key that was defined before; without `start`:`end` tomllib reads the rest."""

    path: Path
    first_line: int
    line: int
    start: int
    end: int


class Positions(msgspec.Struct):
    """Lines (1-based) of every key, table and array element of a text, and the repeated definitions in it."""

    lines: dict[Path, int] = {}
    repeats: list[Repeat] = []
    too_deep: int = 0
    """The line where values lie in more than DEEPEST others, and the scan stopped; 0: none do."""

    def line(self, path: Path) -> int:
        """The line of `path`, else of its nearest ancestor that was written; 0: none was."""
        for length in range(len(path), 0, -1):
            found = self.lines.get(path[:length])
            if found is not None:
                return found
        return 0


def find_positions(text: str) -> Positions:
    """Scans a whole TOML document. Cost: linear in its length."""
    scan = _Scan(text)
    try:
        scan.document()
    except _LostError:
        pass
    scan.close_repeat(len(text))
    return scan.found


def without_repeats(text: str, repeats: list[Repeat]) -> str:
    """The text with repeated definitions blanked out; all lines keep their numbers."""
    for repeat in repeats:
        blank = re.sub(r"[^\n]", " ", text[repeat.start : repeat.end])
        text = text[: repeat.start] + blank + text[repeat.end :]
    return text


class _LostError(Exception):
    """The text is not TOML here; tomllib says what is wrong."""


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        self.found = Positions()
        self.explicit: set[Path] = set()
        self.arrays: dict[Path, int] = {}
        self.table: Path = ()
        self.repeated: tuple[Path, int, int] | None = None  # path, first line, start of a repeated table

    def document(self) -> None:
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return
            if self.text[self.at] == "[":
                self.header()
            else:
                self.statement()

    def header(self) -> None:
        start, line = self.at, self.line()
        self.close_repeat(start)
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        keys = self.keys()
        self.expect("]]" if array else "]")
        path = (*self.resolve(keys[:-1]), keys[-1])
        if array:
            number = self.arrays.get(path, 0)
            self.arrays[path] = number + 1
            self.note(path, line, explicit=number == 0)
            self.table = (*path, number)
            self.note(self.table, line)
        elif path in self.explicit:
            self.repeated = (path, self.found.lines[path], start)
            self.table = ("", *path)
        else:
            self.table = path
            self.note(path, line)

    def statement(self) -> None:
        start, line = self.at, self.line()
        path = self.table + tuple(self.keys())
        self.expect("=")
        first = self.found.lines.get(path, 0) if path in self.explicit else 0
        if first and self.repeated is None:
            self.value(("", *path))
            self.found.repeats.append(Repeat(path, first, line, start, self.at))
        else:
            self.note(path, line)
            self.value(path)

    def value(self, path: Path) -> None:
        if len(path) > DEEPEST:
            self.found.too_deep = self.line()
            raise _LostError
        self.skip(_SPACE)
        text, at = self.text, self.at
        opening = text[at : at + 1]
        if text.startswith('"""', at):
            self.match(_LONG_BASIC)
        elif text.startswith("'''", at):
            self.match(_LONG_LITERAL)
        elif opening == '"':
            self.match(_BASIC)
        elif opening == "'":
            self.match(_LITERAL)
        elif opening == "[":
            self.array(path)
        elif opening == "{":
            self.inline_table(path)
        else:
            self.match(_SCALAR)

    def array(self, path: Path) -> None:
        self.at += 1
        number = 0
        while True:
            self.skip(_BLANK)
            if self.take("]"):
                return
            element = (*path, number)
            self.note(element, self.line())
            self.value(element)
            number += 1
            self.skip(_BLANK)
            if not self.take(","):
                self.expect("]")
                return

    def inline_table(self, path: Path) -> None:
        self.at += 1
        while True:
            self.skip(_BLANK)
            if self.take("}"):
                return
            line = self.line()
            inner = path + tuple(self.keys())
            self.expect("=")
            self.note(inner, line)
            self.value(inner)
            self.skip(_BLANK)
            if not self.take(","):
                self.expect("}")
                return

    # -- pieces

    def keys(self) -> list[str]:
        """A key, dotted or not."""
        keys = [self.key()]
        while self.take("."):
            keys.append(self.key())
            if len(keys) > DEEPEST:
                self.found.too_deep = self.line()
                raise _LostError
        return keys

    def key(self) -> str:
        self.skip(_SPACE)
        opening = self.text[self.at : self.at + 1]
        if opening == '"':
            key = _ESCAPE.sub(_unescape, self.match(_BASIC).group(1))
        elif opening == "'":
            key = self.match(_LITERAL).group(1)
        else:
            key = self.match(_BARE).group()
        self.skip(_SPACE)
        return key

    def resolve(self, keys: list[str]) -> Path:
        """The path of a header's keys: a key that names an array of tables means its last element."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self.arrays:
                path = (*path, self.arrays[path] - 1)
        return path

    def note(self, path: Path, line: int, *, explicit: bool = True) -> None:
        """Records where `path` was written; a table that longer paths implied moves to its own header."""
        if path and path[0] == "" and self.repeated is not None:
            return
        for length in range(1, len(path)):
            self.found.lines.setdefault(path[:length], line)
        if explicit and path not in self.explicit:
            self.explicit.add(path)
            self.found.lines[path] = line

    def close_repeat(self, end: int) -> None:
        if self.repeated is not None:
            path, first, start = self.repeated
            self.found.repeats.append(Repeat(path, first, self.line(start), start, end))
            self.repeated = None

    def line(self, at: int | None = None) -> int:
        return bisect_right(self.newlines, (self.at if at is None else at) - 1) + 1

    def skip(self, blank: re.Pattern[str]) -> None:
        found = blank.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _LostError
        self.at = found.end()
        return found

    def take(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise _LostError


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2)
    if code and int(code, 16) > sys.maxunicode:
        raise _LostError
    return chr(int(code, 16)) if code else _ESCAPED[match.group(3)]
