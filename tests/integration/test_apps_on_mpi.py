"""The apps give the same rows over MPI as on one worker: every order, programs included, through the real command line."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.apps.launched import command
from tests.covering import sampled
from tests.integration.processes import ROOT, ranked

APPS = {
    "word_count": "none",
    "linear_road": "timestamp",
    "value_barrier": "dependency",
    "ysb": "none, windows",
    "call_fraud": "serial",
}


@sampled("app", list(APPS), quick=1)
def test_an_app_gives_the_same_over_mpi(app: str) -> None:
    said = command(
        "verify",
        f"apps/{app}/topology.toml",
        "--transports",
        "mpi",
        "--workers",
        3,
        "--runs",
        1,
        "--timeout",
        100,
    )
    assert "transport mpi: same" in said


def test_ranks_that_mpiexec_has_started_run_an_app(tmp_path: Path) -> None:
    launch = [sys.executable, "-m", "actorstream", "launch", str(ROOT / "apps/ysb/topology.toml")]
    sets = [f"--set=actors.{sink}.path={tmp_path}/{sink}.csv" for sink in ("counts", "late")]
    with ranked(ROOT, 4, *launch, "--transport", "mpi", *sets) as run:
        status, _, errors = run.wait()
    assert status == 0, errors
    assert "on 4 workers (mpi)" in errors
    assert len((tmp_path / "counts.csv").read_text().splitlines()) == 389
