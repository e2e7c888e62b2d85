"""The programs of docs/connectors.md run, and its topology is right."""

from __future__ import annotations

import re
import sys
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actorstream.connectors import BUILTIN
from actorstream.connectors.generator import GeneratorSource
from actorstream.events.batch import Batch
from actorstream.topology.modules import load_object

PAGE = (Path(__file__).parents[3] / "docs" / "connectors.md").read_text()


def program(name: str) -> str:
    found = re.search(rf"```python\n# {name}\.py\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def modules() -> Iterator[dict[str, Any]]:
    """The modules of the page, importable while the test runs."""
    made = {}
    for name in ("sensors", "ticks", "alarm"):
        module = made[name] = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(program(name), f"{name}.py", "exec"), vars(module))
    yield made
    for name in made:
        del sys.modules[name]


def test_the_source_of_the_page_gives_its_events(modules: dict[str, Any]) -> None:
    source = modules["sensors"].Sensors(sensors=2, rounds=3)
    assert source.output_types({}, []) == {"default": modules["sensors"].Reading}
    source.open(source.partitions())
    batch = source.read(100)
    assert isinstance(batch, Batch)
    assert batch["sensor"].tolist() == [0, 1] * 3


async def test_the_source_of_the_page_that_names_its_positions_goes_on_behind_any_row(
    modules: dict[str, Any],
) -> None:
    async def read(source: Any, rows: int) -> list[float]:
        found: list[float] = []
        while len(found) < rows and (batch := await source.read(rows - len(found))) is not None:
            found += batch["price"].tolist()
        return found

    every = [number / 8 for number in range(1000) if number % 3]
    for rows in (0, 1, 2, 500):
        before, after = modules["ticks"].Ticks(), modules["ticks"].Ticks()
        for source in (before, after):
            source.open(source.partitions())
        assert await read(before, rows) == every[:rows]
        after.take_back(before.kept_position())
        before.on_stop()
        assert await read(after, 1000) == every[rows:]


def test_the_sink_of_the_page_prints(modules: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    sink = modules["alarm"].Alarm()
    sink.on_event(modules["sensors"].Reading(1, 2.5))
    assert capsys.readouterr().out == "Reading(sensor=1, celsius=2.5)\n"
    assert sink.prepare(1) is None


def test_the_topology_of_the_page_is_right() -> None:
    tables = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    keys = next(table["actors"]["clicks"] for table in tables if "clicks" in table["actors"])
    assert keys.pop("type") == "generator-source"
    assert GeneratorSource.check(keys, [], Path()) == []


def test_every_built_in_type_can_be_loaded_and_is_on_the_page() -> None:
    for name, where in BUILTIN.items():
        assert load_object(where).role == {"live": "source"}.get(role := name.rpartition("-")[2], role)
        assert f"`{name}`" in PAGE
