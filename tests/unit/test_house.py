"""The house rules that a machine can check."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.modules_of_the_package import modules_of_the_package

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 420
MAX_METHODS = 25
SOURCES = [
    path
    for folder in ("actorstream", "apps", "benchmarks", "tests")
    for suffix in ("*.py", "*.c", "*.h")
    for path in (ROOT / folder).rglob(suffix)
    if path.name != "_core.c" and ".peers" not in path.parts
]


def test_no_file_is_longer_than_one_can_read_in_a_sitting() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES
        if (lines := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert not long


def test_no_room_is_called_utils() -> None:
    forbidden = {"utils", "helpers", "common", "misc", "util", "helper"}
    assert not [path for path in SOURCES if forbidden & {part.removesuffix(".py") for part in path.parts}]


def test_every_module_says_what_it_is_for() -> None:
    assert not [path for path, module in modules_of_the_package().items() if module.is_silent]


def test_nothing_is_pickled() -> None:
    users = [
        path
        for path, module in modules_of_the_package().items()
        for node in module.imports
        if {"pickle", "cloudpickle", "marshal"}
        & {
            name.split(".")[0]
            for name in [getattr(node, "module", None) or "", *(each.name for each in node.names)]
        }
    ]
    assert not users


@pytest.mark.parametrize("module", ["pyarrow", "rich", "cyclopts", "uvloop"])
def test_importing_actorstream_does_not_import(module: str) -> None:
    code = f"import sys, actorstream; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_actorstream_makes_no_event_loop() -> None:
    code = (
        "import asyncio, sys\n"
        "def never(*_): raise SystemExit('an event loop was made at import')\n"
        "asyncio.new_event_loop = never\n"
        "import actorstream\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


STATE_OF_A_PROCESS = (
    r"\b(strtok|strerror|localtime|gmtime|ctime|asctime|rand|srand|readdir|getpwnam|setlocale)\("
)


def test_c_calls_no_function_that_keeps_state_for_the_whole_process() -> None:
    """Functions of the core are called from several threads at once."""
    sources = [path for folder in ("actorstream", "apps") for path in sorted((ROOT / folder).rglob("*.[ch]"))]
    assert len(sources) > 100
    assert [path.name for path in sources if re.search(STATE_OF_A_PROCESS, path.read_text())] == []


SHARED_NAMES = {"Collected", "Message", "Prepared", "Terminated"}
"""Names that two classes still have. The list only gets shorter."""


def test_one_name_means_one_class() -> None:
    found: dict[str, list[Path]] = {}
    for path, module in modules_of_the_package().items():
        for name in module.classes:
            if not name.startswith("_"):
                found.setdefault(name, []).append(path)
    shared = {name: places for name, places in found.items() if len(places) > 1}
    assert not {name: places for name, places in shared.items() if name not in SHARED_NAMES}


MANY_METHODS = {"Actor": 32}
"""Classes that have more methods, and how many. `Actor` is what users subclass: its hooks and what it may do. The list only
gets shorter, and its numbers smaller."""


def test_no_class_is_several_things() -> None:
    found = [each for module in modules_of_the_package().values() for each in module.methods]
    assert len(found) > 800
    assert not [(name, methods) for name, methods in found if methods > MANY_METHODS.get(name, MAX_METHODS)]
