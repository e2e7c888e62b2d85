"""The module that works on Python objects under AddressSanitizer and UBSan: its own tests, run on it as it is built here."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

from actorstream.native.build import CFLAGS
from tests.native.built import ADDRESS, NATIVE, run_tests_on, sanitizer, tool

TESTED = [
    "native/test_cursor.py",
    "native/test_emitter.py",
    "native/test_take.py",
    "native/test_frames.py",
    "native/test_messages.py",
    "native/test_rooms.py",
    "events/test_feed.py",
    "events/test_event_codec.py",
]


def test_what_its_tests_do_is_clean(tmp_path: Path) -> None:
    built = tmp_path / "_objects.so"
    include = f"-I{sysconfig.get_paths()['include']}"
    parts = sorted((NATIVE / "objects").glob("*.c"))
    flags = [*CFLAGS, "-Werror", *ADDRESS.flags, include, "-fPIC", "-shared"]
    subprocess.run([tool("gcc"), *flags, *parts, "-o", built], check=True)
    # a library loaded late finds its sanitizer only where the process has it from the start; leaks are the interpreter's
    preload = " ".join([sanitizer("libasan.so"), sanitizer("libubsan.so")])
    environment = {"LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    run_tests_on({"_objects": built}, [f"unit/{name}" for name in TESTED], environment)
