"""The events of word count."""

from __future__ import annotations

from actorstream import Event


class Line(Event):
    """A line of text, without its line end."""

    line: str


class Word(Event):
    """A maximal run of ASCII letters, lower-cased."""

    word: str


class WordCount(Event):
    """How often `word` has occurred: so far (`count.running`) or in the whole input (`count.final`)."""

    word: str
    count: int
