"""csv, JSON Lines and Parquet: what our sinks write, others read; what others write, our sources read; and what ours
write, ours read back, whatever the deployment."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from actorstream import Topology
from tests.differential import file_cases as files
from tests.differential.cases import SUBJECTS, deployment, difference
from tests.differential.file_cases import Line, Rows

CASES = SUBJECTS["files"].cases
SHOWN = 1000
"""So many characters of a difference are shown, as texts may be long."""
FORMATS = ["csv", "jsonl", "parquet"]


class Case:
    """A format and its keys."""

    def __init__(self, dice: random.Random, folder: Path, number: int) -> None:
        self.dice, self.format = dice, dice.choice(FORMATS)
        self.folder, self.number = folder, number
        self.keys: dict[str, Any] = {}
        if self.format == "csv":
            self.keys = {"header": dice.random() < 0.7, "delimiter": dice.choice([",", ",", ";", "\t"])}
        packed = [".gz", ".bz2"] if self.format != "parquet" and dice.random() < 0.2 else [""]
        self.end = f".{self.format}{dice.choice(packed)}"

    def path(self, name: str) -> Path:
        return self.folder / f"{self.number}-{name}{self.end}"

    def others_read(self, rows: Rows, path: Path) -> tuple[list[Any], list[Any]]:
        if self.format == "csv":
            found = files.read_csv(path, self.keys["header"], self.keys["delimiter"])
            return [*map(files.csv_alike, found)], [files.csv_alike(files.as_csv(row)) for row in rows]
        if self.format == "jsonl":
            found_json = files.read_jsonl(path)
            return [*map(files.json_alike, found_json)], [
                files.json_alike(files.as_json(row)) for row in rows
            ]
        return files.read_parquet(path), [files.as_parquet(row) for row in rows]

    def others_write(self, rows: Rows, bad: int, path: Path) -> None:
        if self.format == "csv":
            files.write_csv(self.dice, path, rows, bad, self.keys["header"], self.keys["delimiter"])
        elif self.format == "jsonl":
            files.write_jsonl(self.dice, path, rows, bad)
        else:
            files.write_parquet(self.dice, path, rows)


def check(seed: int) -> None:
    dice = random.Random(f"files {seed}")
    with tempfile.TemporaryDirectory() as folder:
        deploy = deployment(dice)
        for number in range(CASES):
            case = Case(dice, Path(folder), number)
            rows = files.drawn_rows(dice)
            way = dice.choice([_written, _read, _there_and_back])
            found, wanted = way(case, rows, deploy)
            if found != wanted:
                said = f"{way.__name__} {case.end} {case.keys}, {len(found)} rows found, {len(wanted)} wanted"
                pairs = zip(found, wanted)
                unlike = next(((a, b) for row, other in pairs for a, b in zip(row, other) if a != b), None)
                raise difference("files", seed, said, first=repr(unlike)[:SHOWN], deployment=deploy)


def _written(case: Case, rows: Rows, deploy: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Ours writes, others read."""
    path = case.path("ours")
    topology = Topology("written")
    topology.source({"0": rows}, event=Line).into(f"{case.format}-sink", path=path, **case.keys)
    topology.run(**deploy)
    return case.others_read(rows, path)


def _read(case: Case, rows: Rows, deploy: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Others write one or several files, ours reads."""
    parts = case.dice.choice([1, 1, 2, 3])
    at = sorted(case.dice.randint(0, len(rows)) for _ in range(parts - 1))
    cuts = [0, *at, len(rows)]
    bad = 0
    for number in range(parts):
        own = rows[cuts[number] : cuts[number + 1]]
        bad_here = case.dice.choice([0, 0, 0, 1, 3]) if own and case.format != "parquet" else 0
        case.others_write(own, bad_here, case.path(f"others-{number}"))
        bad += bad_here
    path = case.folder / f"{case.number}-others-*{case.end}"
    replicas = case.dice.randint(1, parts)
    topology = Topology("read")
    keys = {"event": Line, "replicas": replicas, "on_error": "dead-letter"} | case.keys
    source = topology.source(f"{case.format}-source", path=path, **keys)
    out, dead = source.collect(), source.dead.collect()
    topology.run(**deploy)
    if len(dead) != bad:
        return [(f"rows that do not parse: {[each.error for each in dead]}",)], [(f"{bad} of them",)]
    found = [*out] if replicas == 1 else sorted(out, key=lambda event: event.row)
    return [files.shown(event) for event in found], [files.shown(row) for row in rows]


def _there_and_back(case: Case, rows: Rows, deploy: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Ours writes, ours reads: in parts now and then."""
    replicas = case.dice.choice([1, 1, 2])
    path = case.path("ours") if replicas == 1 else case.folder / f"{case.number}-parts"
    written = Topology("there")
    source = written.source({"0": rows}, event=Line)
    parts = {"replicas": replicas} if replicas > 1 else {}
    source.into(f"{case.format}-sink", path=path, **parts, **case.keys)
    written.run(**deploy)
    read = Topology("back")
    out = read.source(f"{case.format}-source", path=path, event=Line, **case.keys).collect()
    read.run(**deploy)
    found = sorted(out, key=lambda event: event.row) if replicas > 1 else out
    return [files.shown(event) for event in found], [files.shown(row) for row in rows]


@pytest.mark.parametrize("seed", range(SUBJECTS["files"].normal))
def test_files_are_what_others_write_and_read(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + SUBJECTS["files"].slow))
def test_many_files_are_what_others_write_and_read(seed: int) -> None:
    check(seed)
