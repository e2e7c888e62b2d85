"""Builds the C core with cffi in API mode, and beside it what works on Python objects; run by setuptools at `pip install`,
never at run time.

The declarations that cffi needs are read from include/*.h, so a function is declared in one place only.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cffi
from setuptools import Extension
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
CFLAGS = (
    *("-std=gnu11", "-O3", "-Wall", "-Wextra", "-fno-strict-aliasing", "-fvisibility=hidden"),
    "-ffp-contract=off",  # a * b + c is rounded twice on every processor, whether or not it has one instruction for it
)


def headers() -> list[str]:
    """Every public header, each after those that it includes."""
    ordered: list[str] = []

    def visit(name: str) -> None:
        text = (HERE / "include" / name).read_text()
        for needed in re.findall(r'^#include "(\w+\.h)"', text, re.MULTILINE):
            visit(needed)
        if name not in ordered:
            ordered.append(name)

    for path in sorted((HERE / "include").glob("*.h")):
        visit(path.name)
    return ordered


def declarations(header: str) -> str:
    """The part of a header between its `cffi: begin` and `cffi: end` comments, without preprocessor lines."""
    text = (HERE / "include" / header).read_text()
    parts = re.findall(r"/\* cffi: begin \*/(.*?)/\* cffi: end \*/", text, re.DOTALL)
    return "\n".join(re.sub(r"^\s*#.*$", "", part, flags=re.MULTILINE) for part in parts)


def builder(root: Path) -> cffi.FFI:
    """An FFI that knows every public declaration; source paths are relative to `root`."""
    ffi = cffi.FFI()
    for header in headers():
        ffi.cdef(declarations(header))
    extra = os.environ.get("ACTORSTREAM_CFLAGS", "").split()
    ffi.set_source(
        "actorstream.native._core",
        "\n".join(f'#include "{header}"' for header in headers()),
        sources=[os.path.relpath(path, root) for path in sorted((HERE / "src").glob("*.c"))],
        include_dirs=[os.path.relpath(HERE / "include", root)],
        depends=[os.path.relpath(path, root) for path in sorted(HERE.glob("*/*.h"))],
        # cffi's own generated wrappers have unused parameters, which -Wextra reports
        extra_compile_args=[*CFLAGS, "-Wno-unused-parameter", *extra],
        extra_link_args=["-pthread", *extra],
    )
    return ffi


def objects(root: Path) -> Extension:
    """The module `_objects`, of objects/*.c; paths are relative to `root`."""
    extra = os.environ.get("ACTORSTREAM_CFLAGS", "").split()
    return Extension(
        "actorstream.native._objects",
        [os.path.relpath(path, root) for path in sorted((HERE / "objects").glob("*.c"))],
        depends=[os.path.relpath(path, root) for path in sorted((HERE / "objects").glob("*.h"))],
        extra_compile_args=[*CFLAGS, *extra],
        extra_link_args=extra,
    )


class BuildExt(build_ext):
    """Replaces the empty extensions of pyproject.toml by the one that cffi generates and the one beside it, and compiles
    as many files at once as there are CPUs."""

    def finalize_options(self) -> None:
        root = Path.cwd()
        extension = builder(root).distutils_extension(tmpdir=str(root / "build" / "cffi"), verbose=False)
        extension.sources = [os.path.relpath(source, root) for source in extension.sources]
        self.distribution.ext_modules = [extension, objects(root)]
        super().finalize_options()

    def build_extensions(self) -> None:
        compile_in_turn = self.compiler.compile

        def compile_at_once(sources: list[str], **settings: Any) -> list[str]:
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                made = pool.map(lambda source: compile_in_turn([source], **settings), sources)
                return [each for objects in made for each in objects]

        self.compiler.compile = compile_at_once
        super().build_extensions()


if __name__ == "__main__":
    sys.exit("this module is run by `pip install`, not by hand")
