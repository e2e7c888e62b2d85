"""The lines that every word-count peer reads: the book of apps/word_count, from memory. Standard library
only."""

from __future__ import annotations

import re
from pathlib import Path

BOOK = Path(__file__).parents[2] / "apps" / "word_count" / "data" / "book.txt"
WORD = re.compile(r"[a-z]+")


def book_lines() -> list[str]:
    return BOOK.read_text(encoding="utf-8").splitlines()


def words(line: str) -> list[str]:
    """Maximal runs of ASCII letters, lower-cased."""
    return WORD.findall(ascii_lower(line))


def ascii_lower(line: str) -> str:
    return line.lower() if line.isascii() else line.translate(LOWER)


LOWER = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
