"""The programs of docs/scheduling.md run as printed."""

from __future__ import annotations

import importlib
import runpy
import sys
from itertools import accumulate
from pathlib import Path

import pytest

from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers
from tests.integration.test_documentation import files_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scheduling.md"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page prints, from which they can be imported."""
    for name, body in files_of(PAGE).items():
        (tmp_path / name).write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "running", raising=False)
    monkeypatch.setattr("actorstream.runtime.schedule.kernel_edge.PAYS_NS", 0)
    return tmp_path


@pytest.mark.parametrize(("schedule", "threads"), [("none", 0), ("ct", 0), ("ct", 2)])
def test_its_operator_gives_the_same_sums_with_and_without_threads(
    written: Path, schedule: str, threads: int
) -> None:
    topology = Topology("page")
    running = importlib.import_module("running").Running
    stream = topology.source(Numbers, name="numbers", count=300)
    stream.through(running, name="running", outputs={"default": Numbers.outputs["default"]}).into(
        Collect, name="out"
    )
    result = topology.run(schedule=schedule, threads=threads, batch_size=16)
    assert [value for value, _ in result["out"]] == list(accumulate(range(300)))
    if threads:
        (row,) = result.report["actors"]["running"]
        assert row["pooled_ns"] > 0, "its kernels were left to threads"


def test_its_operator_goes_on_from_what_it_has_kept(written: Path) -> None:
    running = importlib.import_module("running").Running
    one, other = running(), running()
    one.work.total = 41
    other.restore(one.snapshot())
    assert other.work.total == 41


def test_the_simulation_prints_a_line_for_each_heuristic(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(written / "more.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["ct", "lp", "et", "qst"]
