"""Builds the benchmarks' own C (csrc/) at run time with the installed compiler. Nothing measured lives
here."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from actorstream.native.cpus import processor

SOURCES = Path(__file__).parent / "csrc"
CORE = Path(__file__).parents[1] / "actorstream" / "native"
MACHINE = ("-march=native", *(["-mprefer-vector-width=512"] if os.uname().machine == "x86_64" else []))
"""All that this processor has; gcc's own choice for Zen 4 are vectors of 256 bits."""


def cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "actorstream" / "benchmarks"


@cache
def compiled(name: str, core: tuple[str, ...] = ()) -> Any:
    """The cffi module of csrc/NAME.c, built on first use. Its declarations are those between the lines
    ``/* cdef */`` and ``/* end */`` of the file. `core`: the engine's own structures that it drives, files of
    native/src, which are built with it as the core is. A compiler error raises cffi's VerificationError."""
    source = (SOURCES / f"{name}.c").read_text()
    drives = [CORE / "src" / f"{part}.c" for part in core]
    headers = [*sorted(SOURCES.glob("*.h")), *sorted(CORE.glob("*/*.h"))] if core else []
    read = [source, *(path.read_text() for path in (*drives, *headers))]
    identity = hashlib.sha256(f"{read}{MACHINE}{sys.version}{processor()}".encode()).hexdigest()[:16]
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"_{name}_{identity}{sysconfig.get_config_var('EXT_SUFFIX')}"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            build(f"_{name}_{identity}", source, target, drives)
    return load(f"_{name}_{identity}", target)


def build(module: str, source: str, target: Path, drives: list[Path]) -> None:
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(source.split("/* cdef */")[1].split("/* end */")[0])
    own = ["-fno-strict-aliasing"] if drives else MACHINE  # the core is built for any processor
    ffi.set_source(
        module,
        source,
        sources=[str(path) for path in drives],
        include_dirs=[str(SOURCES), str(CORE / "include"), str(CORE / "src")] if drives else [],
        extra_compile_args=["-O3", *own, "-ffp-contract=off", "-std=gnu11"],
    )
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(ffi.compile(tmpdir=folder))
        shutil.move(made, target)


def load(module: str, target: Path) -> Any:
    spec = importlib.util.spec_from_file_location(module, target)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
