"""How what was found is told: table, words, JSON, and the error that a test raises."""

from __future__ import annotations

import json
import math
from datetime import date, timedelta
from pathlib import Path

import pytest

from actorstream.verify.comparison import Difference
from actorstream.verify.deployments import Deployment
from actorstream.verify.result import NotTheSame, Outcome, Verified
from actorstream.verify.sinks import SinkOutput

BASE = Deployment(0, {"workers": {"deploy.workers": 1}, "edge_bytes": {}})
TWO = Deployment(1, {"workers": {"deploy.workers": 2}, "edge_bytes": {}})
THREE = Deployment(2, {"workers": {"deploy.workers": 3}, "edge_bytes": {}})
DIFFERENCE = Difference("out", "sequence", 7, "a", 7, "b")


def verified(*outcomes: Outcome) -> Verified:
    outputs = [SinkOutput("out", "file", "sequence")]
    return Verified(
        "t",
        BASE,
        "run 0",
        0.5,
        outputs,
        {"out": 1234},
        9,
        list(outcomes),
        ["n"],
        ["order"],
        ["time"],
        (Path("0.csv"),),
    )


def test_the_same_is_told_in_a_line_and_hints_of_order_are_not() -> None:
    found = verified(Outcome(TWO, "run 1", 1.25))
    assert found.same and found.difference is None and found.failure is None and found.check() is found
    assert found.table() == ["run  workers  s", "0    1        0.5  baseline", "1    2        1.2  same"]
    assert found.conclusion() == [
        "t: the same under 1 deployment: out (1,234 rows as a sequence)",
        "note: n",
        "hint: time",
    ]


def test_the_first_difference_is_told_with_what_runs_it_again() -> None:
    found = verified(
        Outcome(TWO, "run 1", 1.0),
        Outcome(THREE, "run 2", 1.0, DIFFERENCE, files=(Path("2.csv"),)),
        Outcome(TWO, "run 3", 1.0, error="exit status 1\nboom"),
    )
    assert not found.same and found.difference is DIFFERENCE
    assert found.table()[3:] == ["2    3        1.0  DIFFERENT: out", "1    2        1.0  FAILED"]
    assert found.conclusion() == [
        "t: 2 of 3 runs differ; compared: out (1,234 rows as a sequence)",
        "first: run 2",
        "sink out, row 7, as a sequence:",
        "  baseline: a",
        "  found:    b",
        "again:    run 2",
        "baseline: run 0",
        "kept: 0.csv 2.csv",
        "note: n",
        "hint: time",
        "hint: order",
    ]
    with pytest.raises(NotTheSame, match="again:    run 2") as raised:
        found.check()
    assert raised.value.result is found
    assert isinstance(raised.value, AssertionError)


def test_a_run_that_failed_is_not_the_same_either() -> None:
    found = verified(Outcome(TWO, "run 1", 1.0, error="exit status 1\nboom"))
    assert not found.same and found.difference is None
    assert "  boom" in found.conclusion()


def test_json_has_everything() -> None:
    found = json.loads(json.dumps(verified(Outcome(THREE, "run 2", 1.0, DIFFERENCE)).as_json()))
    assert (found["same"], found["seed"], found["hints"]) == (False, 9, ["time", "order"])
    assert found["sinks"] == [{"sink": "out", "compared_as": "sequence", "rows": 1234}]
    assert found["baseline"] == {"settings": {"deploy.workers": 1}, "command": "run 0"}
    (run,) = found["runs"]
    assert run["settings"] == {"deploy.workers": 3}
    assert (run["difference"]["row"], run["difference"]["found"], run["error"]) == (7, "b", None)


def test_values_that_json_does_not_have_are_text_in_it() -> None:
    values = {"at": date(2024, 2, 29), "path": Path("12"), "every": timedelta(seconds=1), "limit": math.inf}
    chosen = {"key": {f"actors.a.{name}": value for name, value in values.items()}}
    chosen["cases"] = {"actors.a.cases": [{"to": date(2024, 2, 29)}, True, 1.5]}
    found = verified(Outcome(Deployment(1, chosen), "run 1", 1.0)).as_json()
    assert json.loads(json.dumps(found, allow_nan=False))["runs"][0]["settings"] == {
        "actors.a.at": "2024-02-29",
        "actors.a.path": "12",
        "actors.a.every": "1000000us",
        "actors.a.limit": "inf",
        "actors.a.cases": [{"to": "2024-02-29"}, True, 1.5],
    }
