"""Snappy: which native library Spark's Java must load to read and write Parquet. Starts no Spark.

snappy-java chooses musl's library wherever musl's loader is installed, also on a system of glibc, where it cannot be loaded."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

LOADER = Path("/lib/ld-musl-x86_64.so.1")
_LIBRARY = "libsnappyjava.so"
_MEMBER = f"org/xerial/snappy/native/Linux/x86_64/{_LIBRARY}"


def snappy_options(folder: Path) -> str:
    """Options of Java that name the library of glibc, which is written to `folder`; empty where Java finds the right one."""
    if not LOADER.exists() or platform.libc_ver()[0] != "glibc":
        return ""
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        return ""
    for jar in Path(package.origin).parent.glob("jars/snappy-java-*.jar"):
        with ZipFile(jar) as members:
            (folder / _LIBRARY).write_bytes(members.read(_MEMBER))
        return f"-Dorg.xerial.snappy.lib.path={folder} -Dorg.xerial.snappy.lib.name={_LIBRARY}"
    return ""
