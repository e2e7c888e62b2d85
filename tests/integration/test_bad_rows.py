"""Rows of a file that do not parse are counted, and are dead letters, wherever they stand in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from actorstream import Actor, Batch, Contract, Event, Topology
from actorstream.errors import DataError, OperatorError

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


class Dividing(Actor):
    contract = Contract(stateless=True)

    def on_batch(self, batch: Batch) -> Batch:
        if not batch["by"].all():
            raise ZeroDivisionError
        return batch


@pytest.mark.parametrize(
    ("operator", "keys", "failed"),
    [
        ("filter", {"where": "at // by > 0"}, 2),
        (Dividing, {}, 2),
        ("aggregate", {"window": {"type": "tumbling", "size": "1s"}, "aggregates": {"n": "count()"}}, 3),
    ],
    ids=["an expression", "a hook", "a window"],
)
def test_a_row_whose_columns_cannot_be_attributes_is_shown_as_a_dict(
    tmp_path: Path, operator: Any, keys: dict[str, Any], failed: int
) -> None:
    rows = [(1, 5, 1), (2, 6, 0), (3, -7, 1)]
    path = tmp_path / "trips.csv"
    path.write_text("trip id,at,by\n" + "".join(f"{number},{at},{by}\n" for number, at, by in rows))
    shown = str(dict(zip(("trip id", "at", "by"), rows[failed - 1])))
    for on_error in ("dead-letter", "skip", "fail"):
        topology = Topology()
        trips = topology.source("csv-source", path=path, event_time="at")
        made = trips.through(operator, name="made", on_error=on_error, **keys)
        made.into("csv-sink", path=tmp_path / "made.csv")
        dead = made.dead.collect()
        if on_error == "fail":
            with pytest.raises(OperatorError, match=re.escape(shown)):
                topology.run()
        else:
            assert topology.run().report["dead"] == 1
            assert [each.event for each in dead] == ([shown] if on_error == "dead-letter" else [])


def test_a_row_behind_its_time_is_shown_as_a_dict_if_its_columns_cannot_be_attributes(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("trip id,at\n1,6\n2,5\n")
    topology = Topology()
    topology.source("csv-source", path=path, event_time="at").ordered("timestamp").into(
        "csv-sink", path=tmp_path / "out.csv"
    )
    with pytest.raises(DataError, match=re.escape("row 1 ({'trip id': 2, 'at': 5}) has event time 5")):
        topology.run()
