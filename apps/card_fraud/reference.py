"""Card fraud, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.card_fraud.reference TRANSACTIONS MODEL

prints the result file of topology.toml, in input order.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

Row = tuple[str, str, float, int]
COLUMNS = ("customer", "transaction", "score", "outlier")


def read(path: Path) -> Iterator[list[str]]:
    """The rows of a csv file without a header; .gz is decompressed."""
    data = path.read_bytes()
    yield from csv.reader(io.StringIO((gzip.decompress(data) if path.suffix == ".gz" else data).decode()))


def read_model(path: Path) -> tuple[dict[str, int], list[list[float]]]:
    """Name -> number of the states; the probability of each step."""
    names, *rows = csv.reader(io.StringIO(path.read_text()))
    return {name: code for code, name in enumerate(names)}, [[float(each) for each in row] for row in rows]


def scores(transactions: Iterable[list[str]], model: Path) -> Iterator[Row]:
    """The score of each transaction (customer, transaction, state), and 1 if it is above 0.96."""
    codes, steps = read_model(model)
    last: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=5))
    for customer, transaction, state in transactions:
        window = last[customer]
        window.append(codes[state])
        score = 0.0
        if len(window) == 5:
            for before, after in zip(list(window), list(window)[1:]):
                missed = 0.0  # not by `sum`, which adds floats more exactly from Python 3.12 on
                for to, value in enumerate(steps[before]):
                    if to != after:
                        missed += value
                score += missed
            score /= 4
        yield customer, transaction, score, int(score > 0.96)


def main(arguments: list[str]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(scores(read(Path(arguments[0])), Path(arguments[1])))


if __name__ == "__main__":
    main(sys.argv[1:])
