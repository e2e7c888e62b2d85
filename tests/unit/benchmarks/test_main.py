"""What a run of the benchmarks leaves in the tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.__main__ import RESULTS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout of git")
def test_git_tracks_nothing_that_a_run_draws() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", str(RESULTS)], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert tracked == ["benchmarks/results/.gitignore"]
    drawn = str(RESULTS / "word-count.svg")
    ignored = subprocess.run(["git", "check-ignore", "--quiet", drawn], cwd=ROOT, check=False)
    assert ignored.returncode == 0
