"""NEXMark's queries through the real command line: every deployment gives what the sequential reference gives."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from apps.nexmark.generate import write
from apps.nexmark.reference import COLUMNS, QUERIES, Data
from tests.apps.launched import command

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "nexmark"
DEPLOYMENTS = [
    pytest.param(1, "local", 4096, marks=pytest.mark.slow),
    (2, "shm", 64),
    pytest.param(4, "shm", 1000, marks=pytest.mark.slow),
]
SOURCES = dict.fromkeys(QUERIES, ("bid",)) | {
    "q3": ("person", "auction"),
    "q4": ("auction", "bid"),
    "q8": ("person", "auction"),
    "q9": ("auction", "bid"),
}


def ran(query: str, out: Path, *options: str) -> list[tuple[str, ...]]:
    path = out / f"{query}.csv"
    command("launch", APP / f"{query}.toml", "--set", f"actors.result.path={path}", *options)
    with path.open(newline="") as file:
        header, *found = csv.reader(file)
    assert tuple(header) == COLUMNS[query]
    return sorted(map(tuple, found))


def expected(query: str, folder: Path) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in QUERIES[query](Data.read(folder)))


@pytest.mark.parametrize(("workers", "transport", "batch_size"), DEPLOYMENTS)
@pytest.mark.parametrize("query", list(QUERIES))
def test_a_query_gives_the_same_under_every_deployment(
    query: str, workers: int, transport: str, batch_size: int, tmp_path: Path
) -> None:
    options = (
        "--workers",
        str(workers),
        "--transport",
        transport,
        "--set",
        f"deploy.batch_size={batch_size}",
    )
    found = ran(query, tmp_path, *options)
    assert found == expected(query, APP / "data")
    assert found


@pytest.mark.parametrize("query", ["q4", "q5", "q8", "q9"])
def test_a_query_runs_on_other_data(query: str, tmp_path: Path) -> None:
    write(tmp_path, 3000, 50.0, 7)
    options = [
        word
        for name in SOURCES[query]
        for word in ("--set", f"actors.{name}.path={tmp_path / f'{name}.jsonl.gz'}")
    ]
    assert ran(query, tmp_path, *options) == expected(query, tmp_path)


def test_a_person_that_registers_twice_in_a_window_is_one_new_user(tmp_path: Path) -> None:
    rows = gzip.decompress((APP / "data" / "person.jsonl.gz").read_bytes()).splitlines(keepends=True)
    path = tmp_path / "person.jsonl"
    path.write_bytes(b"".join(row for each in rows for row in (each, each)))
    found = ran("q8", tmp_path, "--workers", "2", "--set", f"actors.person.path={path}")
    assert found == expected("q8", APP / "data")
