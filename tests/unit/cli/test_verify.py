"""`actorstream verify`: how its options are read, what it shows, and its exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Answer

Run = Callable[..., Answer]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "lines.txt").write_text("b\na\n" * 20)
    path = tmp_path / "lines.toml"
    path.write_text(
        '[actors.lines]\ntype = "text-source"\npath = "lines.txt"\n'
        '[actors.out]\ntype = "jsonl-sink"\ninputs = ["lines"]\npath = "out.jsonl"\n'
    )
    return path


def test_each_run_is_told_as_it_ends_and_all_of_them_in_a_table(run: Run, lines: Path) -> None:
    answer = run(
        "verify", lines, "--workers", "2", "--transports", "local", "--batch-sizes", "1,5", "--runs", 2
    )
    assert answer.code == 0, answer.err
    progress = answer.err.splitlines()
    assert [line.split("  ")[0] for line in progress] == ["1/2", "2/2"]
    assert progress[0].startswith("1/2  workers 2, transport local: same, ")
    head, baseline, first, _, _, conclusion = answer.out.splitlines()
    assert head.split()[:4] == ["run", "workers", "transport", "batch_size"]
    assert baseline.endswith("baseline") and first.endswith("same")
    assert conclusion.endswith("the same under 2 deployments: out (40 rows as a sequence)")
    assert not (lines.parent / "out.jsonl").exists()


def test_json_goes_to_stdout_and_the_table_to_stderr(run: Run, lines: Path) -> None:
    answer = run(
        *("verify", lines, "--runs", 1, "--vary", "actors.lines.count=[40, 39]", "--json", "--seed", 1),
        *("--workers", "1", "--transports", "local", "--set", "deploy.testing.delay=1ms"),
    )
    found = json.loads(answer.out)
    settings = found["runs"][0]["settings"]
    assert "deploy.testing.delay" not in settings
    assert "--set deploy.testing.delay=1ms" in found["runs"][0]["command"]
    assert answer.code == (0 if settings["actors.lines.count"] == 40 else 1)
    assert "baseline" in answer.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", "1;2"), "--workers: is '1;2'; allowed: whole numbers with commas"),
        (("--batch-sizes", ""), "--batch-sizes: is ''"),
        (("--batch-sizes", "0,1"), "--batch-sizes: has 0"),
        (("--vary", "workers=1"), "--vary workers=1: is not KEY=[VALUE, …]"),
        (("--vary", "deploy.workers=[]"), "is not KEY=[VALUE, …]"),
        (("--vary", "deploy.wokers=[1]"), "wokers"),
        (("--transports", "pigeon"), "pigeon"),
        (("--deploy", "none.toml"), "none.toml"),
        (("--runs", "0"), "--runs: is 0"),
    ],
)
def test_wrong_options_are_problems(run: Run, lines: Path, options: tuple[str, ...], said: str) -> None:
    answer = run("verify", lines, *options)
    assert answer.code == 2
    assert said in answer.err


def test_a_sink_with_effects_of_its_own_is_not_run_many_times_without_being_asked(
    run: Run, topology: Path
) -> None:
    answer = run("verify", topology)
    assert answer.code == 2
    assert "actors.out" in answer.err and "--skip out" in answer.err
    answer = run("verify", topology, "--skip", "out")
    assert answer.code == 2
    assert "no sink leaves anything to compare" in answer.err


def test_a_transport_that_is_not_installed_is_no_difference(
    run: Run, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zmq", None)
    for name in [each for each in sys.modules if each.startswith("actorstream.transports.zmq")]:
        monkeypatch.delitem(sys.modules, name)
    answer = run("verify", lines, "--transports", "local,zmq", "--runs", 1)
    assert answer.code == 2
    assert answer.err.endswith("pip install 'actorstream[zmq]'\n")
    assert "baseline" not in answer.out + answer.err
