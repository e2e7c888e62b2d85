"""Ranks whose placement one planner chooses, for the machines of all hosts: over ZeroMQ on two hosts, and as ranks of MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actorstream.cli.main import main
from actorstream.placement.rlas import Measured, OperatorProfile, OutputProfile, Profile, profile_text
from actorstream.transports.mpi.starter import mpiexec
from tests.integration.namespaces import ROOT, deployment, hosts
from tests.integration.test_planned_runs import TOPOLOGY

PLACED = [
    "--set",
    "deploy.placement=rlas",
    "--set",
    "deploy.rlas.profile=profile.toml",
    "--set",
    "deploy.bind=none",
    "--set",
    "deploy.pre_aggregation=false",
]


def written(folder: Path, moved_ns: float, row_bytes: float = 8.0) -> list[str]:
    """The topology and a profile of it in a folder; the rows that one worker gives."""
    (folder / "topology.toml").write_text(TOPOLOGY)

    def cost(ns: float) -> OperatorProfile:
        out = {"default": OutputProfile(selectivity=1.0, bytes=row_bytes)}
        return OperatorProfile(batches=[Measured(rows=1024, execute_ns={"p50": ns})], outputs=out)

    costs = {"numbers": cost(1.0), "moved": cost(moved_ns), "counts": cost(1.0), "file": cost(1.0)}
    (folder / "profile.toml").write_text(profile_text(Profile(name="made up", hertz=1e9, operators=costs)))
    assert (
        main(["launch", str(folder / "topology.toml"), "--workers", "1", "--transport", "local", "-q"]) == 0
    )
    return sorted((folder / "out.csv").read_text().splitlines())


def ended(process: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def test_a_costly_operator_gets_replicas_on_both_hosts_of_a_list_and_a_chatty_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    expected = written(tmp_path, 500_000.0)
    with hosts(2) as made:
        words = [
            tmp_path / "topology.toml",
            "--deploy",
            deployment(tmp_path, made),
            *PLACED,
            "--report",
            "report.json",
        ]
        given = [*words, "--replan", "plan.json", "--set", "deploy.rlas.link=1e6"]
        costly = ended(made.launch(0, *given, cwd=tmp_path), tmp_path)
        assert sorted((tmp_path / "out.csv").read_text().splitlines()) == expected
        assert len(costly["actors"]["moved"]) >= 2 and costly["model"]["predicted_eps"] > 0
        plan = json.loads((tmp_path / "plan.json").read_text())
        assert {each["actor"] for each in plan["replicas"]} >= {"moved"} and plan["model"]["machine"]
        written(tmp_path, 5.0, 100_000.0)
        chatty = ended(made.launch(0, *given[:-4], "--set", "deploy.rlas.link=1e6", cwd=tmp_path), tmp_path)
        assert sorted((tmp_path / "out.csv").read_text().splitlines()) == expected
        assert len(chatty["actors"]["moved"]) == 1


def test_ranks_of_mpi_take_the_plan_of_the_home_rank_and_it_is_compared_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    expected = written(tmp_path, 500_000.0)
    words = ["topology.toml", "--transport", "mpi", "--workers", "2", *PLACED]
    command = [
        sys.executable,
        "-m",
        "actorstream",
        "launch",
        *words,
        "--report",
        "report.json",
        "--replan",
        "plan.json",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    report = ended(process, tmp_path)
    assert sorted((tmp_path / "out.csv").read_text().splitlines()) == expected
    assert (report["transport"], len(report["actors"]["moved"])) == ("mpi", 2)
    assert "profiled_ns" in report["model"] and json.loads((tmp_path / "plan.json").read_text())["model"]


BOUND = """
import os, sys

rank = int(os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
cpus = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpus[rank % len(cpus)]})
os.execv(sys.executable, [sys.executable, "-m", "actorstream", *sys.argv[1:]])
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_ranks_that_are_bound_to_a_core_each_offer_one_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch systems start ranks so."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    expected = written(tmp_path, 500_000.0)
    bound = [each if each != "deploy.bind=none" else "deploy.bind=core" for each in PLACED]
    words = ["launch", "topology.toml", "--transport", "mpi", *bound, "--report", "report.json"]
    command = mpiexec(2, [sys.executable, "-c", BOUND, *words])
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    report = ended(process, tmp_path)
    assert sorted((tmp_path / "out.csv").read_text().splitlines()) == expected
    assert len(report["actors"]["moved"]) == 2
    assert (
        sorted(cpu for each in report["placement"] for cpu in each["cpus"])
        == sorted(os.sched_getaffinity(0))[:2]
    )
