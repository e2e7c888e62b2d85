"""`actorstream sustain`: what it says about wrong input, and one search that really runs."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream.launch.sustain import _Watch

from .conftest import Answer

Run = Callable[..., Answer]

TOPOLOGY = """
name = "endless"
[actors.events]
type = "generator-source"
preset = "ysb"
{more}
[actors.out]
type = "null-sink"
inputs = ["events"]
"""


def write(folder: Path, more: str = "") -> Path:
    path = folder / "endless.toml"
    path.write_text(TOPOLOGY.format(more=more))
    return path


def test_a_search_prints_its_curve_and_draws_it(run: Run, tmp_path: Path) -> None:
    drawing = tmp_path / "out" / "curve.svg"
    answer = run(
        *(
            "sustain",
            write(tmp_path),
            "--workers",
            1,
            "--transport",
            "local",
            "--seconds",
            1.2,
            "--confirm",
            1.2,
        ),
        *("--precision", 0.9, "--svg", drawing, "--json"),
    )
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert (found["topology"], found["source"], found["workers"]) == ("endless", "events", 1)
    held = [trial["rate_eps"] for trial in found["trials"] if trial["holds"]]
    assert 0 < found["sustainable_eps"] <= max(held)
    assert found["latency_ms"]["p99"] > 0
    table = answer.err.splitlines()
    unlimited = re.fullmatch(r"without a rate: ([\d,]+) rows/s of events", table[0])
    assert unlimited is not None
    assert abs(int(unlimited[1].replace(",", "")) - found["unlimited_eps"]) <= 1  # rounded once more there
    assert table[1].split()[0] == "rate/s"
    assert any("rows/s of events are sustained on 1 worker (local)" in row for row in table)
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")


def test_input_that_ends_too_soon_is_a_problem(run: Run, tmp_path: Path) -> None:
    answer = run("sustain", "tests/unit/cli/none.toml")
    assert answer.code == 2
    path = tmp_path / "short.toml"
    (tmp_path / "lines.txt").write_text("a\nb\n")
    path.write_text(
        'name = "short"\n[actors.lines]\ntype = "text-source"\npath = "lines.txt"\n'
        '[actors.out]\ntype = "null-sink"\ninputs = ["lines"]\n'
    )
    answer = run("sustain", path, "--workers", 1, "--transport", "local", "--start", 100)
    assert answer.code == 2
    assert "actors.lines: its input ended after" in answer.err and "repeat=0" in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--latency", "soon"), "--latency: is 'soon'; allowed: a duration"),
        (("--precision", 5), "--precision: is 5; allowed: a share above 0 and below 1"),
        (("--precision", 0), "--precision: is 0; allowed: a share above 0 and below 1"),
        (("--start", 0), "--start: is 0; allowed: rows/s above 0"),
        (("--start", "nan"), "--start: is nan; allowed: rows/s above 0"),
        (("--seconds", 0.5), "--seconds: is 0.5; allowed: a number of seconds of at least 1"),
        (("--confirm", 0.5), "--confirm: is 0.5; allowed: a number of seconds of at least 1"),
        (("--confirm", "inf"), "--confirm: is inf; allowed: a number of seconds of at least 1"),
        (("--source", "out"), "--source: 'out' is no source; allowed: events"),
    ],
)
def test_wrong_options_are_problems(run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    answer = run("sustain", write(tmp_path), *arguments)
    assert answer.code == 2
    assert said in answer.err


def test_all_numbers_that_are_wrong_are_told_at_once(run: Run, tmp_path: Path) -> None:
    answer = run("sustain", write(tmp_path), "--seconds", 0, "--precision", 1, "--start", -1)
    assert answer.code == 2
    assert all(f"{option}: is" in answer.err for option in ("--seconds", "--precision", "--start"))


def test_a_search_that_the_user_stops_ends_with_the_status_of_an_interrupt(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # once: a second interrupt would not wait until the run has stopped
    monkeypatch.setattr(
        _Watch, "tick", lambda watch: watch._launcher.interrupts or watch._launcher.interrupt()
    )
    answer = run("sustain", write(tmp_path), "--workers", 1, "--transport", "local", "--start", 100)
    assert (answer.code, answer.err) == (130, "actorstream: stopped; no rate was found\n")
