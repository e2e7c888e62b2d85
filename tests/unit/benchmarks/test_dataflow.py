"""Topologies are written as TOML, and commands run to their end."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import dataflow
from benchmarks.dataflow import Ran, inline, launch_file, run_limited, toml
from benchmarks.job import JobError


def test_actors_become_a_topology_file_that_says_the_same() -> None:
    actors: dict[str, dict[str, Any]] = {
        "rows": {"type": "generator-source", "count": 10, "schema": {"ts": "int", "x": {"type": "float?"}}},
        "sink": {
            "type": "null-sink",
            "inputs": [{"from": "rows", "route": "forward"}],
            "deep": [1.5, True, 'a"\\b'],
        },
    }
    assert tomllib.loads(toml("a name", actors)) == {"name": "a name", "actors": actors}


def test_a_value_that_is_no_toml_value_is_written_as_text() -> None:
    assert tomllib.loads(f"path = {inline(sys)}")["path"].startswith("<module 'sys'")


def test_a_command_answers_with_its_exit_code_and_what_it_said() -> None:
    command = [sys.executable, "-c", "import sys; print('out of luck', file=sys.stderr); sys.exit(3)"]
    assert run_limited(command, None) == (3, "out of luck\n")
    assert run_limited(command, 60.0) == (3, "out of luck\n")


def test_the_rate_leaves_each_meters_first_batch_out() -> None:
    meter = {"kind": "meter", "batches": 3, "rows": 300, "first_rows": 100, "ended_ns": 3_000_000_000}
    notes = [{**meter, "begun_ns": 1_000_000_000}, {**meter, "begun_ns": 2_000_000_000}]
    assert Ran({}, notes).rate() == 400 / 2.0


def test_a_run_of_single_batches_has_no_rate() -> None:
    with pytest.raises(JobError, match="too short"):
        Ran({}, [{"kind": "meter", "batches": 1}]).rate()


def test_a_run_that_is_stopped_before_its_actors_ran_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataflow, "run_limited", lambda command, seconds: (130, ""))
    with pytest.raises(JobError, match=r"a was stopped after 2\.2 s, before its actors ran"):
        launch_file(Path("a.toml"), seconds=2.2)


def test_a_run_whose_time_is_up_before_its_first_row_is_stopped_after_that() -> None:
    program = """
import signal, sys
for line in ("   2.0 s  0 events  0/s", "   4.0 s  12 events  3/s"):
    print(line, file=sys.stderr, flush=True)
    signal.sigtimedwait([], 0.3)
signal.pause()
"""
    code, said = run_limited([sys.executable, "-c", program], 0.01)
    assert code == -15 and "12 events" in said
