"""Flink: the plain Java DataStream jobs of peers/flink, run on the jars of the apache-flink package.

`flink_ysb.py WORKLOAD PARALLELISM ROWS` prints {"value": events a second}. The classes are compiled on first use
into the peer's environment; javac and java must be on PATH. Nothing of PyFlink runs.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

SOURCES = sorted((Path(__file__).parent / "flink").glob("*.java"))
OPENED = ("java.lang", "java.time", "java.util")
"""Packages that Flink's serializers look into."""


def jars() -> list[str]:
    spec = find_spec("pyflink")
    if spec is None or spec.origin is None:
        raise SystemExit("pyflink is not installed in this environment")
    return [str(path) for path in sorted((Path(spec.origin).parent / "lib").glob("*.jar"))]


def classes() -> Path:
    """The folder of compiled classes, made unless it is there."""
    identity = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:16]
    folder = Path(sys.prefix) / f"classes-{identity}"
    if not folder.exists():
        made = tempfile.mkdtemp(dir=sys.prefix)
        compiler = ["javac", "-nowarn", "-cp", ":".join(jars()), "-d", made]
        done = subprocess.run([*compiler, *map(str, SOURCES)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        Path(made).rename(folder)
    return folder


def main(workload: str, parallelism: str, rows: str) -> None:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    command = [
        "java",
        *opened,
        "-cp",
        ":".join([*jars(), str(classes())]),
        "YsbJob",
        workload,
        parallelism,
        rows,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"the job failed with exit code {done.returncode}")
    print(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main(*sys.argv[1:4])
