"""docs/topology.md: its examples run, and it names every key, choice and built-in type there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from actorstream.native._core import ffi, lib
from hypothesis import given
from hypothesis import strategies as st

from actorstream.connectors import BUILTIN
from actorstream.operators import BUILTIN as OPERATORS
from actorstream.plan.registry import registry
from actorstream.topology.available import PLACEMENTS
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.keywords import constructor_keywords
from actorstream.topology.spec import ORDERS, RESERVED, ROUTES, InputSpec

PAGE = (Path(__file__).parents[3] / "docs" / "topology.md").read_text()
BLOCKS = {
    match.group(2): match.group(0).removeprefix(f"```{match.group(1)}\n").removesuffix("```")
    for match in re.finditer(r"```(toml|python|text)\n# (\S+)\n.*?```", PAGE, re.DOTALL)
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in BLOCKS.items():
        (tmp_path / name).write_text(text.partition("\n")[2] if name.endswith(".txt") else text)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def test_the_example_is_right_under_the_example_deployment(folder: Path) -> None:
    command = [sys.executable, "-m", "actorstream", "check", "topology.toml", "--deploy", "deploy.toml"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_the_example_counts_words(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "actorstream",
        "launch",
        "topology.toml",
        "--deploy",
        "deploy.toml",
        "-q",
    ]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert sorted((folder / "counts.csv").read_text().splitlines()) == [
        "be,2",
        "not,1",
        "or,1",
        "to,2",
        "word,count",
    ]


def test_the_same_topology_in_python_has_the_same_graph(folder: Path) -> None:
    code = """
from build import t
from actorstream.topology.load import load_topology
from actorstream.topology.validate import build_graph
from actorstream.plan.registry import registry
graphs = [build_graph(spec, registry()).describe() for spec in (t.spec(), load_topology("topology.toml"))]
assert graphs[0] == graphs[1], graphs
"""
    answer = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def cells(key: str) -> list[str]:
    """The rows of all tables whose first cell names `key`."""
    return [line for line in PAGE.splitlines() if line.startswith("|") and f"`{key}`" in line.split("|")[1]]


@pytest.mark.parametrize(
    "key", [*RESERVED, *(key.rstrip("_") for key in InputSpec.__struct_fields__), *ROUTES]
)
def test_every_key_of_actors_and_inputs_and_every_route_has_a_row(key: str) -> None:
    assert cells(key)


@pytest.mark.parametrize("key", DeploySpec.__struct_fields__)
def test_every_key_of_a_deployment_has_a_row(key: str) -> None:
    assert cells(key) or cells(f"[{key}]")


@pytest.mark.parametrize("name", [*BUILTIN, *OPERATORS])
def test_every_built_in_type_has_a_row_and_every_key_of_it_is_named(name: str) -> None:
    page = PAGE[PAGE.index("## Built-in types") :]
    assert page.count(f"\n| `{name}` |") == 1
    assert all(f"`{key}`" in page for key in constructor_keywords(registry().resolve(name))[0])


def test_all_orders_and_placements_are_named() -> None:
    assert any(all(f'"{order}"' in row for order in ORDERS) for row in cells("order"))
    assert any(all(f"`{name}`" in row for name in PLACEMENTS) for row in cells("placement"))


# -- the key hash of the page is the one of the core


def keyhash() -> dict[str, object]:
    namespace: dict[str, object] = {}
    exec(BLOCKS["keyhash.py"], namespace)
    return namespace


HASH = keyhash()


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=40), st.floats(), st.integers(1, 1000))
def test_the_hash_of_the_page_is_that_of_the_core(number: int, data: bytes, real: float, groups: int) -> None:
    hash_int, hash_bytes, combine, key_group = (
        HASH[name] for name in ("hash_int", "hash_bytes", "combine", "key_group")
    )
    assert hash_int(number) == lib.as_hash_int64(number)  # type: ignore[operator]
    assert hash_bytes(data) == lib.as_hash_bytes(ffi.from_buffer(data), len(data))  # type: ignore[operator]
    bits = 0x7FF8000000000000 if real != real else int(np.float64(real + 0.0).view(np.int64))
    assert hash_int(bits) == lib.as_hash_float64(real)  # type: ignore[operator]
    one, other = lib.as_hash_int64(number), lib.as_hash_float64(real)
    assert combine(one, other) == lib.as_hash_combine(one, other)  # type: ignore[operator]
    assert key_group(one, groups) == lib.as_key_group(one, groups)  # type: ignore[operator]


def test_a_null_hashes_to_the_constant_of_the_page() -> None:
    assert HASH["R19"] == lib.as_hash_null()
