"""Word count, one Python call an event: what the topology's `split` and `count` do."""

from __future__ import annotations

from typing import Any, ClassVar

from actorstream import Actor, Contract
from apps.word_count.events import Line, Word, WordCount
from apps.word_count.words import words


class Split(Actor):
    """Lines to words."""

    outputs: ClassVar = {"default": Word}
    contract = Contract(stateless=True)

    def on_event(self, event: Line) -> list[Word]:
        return list(map(Word, words(event.line)))


class Count(Actor):
    """Counts each word. `running`: a (word, count so far) for every word that comes in; `final`: one a
    word, at the end."""

    outputs: ClassVar = {"running": WordCount, "final": WordCount}

    def __init__(self) -> None:
        self.state: dict[str, int] = {}

    def on_event(self, event: Word) -> None:
        word = event.word
        count = self.state.get(word, 0) + 1
        self.state[word] = count
        self.emit(WordCount(word, count), to="running")

    def on_end(self) -> None:
        for word, count in self.state.items():
            self.emit(WordCount(word, count), to="final")

    def restore(self, snapshot: Any) -> None:
        self.state = dict(snapshot)
