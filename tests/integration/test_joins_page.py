"""The topology of docs/joins.md runs as it is printed."""

from __future__ import annotations

from pathlib import Path

from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job
from tests.integration.test_documentation import files_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "joins.md"


def test_the_static_join_of_the_joins_page_launches(tmp_path: Path) -> None:
    for name, body in files_of(PAGE).items():
        (tmp_path / name).write_text(body)
    run_job(read_job(tmp_path / "static.toml"))
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "user,ad,campaign",
        "ann,7,summer",
        "bob,8,",
        "cyd,7,summer",
    ]
