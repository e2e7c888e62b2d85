"""bytewax: running word count, one (word, count) a word, on one or two processes. Prints {"value": words a
second}.

`bytewax_word_count.py REPEATS PROCESSES` starts the processes; each process counts what its own sink
received.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax_processes import run_worker, run_workers
from word_lines import book_lines, words

LINES = 512


class Lines(StatelessSourcePartition[str]):
    """The book `repeats` times, LINES lines a batch."""

    def __init__(self, repeats: int) -> None:
        lines = book_lines()
        self.batches = [lines[at : at + LINES] for at in range(0, len(lines), LINES)]
        self.left = repeats * len(self.batches)

    def next_batch(self) -> Iterable[str]:
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.batches[self.left % len(self.batches)]


class Source(DynamicSource[str]):
    def __init__(self, repeats: int) -> None:
        self.repeats = repeats

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Lines:
        return Lines(self.repeats // worker_count)


class Count(StatelessSinkPartition[tuple[str, int]]):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self.begun = 0.0
        self.ended = 0.0

    def write_batch(self, items: list[tuple[str, int]]) -> None:
        self.ended = time.monotonic()
        if self.begun:
            self.rows += len(items)
        else:
            self.begun = self.ended

    def close(self) -> None:
        self.path.write_text(json.dumps([self.rows, self.begun, self.ended]))


class Sink(DynamicSink[tuple[str, int]]):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Count:
        return Count(self.folder / str(worker_index))


class Counter(StatefulBatchLogic[None, int, int]):
    """One word's running count. A logic of its own: `stateful_map` costs twice as much here."""

    def __init__(self, state: int | None) -> None:
        self.count = state or 0

    def on_batch(self, values: list[None]) -> tuple[Iterable[int], bool]:
        before = self.count
        self.count += len(values)
        return range(before + 1, self.count + 1), False

    def snapshot(self) -> int:
        return self.count


def keyed_words(lines: list[str]) -> list[tuple[str, None]]:
    return [(word, None) for line in lines for word in words(line)]


def dataflow(repeats: int, folder: Path) -> Dataflow:
    flow = Dataflow("word-count")
    lines = op.input("lines", flow, Source(repeats))
    split = op.flat_map_batch("split", lines, keyed_words)
    op.output("counts", op.stateful_batch("count", split, Counter), Sink(folder))
    return flow


def main(repeats: int, processes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_workers(__file__, processes, str(repeats), folder)
        found = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
    seconds = max(ended for _, _, ended in found) - min(begun for _, begun, _ in found if begun)
    print(json.dumps({"value": sum(rows for rows, _, _ in found) / seconds}))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(int(sys.argv[1]), int(sys.argv[2]))
    else:
        run_worker(dataflow(int(sys.argv[1]), Path(sys.argv[2])), *sys.argv[3:])
