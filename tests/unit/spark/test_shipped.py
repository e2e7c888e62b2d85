"""A function for tasks, in a Python that has pyspark and not this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark
import pyspark.cloudpickle as cloudpickle
import pytest

import actorstream
from actorstream.spark.frames import NOTHING, digest_of
from actorstream.spark.shipped import shipped

LOAD = """
import pickle, sys
from pathlib import Path
from pyspark import SparkFiles
SparkFiles._root_directory, SparkFiles._is_running_on_worker = sys.argv[1], True
function = pickle.loads(Path(sys.argv[1], "function").read_bytes())
assert "actorstream" not in sys.modules
print(function(bytes(16)).hex())
"""


@pytest.mark.parametrize("has_environment", [True, False])
def test_a_task_finds_the_package_in_the_environment_that_was_sent(
    tmp_path: Path, has_environment: bool
) -> None:
    installed = Path(pyspark.__file__).parents[1]
    for name in ("pyspark", "py4j"):
        (tmp_path / "alone" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "alone" / name).symlink_to(installed / name)
    if has_environment:
        (tmp_path / "environment").mkdir()
        for found in (*installed.iterdir(), Path(actorstream.__file__).parent):
            (tmp_path / "environment" / found.name).symlink_to(found)
    (tmp_path / "function").write_bytes(cloudpickle.dumps(shipped(digest_of, b"rows")))
    done = subprocess.run(
        [sys.executable, "-S", "-c", LOAD, str(tmp_path)],
        **{"env": {"PYTHONPATH": str(tmp_path / "alone")}, "cwd": tmp_path, "check": False},
        **{"capture_output": True, "text": True},
    )
    if has_environment:
        assert done.stdout == f"{digest_of(NOTHING, b'rows').hex()}\n", done.stderr
    else:
        assert "No module named 'actorstream'" in done.stderr


def test_what_travels_calls_the_function() -> None:
    again = cloudpickle.loads(cloudpickle.dumps(shipped(digest_of, b"rows")))
    assert again(NOTHING) == digest_of(NOTHING, b"rows")
