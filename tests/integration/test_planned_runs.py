"""Runs whose placement comes from measured costs, from the profile to the next plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actorstream.cli.main import main

TOPOLOGY = """
[actors.numbers]
type = "generator-source"
schema = { ts = "int64", number = "int64" }
event_time = "ts"
count = 20000
seed = 1

[actors.moved]
type = "map"
inputs = ["numbers"]
replicas = "auto"
set = { number = "number % 100", ts = "ts" }

[actors.counts]
type = "aggregate"
inputs = [{ from = "moved", key = "number" }]
replicas = "auto"
key = ["number"]
window = { type = "tumbling", size = "1s" }
aggregates = { rows = "count()" }

[actors.file]
type = "csv-sink"
inputs = ["counts"]
path = "out.csv"
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """The files of a topology, a deployment and its profile. It is measured once: seconds of processor time go into it, and it
    belongs to a topology whose files are at their paths."""
    folder = tmp_path_factory.mktemp("measured")
    topology, profile = folder / "topology.toml", folder / "profile.toml"
    topology.write_text(TOPOLOGY)
    given = ["--batch-size", "1024", "--rows", "20000", "--seconds", "0.02", "-q"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert main(["profile", str(topology), "--out", str(profile), *given]) == 0
    (folder / "deploy.toml").write_text('placement = "rlas"\n[rlas]\nprofile = "profile.toml"\n')
    return {path: path.read_text() for path in folder.glob("*.toml")}


@pytest.fixture
def folder(measured: dict[Path, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where these files are, and no others."""
    folder = next(iter(measured)).parent
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    for path, text in measured.items():
        path.write_text(text)
    return folder


@pytest.fixture
def deployed(folder: Path) -> tuple[Path, Path]:
    return folder / "topology.toml", folder / "deploy.toml"


def test_a_profile_leads_to_a_run_and_the_run_to_a_plan_for_the_next(
    deployed: tuple[Path, Path], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topology, deploy = deployed
    plan, out = folder / "plan.json", folder / "out.csv"
    assert main(["launch", str(topology), "--workers", "1", "--transport", "local", "-q"]) == 0
    expected = sorted(out.read_text().splitlines())
    capsys.readouterr()
    assert main(["launch", str(topology), "--deploy", str(deploy), "--replan", str(plan), "--json"]) == 0
    shown = capsys.readouterr()
    assert sorted(out.read_text().splitlines()) == expected
    report = json.loads(shown.out)
    assert report["model"]["predicted_eps"] > 0 and "counts" in report["model"]["profiled_ns"]
    assert {row["node"] for row in report["placement"]} == {0}
    assert f"wrote {plan}" in shown.err and "with the measured costs the planner" in shown.err
    assert main(["launch", str(topology), "--plan", str(plan), "-q"]) == 0
    assert sorted(out.read_text().splitlines()) == expected


def test_a_plan_that_cannot_be_written_after_the_run_costs_no_report(
    deployed: tuple[Path, Path], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topology, deploy = deployed
    full = ["--replan", "/dev/full"]  # it can be opened, and nothing can be written into it
    assert main(["launch", str(topology), "--deploy", str(deploy), *full, "--json"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["model"]["predicted_eps"] > 0
    assert "--replan: '/dev/full' cannot be written: No space left on device" in shown.err


def test_verify_finds_the_same_output_under_all_placements(deployed: tuple[Path, Path]) -> None:
    topology, deploy = deployed
    assert main(["verify", str(topology), "--deploy", str(deploy), "--runs", "2", "--seed", "3"]) == 0


def test_a_plan_to_be_written_where_none_was_made_from_a_model_is_refused_before_the_run(
    deployed: tuple[Path, Path], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topology, deploy = deployed
    wanted = ["--replan", str(folder / "plan.json")]
    assert main(["launch", str(topology), *wanted]) == 2
    assert "--replan: has nothing to compare the run with: a plan by placement 'spread'" in (
        capsys.readouterr().err
    )
    assert main(["launch", str(topology), *wanted, "--on", "local-cluster[2,1,1024]"]) == 2
    assert "--replan: is given with --on" in capsys.readouterr().err
    saved = folder / "saved.json"
    assert main(["plan", str(topology), "--deploy", str(deploy), "--save", str(saved)]) == 0
    profile = folder / "profile.toml"
    profile.write_text(profile.read_text().replace("selectivity = 1.0", "selectivity = 0.9"))
    assert main(["launch", str(topology), "--plan", str(saved), *wanted]) == 2
    assert "was made from the profile" in capsys.readouterr().err
    assert not (folder / "out.csv").exists() and not (folder / "plan.json").exists()
