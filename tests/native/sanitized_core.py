"""The extension modules of the core under AddressSanitizer and UBSan, and Python that runs on them instead of the usual ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from actorstream.native.build import CFLAGS, builder
from tests.native.built import ADDRESS, KEPT, NATIVE, ROOT, sanitizer, tool

FLAGS = [*ADDRESS.flags, "-O1", "-fno-omit-frame-pointer"]
LOADER = """
import ctypes, importlib.util, json, os, runpy, sys
for name, path in json.loads(sys.argv[1]).items():
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
sys.argv[:2] = []
ctypes.CDLL(None).__asan_init  # AttributeError: the sanitizer is not there
print(f"core: {os.path.basename(sys.modules['actorstream.native._core'].__file__)}, under AddressSanitizer and UBSan", flush=True)
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def modules() -> dict[str, Path]:
    """Builds them: name -> file."""
    folder = KEPT / "sanitized"
    folder.mkdir(parents=True, exist_ok=True)
    objects = folder / "_objects.so"
    parts = sorted((NATIVE / "objects").glob("*.c"))
    include = f"-I{sysconfig.get_paths()['include']}"
    subprocess.run(
        [tool("gcc"), *CFLAGS, *FLAGS, include, "-fPIC", "-shared", *parts, "-o", objects], check=True
    )
    os.environ["ACTORSTREAM_CFLAGS"] = " ".join(FLAGS)
    core = builder(folder).compile(tmpdir=str(folder))
    return {"actorstream.native._objects": objects, "actorstream.native._core": Path(core)}


def run_module(name: str, *arguments: str) -> int:
    """`python -m NAME ARGUMENTS` on these modules; its exit status."""
    # a library loaded late finds its sanitizer only where the process has it from the start; leaks are the interpreter's
    environment = {
        "LD_PRELOAD": " ".join([sanitizer("libasan.so"), sanitizer("libubsan.so")]),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
    }
    known = json.dumps({module: str(path) for module, path in modules().items()})
    command = [sys.executable, "-c", LOADER, known, name, *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode
