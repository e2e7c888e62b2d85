"""Rows of a file that do not parse are counted, and are dead letters, wherever they stand in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actorstream import Event, Topology

DEPLOYMENTS: list[dict[str, Any]] = [{"batch_size": 1}, {"batch_size": 4096, "workers": 2}]
FILES = {
    "csv": ("at,word\n", "{},a\n", "x,a\n"),
    "jsonl": ("", '{{"at":{},"word":"a"}}\n', '{"at":"x","word":"a"}\n'),
}
"""Format -> what a file begins with, a row with a number, and a row that does not parse."""


class Word(Event):
    __event_time__ = "at"
    at: int
    word: str


@pytest.mark.parametrize("deploy", DEPLOYMENTS, ids=str)
@pytest.mark.parametrize("order", ["none", "timestamp"])
@pytest.mark.parametrize("rows", ["good bad", "bad good", "bad", "bad good bad bad", "good bad good"])
@pytest.mark.parametrize("form", FILES)
def test_a_row_that_does_not_parse_is_counted_and_told_wherever_it_stands(
    tmp_path: Path, form: str, rows: str, order: str, deploy: dict[str, Any]
) -> None:
    begin, good, bad = FILES[form]
    lines = [good.format(number) if row == "good" else bad for number, row in enumerate(rows.split())]
    path = tmp_path / f"words.{form}"
    path.write_text(begin + "".join(lines))
    for on_error in ("dead-letter", "skip"):
        topology = Topology()
        words = topology.source(f"{form}-source", path=path, event=Word, on_error=on_error)
        found, dead = words.ordered(order).collect(), words.dead.collect()
        report = topology.run(**deploy).report
        assert len(found) == rows.split().count("good")
        assert report["dead"] == rows.split().count("bad")
        assert len(dead) == (report["dead"] if on_error == "dead-letter" else 0)
