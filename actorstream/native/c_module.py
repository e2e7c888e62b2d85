"""C modules: a C file of the user's own, compiled through cffi when it is first needed and kept for the next time. Knows
nothing of columns or actors; what is in the file is the user's business."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from actorstream.errors import ActorstreamError
from actorstream.native.cpus import processor

OPTIONS = ("-O3", "-march=native", "-ffp-contract=off", "-std=gnu11")
"""Of the compiler, unless others are given. Without fused multiply-add, floats come out the same on every processor."""
DECLARED = re.compile(r"/\* cdef \*/(.*?)/\* end \*/", re.DOTALL)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_loaded: dict[str, Any] = {}


class CompileError(ActorstreamError):
    """A C file cannot be made into a module; says which, why, and what to do."""


def compile_c(source: str | Path, *, options: Sequence[str] = OPTIONS) -> Any:
    """The C file `source` as a module: `.lib` has its functions, `.ffi` is cffi's.

    What Python may call stands in the file between the comments ``/* cdef */`` and ``/* end */``, as cffi reads
    declarations (several such parts count as one). A call takes addresses (`ffi.from_buffer("int64_t[]", array)`) and
    releases the GIL.

    The module is compiled once for each text of the file (and of the files beside it that it includes in quotes),
    interpreter, processor and `options`, into ``$XDG_CACHE_HOME/actorstream/FOLDER/`` (``~/.cache/...`` unless set), FOLDER
    being the name of the file's folder; never beside the file. Workers that start together wait for the one that compiles.

    Raises CompileError: there is no such file or no C compiler, nothing is declared, or the compiler refuses the file.
    """
    source = Path(source).resolve()
    text = _read(source)
    identity = _identity(source, text, options)
    name = f"_{re.sub(r'[^0-9A-Za-z_]', '_', source.stem)}_{identity}"
    module = _loaded.get(name)
    if module is None:
        target = _folder(source) / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        with (target.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                _compile(source, text, name, target, options)
        module = _loaded[name] = _load(name, target)
    return module


def _folder(source: Path) -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "actorstream" / (source.parent.name or "root")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CompileError(
            f"{source}: no folder for what is compiled, {folder} ({error.strerror}); set XDG_CACHE_HOME to one that can be "
            "written"
        ) from error
    return folder


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise CompileError(f"{path}: cannot be read ({error.strerror})") from error


def _identity(source: Path, text: str, options: Sequence[str]) -> str:
    """What a module depends on, as text of 16 digits."""
    read, found = {source: text}, [source]
    for path in found:  # grows by what is included
        for name in _INCLUDE.findall(read[path]):
            included = (path.parent / name).resolve()
            if included not in read and included.is_file():
                read[included] = _read(included)
                found.append(included)
    parts = [*(read[path] for path in found), *options, sys.version, processor()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _compile(source: Path, text: str, name: str, target: Path, options: Sequence[str]) -> None:
    from cffi import FFI, CDefError, VerificationError

    declared = "\n".join(DECLARED.findall(text))
    if not declared.strip():
        raise CompileError(f"{source}: declares nothing; put declarations between /* cdef */ and /* end */")
    ffi = FFI()
    try:
        ffi.cdef(declared)
    except CDefError as error:
        raise CompileError(
            f"{source}: what stands between /* cdef */ and /* end */ cannot be read: {error}"
        ) from error
    ffi.set_source(name, text, extra_compile_args=list(options), include_dirs=[str(source.parent)])
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        try:
            made = ffi.compile(tmpdir=folder)
        except VerificationError as error:
            raise CompileError(
                f"{source}: cannot be compiled ({error}); its errors are above. Without any, install a C compiler such as "
                "gcc, and Python's headers (python3-dev)"
            ) from error
        shutil.move(made, target)


def _load(name: str, target: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, target)
    if spec is None or spec.loader is None:
        raise CompileError(f"{target} is not a Python module; remove it and start again")
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise CompileError(f"{target} cannot be loaded ({error}); remove it and start again") from error
    return module
