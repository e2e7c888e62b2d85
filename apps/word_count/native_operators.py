"""Word count, one call into C a batch: the app's own kernel over whole columns. The C is kernel.c."""

from __future__ import annotations

from typing import Any, ClassVar

from actorstream import Actor, Batch, Contract
from apps.word_count import kernel
from apps.word_count.events import Word, WordCount


class SplitNative(Actor):
    """Lines to words."""

    outputs: ClassVar = {"default": Word}
    contract = Contract(stateless=True)

    def on_batch(self, batch: Batch) -> Batch:
        words, lines = kernel.split_lines(batch["line"])
        return Batch.of({"word": words}, event=Word, origin=lines)


class CountNative(Actor):
    """Counts each word. `running`: a (word, count so far) for every word that comes in; `final`: one a
    word, at the end."""

    outputs: ClassVar = {"running": WordCount, "final": WordCount}

    def __init__(self) -> None:
        self.table = kernel.Table()

    def on_batch(self, batch: Batch) -> None:
        running = self.table.count(batch["word"])
        self.emit(batch.with_columns(count=running, event=WordCount), to="running")

    def on_end(self) -> None:
        words, counts = self.table.read()
        self.emit(Batch.of({"word": words, "count": counts}, event=WordCount), to="final")

    def snapshot(self) -> dict[str, int]:
        words, counts = self.table.read()
        return dict(zip(words.to_pylist(), counts.tolist()))

    def restore(self, snapshot: Any) -> None:
        self.table = kernel.Table()
        for word, count in snapshot.items():
            self.table.add(word, count)
