"""The topologies of docs/ordering.md run as they are printed, and are planned as the page says."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.test_documentation import files_of, run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ordering.md"
LINES = "a b a\n\nc a\n" * 40


def test_the_serial_topology_of_the_page_counts_in_the_order_of_the_lines(tmp_path: Path) -> None:
    for name, body in files_of(PAGE).items():
        (tmp_path / name).write_text(body)
    (tmp_path / "lines.txt").write_text(LINES)
    command = [sys.executable, "-m", "actorstream"]
    plan = run(tmp_path, *command, "plan", "serial.toml")
    for line in PAGE.read_text().split("```text\n")[1].split("```")[0].splitlines():
        assert line.strip() in plan.stdout
    done = run(tmp_path, *command, "launch", "serial.toml", "--quiet", "--workers", "3")
    assert done.returncode == 0, done.stderr
    seen: dict[str, int] = {}
    expected = ["word,count"]
    for word in LINES.split():
        seen[word] = seen.get(word, 0) + 1
        expected.append(f"{word},{seen[word]}")
    assert (tmp_path / "counts.csv").read_text().splitlines() == expected


def test_the_timestamp_topology_of_the_page_writes_one_sequence(tmp_path: Path) -> None:
    for name, body in files_of(PAGE).items():
        (tmp_path / name).write_text(body)
    north = [(at // 2, at) for at in range(60)]
    south = [(at ^ 3, 1000 + at) for at in range(40)]
    for name, rows in (("north", north), ("south", south)):
        lines = ["at,car", *(f"{at},{car}" for at, car in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "actorstream"]
    plan = run(tmp_path, *command, "plan", "timestamp.toml")
    assert "even: shuffle, timestamp (implied)" in plan.stdout
    ranked = [(at, 0, car) for at, car in north if car % 2 == 0] + [(at, 1, car) for at, car in south]
    expected = ["at,car", *(f"{at},{car}" for at, _, car in sorted(ranked))]
    for workers in ("1", "3"):
        done = run(tmp_path, *command, "launch", "timestamp.toml", "--quiet", "--workers", workers)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "cars.csv").read_text().splitlines() == expected
