"""bytewax: running word count, one (word, count) a word, on one or two processes. Prints {"value": words a
second}.

`bytewax_word_count.py REPEATS PROCESSES` starts the processes; each process counts what its own sink
received.
"""

from __future__ import annotations

import json
import socket
import subprocess
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
from bytewax.run import cli_main
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


def worker(repeats: int, folder: Path, index: int, addresses: list[str]) -> None:
    flow = Dataflow("word-count")
    lines = op.input("lines", flow, Source(repeats))
    split = op.flat_map_batch("split", lines, keyed_words)
    op.output("counts", op.stateful_batch("count", split, Counter), Sink(folder))
    if len(addresses) == 1:
        cli_main(flow)
    else:
        cli_main(flow, process_id=index, addresses=addresses)


def free_addresses(number: int) -> list[str]:
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found


def main(repeats: int, processes: int) -> None:
    addresses = free_addresses(processes)
    with tempfile.TemporaryDirectory() as folder:
        started = [
            subprocess.Popen(
                [sys.executable, __file__, str(repeats), folder, str(index), ",".join(addresses)]
            )
            for index in range(processes)
        ]
        codes = [each.wait() for each in started]
        if any(codes):
            raise SystemExit("a worker failed")
        found = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
    seconds = max(ended for _, _, ended in found) - min(begun for _, begun, _ in found if begun)
    print(json.dumps({"value": sum(rows for rows, _, _ in found) / seconds}))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(int(sys.argv[1]), int(sys.argv[2]))
    else:
        worker(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(","))
