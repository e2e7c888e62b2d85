"""The topology of docs/windows.md gives the results that the page prints, with each of its windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job
from tests.integration.test_documentation import files_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "windows.md"
WINDOWS = {
    "tumbling": [],
    "sliding": ['actors.windows.window={type="sliding",size="10s",slide="5s"}'],
    "session": ['actors.windows.window={type="session",gap="4s"}'],
    "count": ['actors.windows.window={type="count",size=2}'],
}


@pytest.mark.parametrize("two_steps", [True, False])
@pytest.mark.parametrize("kind", WINDOWS)
def test_the_rides_of_the_page_give_the_windows_of_the_page(
    tmp_path: Path, kind: str, two_steps: bool
) -> None:
    files = files_of(PAGE)
    for name in ("rides.toml", "rides.csv"):
        (tmp_path / name).write_text(files[name])
    sets = [*WINDOWS[kind], f"deploy.pre_aggregation={str(two_steps).lower()}", "deploy.batch_size=2"]
    run = run_job(read_job(tmp_path / "rides.toml", sets=sets))
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert sorted(rows) == sorted(files[f"{kind}.csv"].splitlines())
    late = files["tumbling-late.csv"].splitlines()
    assert (tmp_path / "late.csv").read_text().splitlines() == (late[:1] if kind == "count" else late)
    assert run.report["late"] == (0 if kind == "count" else 1)
