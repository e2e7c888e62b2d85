"""The programs of docs/scheduling.md run as printed."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path

import pytest

from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scheduling.md"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page prints, from which they can be imported."""
    for name, body in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("actorstream.runtime.pool.pool.PAYS_NS", 0)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "name", "values"),
    [
        ("thirds", "Thirds", [value for value in range(300) if value % 3 == 0]),
        ("kernels", "Roots", [int(value**0.5) for value in range(300)]),
    ],
)
def test_its_actors_run_on_threads_and_keep_their_order(
    written: Path, module: str, name: str, values: list[int]
) -> None:
    topology = Topology("page")
    actor = getattr(importlib.import_module(module), name)
    stream = topology.source(Numbers, name="numbers", count=300)
    stream.through(actor, name="actor", outputs={"default": Numbers.outputs["default"]}).into(
        Collect, name="out"
    )
    result = topology.run(schedule="ct", threads=2, batch_size=16)
    assert [value for value, _ in result["out"]] == values


def test_the_simulation_prints_a_line_for_each_heuristic(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(written / "more.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["ct", "lp", "et", "qst"]
