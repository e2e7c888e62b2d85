"""Sums and means of floats by the real command line: the file of any deployment is the exact one, byte for byte."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from tests.apps.launched import command

TOPOLOGY = """
name = "exact"

[actors.rows]
type = "csv-source"
path = "rows"
schema = { at = "int", key = "str", value = "float" }
event_time = "at"
max_out_of_orderness = "1s"

[actors.windows]
type = "aggregate"
inputs = ["rows"]
key = "key"
window = { type = "sliding", size = "100ms", slide = "50ms" }
aggregates = { sum = "sum(value)", mean = "mean(value)" }

[actors.sessions]
type = "aggregate"
inputs = ["rows"]
key = "key"
window = { type = "session", gap = "1s" }
aggregates = { sum = "sum(value)", mean = "mean(value)" }

[actors.windows-out]
type = "csv-sink"
inputs = ["windows"]
path = "windows.csv"

[actors.sessions-out]
type = "csv-sink"
inputs = ["sessions"]
path = "sessions.csv"
"""

Rows = list[tuple[int, str, float]]


def rows() -> Rows:
    dice = random.Random(11)
    far = [1e34, -1e34, 1e17, 1.0, 0.1, 1e-30]
    return [
        (at % 200, "abc"[at % 3], dice.choice(far) * dice.choice([1.0, dice.random()])) for at in range(1200)
    ]


def line(*values: object) -> str:
    return ",".join(repr(value) if isinstance(value, float) else str(value) for value in values)


def said(values: list[float]) -> tuple[float, float]:
    return math.fsum(values), math.fsum(values) / len(values)


def windows(rows: Rows) -> list[str]:
    found: dict[tuple[int, str], list[float]] = {}
    for at, key, value in rows:
        for start in (at // 50 * 50 - 50, at // 50 * 50):
            found.setdefault((start, key), []).append(value)
    return sorted(line(start, start + 100, key, *said(own)) for (start, key), own in found.items())


def sessions(rows: Rows) -> list[str]:
    found = []
    for key in "abc":
        times = [at for at, own, _ in rows if own == key]
        values = [value for _, own, value in rows if own == key]
        found.append(line(min(times), max(times) + 1000, key, *said(values)))
    return sorted(found)


DEPLOYMENTS: dict[str, tuple[str, dict[str, int]]] = {
    "one worker": ("workers = 1", {}),
    "replicas": ("workers = 2", {"rows": 4, "windows": 2}),
    "one step": ("workers = 1\npre_aggregation = false\nbatch_size = 3", {}),
    "pool": ('workers = 1\nschedule = "lp"\nthreads = 2', {"rows": 3}),
    "checkpoints": ('batch_size = 7\n[checkpoint]\npath = "state"\nevery = "10ms"', {"rows": 2}),
}


@pytest.mark.parametrize(("deploy", "replicas"), DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_sums_are_the_exact_ones_under_every_deployment(
    tmp_path: Path, deploy: str, replicas: dict[str, int]
) -> None:
    given = rows()
    (tmp_path / "rows").mkdir()
    for part in range(4):
        lines = ["at,key,value", *(line(*row) for row in given[part::4])]
        (tmp_path / "rows" / f"{part}.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.toml").write_text(TOPOLOGY)
    (tmp_path / "d.toml").write_text(deploy)
    overrides = [f"--set=actors.{name}.replicas={number}" for name, number in replicas.items()]
    command("launch", tmp_path / "t.toml", "--deploy", tmp_path / "d.toml", "-q", *overrides)
    for file, wanted in (("windows.csv", windows(given)), ("sessions.csv", sessions(given))):
        assert sorted((tmp_path / file).read_text().splitlines()[1:]) == wanted
