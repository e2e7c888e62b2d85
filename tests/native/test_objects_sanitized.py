"""The module that works on Python objects under AddressSanitizer and UBSan: its own tests, run on it as it is built here."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.native.sanitized import FLAGS, NATIVE, compiler

ROOT = Path(__file__).resolve().parents[2]
TESTED = [
    "native/test_cursor.py",
    "native/test_emitter.py",
    "native/test_take.py",
    "events/test_feed.py",
    "events/test_rows.py",
]
INSTEAD = """
import importlib.util, sys
name = "actorstream.native._objects"
spec = importlib.util.spec_from_file_location(name, sys.argv[1])
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""


def test_what_its_tests_do_is_clean(tmp_path: Path) -> None:
    built = tmp_path / "_objects.so"
    include = f"-I{sysconfig.get_paths()['include']}"
    parts = sorted((NATIVE / "objects").glob("*.c"))
    subprocess.run([compiler(), *FLAGS, include, "-fPIC", "-shared", *parts, "-o", built], check=True)
    # a library loaded late finds its sanitizer only where the process has it from the start; leaks are the interpreter's
    preload = [_library("libasan.so"), _library("libubsan.so")]
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(preload),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
    }
    tests = [str(ROOT / "tests" / "unit" / name) for name in TESTED]
    done = subprocess.run(
        [sys.executable, "-c", INSTEAD, str(built), "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _library(name: str) -> str:
    found = subprocess.run(
        [compiler(), f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    path = found.stdout.strip()
    if path == name:
        pytest.skip(f"the compiler has no {name}")
    return path
