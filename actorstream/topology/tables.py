"""TOML files as plain tables with the place of every key. Reads the file and decides nothing."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from actorstream.errors import Problem
from actorstream.topology.positions import DEEPEST, find_positions, without_repeats
from actorstream.topology.suggestions import did_you_mean
from actorstream.topology.written import Written, dotted

_LONG_NUMBER = re.compile(r"\d[\d_]{4000,}")
_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$| \(at end of document\)$")


def read_table(file: Path, noun: str, problems: list[Problem]) -> tuple[dict[str, Any] | None, Written]:
    """A TOML file as tables, and where its keys stand. None if it cannot be read or is not TOML."""
    real = Path(os.path.realpath(file))  # Path.resolve raises on links in a circle
    written = Written(str(file), real.parent)
    data = b""
    try:
        data = file.read_bytes()
        text = data.decode("utf-8")
    except FileNotFoundError:
        folder = file.parent if file.parent.is_dir() else Path()
        near = did_you_mean(file.name, [each.name for each in folder.glob("*.toml")])
        problems.append(Problem(str(file), "does not exist", f"the path of {noun} (.toml)", near))
        return None, written
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        problems.append(
            Problem(
                f"encoding, byte {column}",
                f"0x{data[error.start]:02x} is not UTF-8",
                "a TOML file in UTF-8",
                "",
                str(file),
                line,
            )
        )
        return None, written
    except OSError as error:
        hint = ""
        if os.path.isfile(file / "topology.toml"):  # noqa: PTH113 - False where it may not be looked at
            hint = f"did you mean {str(file / 'topology.toml')!r}?"
        problems.append(
            Problem(str(file), f"cannot be read: {error.strerror}", f"the path of {noun} (.toml)", hint)
        )
        return None, written
    return parse_table(text, written, problems), written


def parse_table(text: str, written: Written, problems: list[Problem]) -> dict[str, Any] | None:
    """TOML text as tables; what is defined twice is a problem each, and the rest is still read."""
    written.positions = find_positions(text)
    for repeat in written.positions.repeats:
        what = f"actor {repeat.path[1]!r}" if repeat.path[0] == "actors" and len(repeat.path) == 2 else "this"
        message = f"{what} is defined twice, first in line {repeat.first_line}"
        hint = "rename or remove one of them"
        problems.append(
            Problem(dotted(repeat.path), message, "one definition", hint, written.file, repeat.line)
        )
    if written.positions.too_deep:
        problems.append(_too_deep(written.file, written.positions.too_deep))
        return None
    try:
        return tomllib.loads(without_repeats(text, written.positions.repeats))
    except RecursionError:  # where the scan had lost its way before
        problems.append(_too_deep(written.file, max(written.positions.lines.values(), default=1)))
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found.group(1)) if found and found.group(1) else len(text.rstrip().split("\n"))
        column = f", column {found.group(2)}" if found and found.group(2) else ""
        message = _AT_LINE.sub("", str(error))
        message = message[:1].lower() + message[1:]
        problems.append(Problem(f"syntax{column}", message, "TOML (https://toml.io)", "", written.file, line))
    except ValueError:  # an integer of more digits than Python reads
        number = _LONG_NUMBER.search(text)
        line = text.count("\n", 0, number.start()) + 1 if number else 1
        problems.append(Problem("syntax", "a number has too many digits", "64 bits", "", written.file, line))
    return None


def _too_deep(file: str, line: int) -> Problem:
    message = "arrays and tables lie too deep within each other"
    return Problem("syntax", message, f"{DEEPEST} levels", "", file, line)
