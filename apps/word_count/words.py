"""What a word is: a maximal run of ASCII letters, lower-cased. Every variant of the app agrees with this."""

from __future__ import annotations

import re

RUN = re.compile(r"[a-z]+")
LOWER = {ord(letter): ord(letter.lower()) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def words(line: str) -> list[str]:
    """The words of a line, in order.

    `str.lower` would make an ASCII letter of the Kelvin sign, so it is used on pure ASCII only."""
    return RUN.findall(line.lower() if line.isascii() else line.translate(LOWER))
