"""Word count through the real command line: every deployment gives what a shell pipeline and the reference give."""

from __future__ import annotations

import csv
import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.word_count import reference
from tests.apps.launched import command, installed
from tests.covering import covering

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "word_count"
BOOK = APP / "data" / "book.txt"


def launch(
    topology: str, out: Path, *options: str, path: Path | None = None, by: Callable[..., str] = command
) -> list[tuple[str, int]]:
    """Runs a topology of the app and reads the file that it writes."""
    lines = () if path is None else ("--set", f"actors.lines.path={path}")
    by("launch", APP / topology, "--set", f"actors.counts.path={out}", *lines, *options)
    return rows(out)


def rows(path: Path) -> list[tuple[str, int]]:
    with path.open(newline="") as file:
        header, *found = csv.reader(file)
    assert header == ["word", "count"]
    return [(word, int(count)) for word, count in found]


def by_shell(path: Path) -> dict[str, int]:
    """The counts of a pipeline that shares nothing with this project."""
    pipeline = "LC_ALL=C tr -cs 'A-Za-z' '\\n' < \"$BOOK\" | LC_ALL=C tr 'A-Z' 'a-z' | grep . | LC_ALL=C sort | uniq -c"
    done = subprocess.run(
        ["sh", "-c", pipeline],
        env={**os.environ, "BOOK": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = (line.split() for line in done.stdout.splitlines())
    return {word: int(count) for count, word in pairs}


@pytest.fixture(scope="module")
def expected() -> dict[str, int]:
    return by_shell(BOOK)


@pytest.fixture(scope="module")
def few_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 150 lines of the book, 6,300 words, for the deployments that send every word alone, or a few."""
    path = tmp_path_factory.mktemp("book") / "few.txt"
    path.write_text("".join(BOOK.open(encoding="utf-8").readlines()[:150]), encoding="utf-8")
    return path


def test_the_reference_agrees_with_a_shell_pipeline(expected: dict[str, int]) -> None:
    assert reference.final_counts(BOOK) == expected
    assert sum(expected.values()) == 82939


@covering({"workers": [1, 2, 4], "transport": ["local", "shm"], "batch_size": [1, 7, 4096]})
def test_counts_are_the_same_under_every_deployment(
    workers: int, transport: str, batch_size: int, tmp_path: Path, expected: dict[str, int], few_lines: Path
) -> None:
    """A few words at a time the whole book would take seconds; its first lines show the same."""
    path, counts = (BOOK, expected) if batch_size == 4096 else (few_lines, by_shell(few_lines))
    options = (
        "--workers",
        str(workers),
        "--transport",
        transport,
        "--set",
        f"deploy.batch_size={batch_size}",
    )
    found = launch("topology.toml", tmp_path / "counts.csv", *options, path=path)
    assert len(found) == len(counts)
    assert dict(found) == counts


@pytest.mark.parametrize("topology", ["batch.toml", "native.toml"])
@pytest.mark.parametrize(("workers", "batch_size"), [(1, 4096), (2, 64), (4, 4096)])
def test_faster_operators_count_the_same(
    topology: str, workers: int, batch_size: int, tmp_path: Path, expected: dict[str, int]
) -> None:
    options = ("--workers", str(workers), "--transport", "shm", "--set", f"deploy.batch_size={batch_size}")
    found = launch(topology, tmp_path / "counts.csv", *options)
    assert len(found) == len(expected)
    assert dict(found) == expected


@pytest.mark.parametrize(
    ("workers", "transport", "batch_size"), [(1, "local", 4096), (2, "shm", 4096), (4, "shm", 7)]
)
def test_running_counts_come_in_the_order_of_the_book(
    workers: int, transport: str, batch_size: int, tmp_path: Path, few_lines: Path
) -> None:
    options = (
        "--workers",
        str(workers),
        "--transport",
        transport,
        "--set",
        f"deploy.batch_size={batch_size}",
    )
    found = launch("running.toml", tmp_path / "running.csv", *options, path=few_lines)
    assert found == list(reference.running_counts(few_lines))


def test_a_compressed_input_is_read_as_it_is(tmp_path: Path, few_lines: Path) -> None:
    with few_lines.open("rb") as plain, gzip.open(tmp_path / "few.txt.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    found = launch("topology.toml", tmp_path / "counts.csv", path=tmp_path / "few.txt.gz", by=installed)
    assert dict(found) == by_shell(few_lines)


def test_an_empty_input_gives_a_header_and_no_rows(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    assert launch("topology.toml", tmp_path / "counts.csv", path=tmp_path / "empty.txt") == []


def test_the_benchmark_counts_the_lines_that_its_source_makes(tmp_path: Path) -> None:
    """Lines of the book, of each shard from another place on."""
    sets = ("actors.lines.count=600", "actors.counts.type=csv-sink", "actors.counts.replicas=1")
    options = [word for each in sets for word in ("--set", each)]
    found = launch(
        "bench.toml", tmp_path / "counts.csv", *options, "--set", "actors.counts.inputs.0=count.final"
    )
    book = list(reference.read_lines(BOOK))
    (tmp_path / "lines.txt").write_text("\n".join([*book[:300], *book[982:1282]]) + "\n")
    assert dict(found) == reference.final_counts(tmp_path / "lines.txt")
