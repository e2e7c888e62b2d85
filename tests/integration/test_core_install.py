"""What runs where nothing but the declared dependencies is installed: no extra, and nothing of the tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.integration.processes import ROOT

ONLY = """
import sys
import tomllib

sys.path[:] = [each for each in sys.path if not each.endswith("-packages")] + [%r]
"""


def needed(name: str, found: set[str]) -> set[str]:
    """The distributions that one needs without an extra, and itself."""
    own = re.sub(r"[-_.]+", "-", name).lower()
    if own not in found:
        found.add(own)
        for each in distribution(name).requires or ():
            if "extra ==" not in each and "sys_platform ==" not in each.replace(
                'sys_platform == "linux"', ""
            ):
                try:
                    needed(re.split(r"[^\w.-]", each, maxsplit=1)[0], found)
                except ModuleNotFoundError:  # one of another Python
                    continue
    return found


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which there are only the distributions that actorstream needs."""
    packages = tmp_path_factory.mktemp("packages")
    kept = needed("actorstream", set())
    assert kept >= {"actorstream", "cffi", "numpy", "pyarrow"} and not kept & {
        "mpi4py",
        "pyzmq",
        "pyspark",
        "pytest",
    }
    for name in kept:
        for file in distribution(name).files or ():
            place = packages / file.parts[0]
            if file.parts[0] != ".." and not place.exists():
                place.symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / file.parts[0])
    folder = tmp_path_factory.mktemp("core")
    (folder / "sitecustomize.py").write_text(ONLY % str(packages))
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def actorstream(core: dict[str, str], *arguments: str, folder: Path = ROOT) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "actorstream", *arguments],
        cwd=folder,
        env=core,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("transport", ["local", "shm"])
def test_an_app_of_the_readme_runs(core: dict[str, str], transport: str, tmp_path: Path) -> None:
    workers, counts = "1" if transport == "local" else "2", tmp_path / "counts.csv"
    options = ("--transport", transport, "--workers", workers, "--set", f"actors.counts.path={counts}")
    assert "word-count: done" in actorstream(core, "launch", "apps/word_count/topology.toml", *options)
    assert "the,4598" in counts.read_text().splitlines()


def test_a_new_project_is_made_checked_planned_and_run(core: dict[str, str], tmp_path: Path) -> None:
    actorstream(core, "new", "first", folder=tmp_path)
    for command in ("check", "plan", "launch"):
        actorstream(core, command, "topology.toml", folder=tmp_path / "first")
    assert "mpi4py" in actorstream(core, "doctor", folder=tmp_path)


def test_a_transport_whose_package_is_not_there_is_an_error_that_names_the_extra(
    core: dict[str, str],
) -> None:
    for transport in ("mpi", "zmq"):
        command = [sys.executable, "-m", "actorstream", "launch", "apps/word_count/topology.toml"]
        ended = subprocess.run(
            [*command, "--transport", transport],
            cwd=ROOT,
            env=core,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert ended.returncode == 2 and "Traceback" not in ended.stderr
        assert f"actorstream[{transport}]" in ended.stderr


ASKED = """
import os

with open(os.environ["ASKED"], "a") as file:
    file.write("pandas\\n")
raise ImportError("no run needs it")
"""


@pytest.mark.parametrize("app", ["value_barrier", "word_count", "ysb"])
def test_no_run_asks_for_pandas_which_would_double_the_time_in_which_a_worker_starts(
    app: str, tmp_path: Path
) -> None:
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.py").write_text(ASKED)
    asked = tmp_path / "asked"
    outputs = tomllib.loads((ROOT / "apps" / app / "topology.toml").read_text())["actors"]
    sinks = [name for name, keys in outputs.items() if str(keys.get("path", "")).startswith("out/")]
    assert sinks
    done = subprocess.run(
        [
            *(sys.executable, "-m", "actorstream", "launch", f"apps/{app}/topology.toml", "--quiet"),
            *("--workers", "2", *(f"--set=actors.{sink}.path={tmp_path}/{sink}.csv" for sink in sinks)),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "ASKED": str(asked)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not asked.exists()
